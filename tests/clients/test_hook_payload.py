"""Hook payloads are read field by field, also through a compaction; transcripts tell how full the context is."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from codex_rollout import Rollout
from conftest import ROOT, Run, put

import clients
from clients import extension
from core.config import Config
from core.store import sources
from session.transcript import context_usage

PI, CLAUDE = clients.by_name("pi"), clients.by_name("claude")


def read(name: str = "prompt", **fields: object) -> Any:
    return PI.read(fields, name)


def hooked(name: str, **fields: object) -> Any:
    return CLAUDE.read({**fields, "hook_event_name": name}, "other")


def test_an_entry_includes_its_tools_and_their_outcomes() -> None:
    tools = [
        {"name": "bash", "command": "ls", "files": ["a", 1], "outcome": "no such file", "failed": True},
        "nothing",
        {"name": "read", "outcome": "", "failed": True, "given": {"path": "p", "password": "hunter2"}},
        {"name": "edit", "outcome": "done", "failed": 1},
    ]
    event = read(entries=[{"role": "system", "text": "x"},
                          {"role": "assistant", "text": "I look", "id": "e1", "at": 5, "tools": tools}])  # fmt: skip
    answer, *others = event["items"]
    assert (answer.kind, answer.stable_id, answer.text, answer.at) == ("answer", "pi:e1", "I look", 5)
    fields = ("kind", "call", "tool", "command", "target", "text", "failed")
    rows = [tuple(getattr(entry, field) for field in fields) for entry in others]
    assert rows == [
        ("call", "e1/0", "bash", "ls", "a", "", False), ("call", "e1/1", "read", "", "", "", False),
        ("call", "e1/2", "edit", "", "", "", False), ("result", "e1/0", "", "", "", "no such file", True),
        ("result", "e1/2", "", "", "", "done", False),
    ]  # fmt: skip
    assert others[1].given == "p\n[redacted:password]"


def test_the_answer_of_our_extension_keeps_notices_apart() -> None:
    text: Any = {"customType": "refresh", "content": "a memory"}
    notice: Any = {"customType": extension.NOTICE, "content": "compacting"}
    assert json.loads(PI.answer(read(), [])) == json.loads(PI.empty_answer) == {"messages": []}
    both = json.loads(PI.answer(read(), [notice, text, {**notice, "content": "later"}]))
    assert both == {"messages": [{**text, "display": False}], "notice": "compacting"}


def test_an_event_of_a_client() -> None:
    assert hooked("PreCompact", trigger="manual")["source"] == "manual"
    assert read("before_compaction", source="overflow")["source"] == "overflow"
    assert hooked("SessionStart", source="compact")["kind"] == "after_compaction"
    assert hooked("SessionStart", source="fork")["kind"] == "start"
    assert hooked("Stop", background_tasks=[{"id": "b1"}])["source"] == "background"
    assert hooked("UserPromptSubmit", source="user", prompt=" hi ")["messages"] == ["hi"]
    assert hooked("UserPromptSubmit", source="schedule", prompt="check the nightly build")["messages"] == []
    assert hooked("UserPromptSubmit", prompt="<system-reminder>x")["messages"] == []
    reminded = hooked("UserPromptSubmit", prompt="<system-reminder>x</system-reminder>\nmend the pump")
    assert reminded["messages"] == ["mend the pump"]
    assert hooked("Unknown")["kind"] == "ignored"
    event = hooked("PostToolUse", tool_name="Write", tool_input={"file_path": "/a"})
    assert (event["kind"], event["files"]) == ("tool", ["/a"])
    assert hooked("PostToolUse", tool_name="Read", tool_input={"file_path": "/a"})["files"] == []


@pytest.mark.parametrize(("message", "summary"), [
    ("a <summary> b </summary> c", "b"), ("<summary>b", ""), ("<summary> </summary>", ""), (7, ""),
    (f"<summary>{'x' * 300_001}</summary>", "x" * 300_000),
])  # fmt: skip
def test_a_summary_is_extracted_from_the_summarizers_answer(message: Any, summary: str) -> None:
    event = hooked("SubagentStop", last_assistant_message=message)
    assert (event["kind"], event["summary"]) == ("summary" if summary else "ignored", summary)
    assert hooked("SubagentStop", last_assistant_message=message, agent_type="Explore")["kind"] == "ignored"


def test_nothing_is_printed_that_would_not_reach_the_model() -> None:
    texts: Any = [{"customType": "a", "content": "one"}, {"customType": "b", "content": "two"}]
    printed = json.loads(CLAUDE.answer(hooked("SessionStart"), texts))
    assert printed == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "one\n\ntwo"}}
    assert CLAUDE.answer(hooked("Stop"), texts) == CLAUDE.answer(hooked("SessionStart"), []) == ""


STAMP = "2027-03-04T05:06:07.089Z"
PAYLOADS = ROOT / "tests" / "agents" / "payloads"
SUMMARY = "s" * 400  # 100 tokens


class Claude(Transcript):
    """A transcript whose answers report the usage."""

    agent = "claude"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "t.jsonl")

    def answer(self, tokens: int) -> None:
        self._say({"model": "claude-sonnet-4-5", "usage": {"input_tokens": 1, "cache_read_input_tokens": tokens - 1}})

    def aborted(self) -> None:
        self._say({"model": "<synthetic>", "usage": {"input_tokens": 0, "output_tokens": 0}}, isApiErrorMessage=True)

    def _say(self, about: dict[str, Any], **fields: Any) -> None:
        entry = self.entry("assistant", [{"type": "text", "text": ""}], **fields)
        self.write({**entry, "message": {**entry["message"], **about}})


class Codex(Rollout):
    """A rollout whose answers report the usage."""

    agent = "codex"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "t")

    def user(self, text: str) -> None:
        self.say("user", text)

    def answer(self, tokens: int, window: int = 200_000) -> None:
        info = {"last_token_usage": {"total_tokens": tokens}, "model_context_window": window}
        self.add("event_msg", type="token_count", info=info)

    def aborted(self) -> None:
        self.add("event_msg", type="token_count", info=None)

    def outcome(self, call: str, text: str) -> None:
        self.item("function_call_output", call_id=call, output=text)

    def compact(self, summary: str) -> None:
        history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": summary}]}]
        self.add("compacted", message="unused", replacement_history=history)


Client = Claude | Codex


@pytest.fixture(params=[Claude, Codex], ids=["claude", "codex"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Client:
    client_: Client = request.param(tmp_path)
    return client_


@pytest.fixture(autouse=True)
def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", raising=False)


def usage_of(path: Path, agent: str) -> Any:
    return context_usage(str(path), agent, config=Config({}))


def usage(tokens: int, source: str = "usage", window: int = 200_000) -> dict[str, Any]:
    return {"tokens": tokens, "window": window, "percent": round(tokens * 100 / window, 2), "source": source}


def test_the_newest_usage_counts(client: Client) -> None:
    client.user("weave")
    client.answer(5000)
    client.outcome("c1", "done")
    client.answer(90_000)
    client.user("go")
    assert usage_of(client.path, client.agent) == usage(90_000)


def test_usage_from_before_a_compaction_never_counts(client: Client) -> None:
    client.answer(184_297)
    client.compact(SUMMARY)
    assert usage_of(client.path, client.agent) == usage(100, "estimate")


def test_an_answer_that_was_not_finished_does_not_count(client: Client) -> None:
    client.answer(9000)
    client.aborted()
    assert usage_of(client.path, client.agent) == usage(9000)
    client.compact(SUMMARY)
    client.aborted()
    measured = usage_of(client.path, client.agent)
    assert measured["source"] == "estimate" and measured["tokens"] < 200


def test_claude_records_the_size_after_a_compaction(tmp_path: Path) -> None:
    client = Claude(tmp_path)
    client.answer(184_297)
    client.compact(SUMMARY)
    client.path.write_text(client.path.read_text().replace('"auto"', '"auto", "preTokens": 180000, "postTokens": 5504'))
    client.user("go")
    assert usage_of(client.path, "claude") == usage(5504, "boundary")


def test_codex_records_its_window_before_or_after_its_usage(tmp_path: Path) -> None:
    client = Codex(tmp_path)
    client.add("event_msg", type="task_started", model_context_window=19_000)
    client.user("p" * 400)
    assert usage_of(client.path, "codex") == usage(100, "estimate", 19_000)
    client.answer(15_000, window=18_000)
    client.compact(SUMMARY)
    assert usage_of(client.path, "codex") == usage(100, "estimate", 18_000)


def gemini(kind: str, text: str, identifier: str, tokens: int = 0) -> dict[str, Any]:
    line = {"id": identifier, "timestamp": STAMP, "type": kind, "content": [{"text": text}]}
    return {**line, "tokens": {"input": tokens}, "model": "gemini-2.5-flash"} if tokens else line


def compressed(identifier: str, *entries: dict[str, Any]) -> dict[str, Any]:
    summary = gemini("user", "<state_snapshot>" + "s" * 384, identifier)
    return {"$set": {"messages": [summary, *entries], "lastUpdated": STAMP}}


def test_gemini_compressed_history_is_a_boundary(tmp_path: Path) -> None:
    window = 1_048_576
    prompt, answered = gemini("user", "bake", "g-1"), gemini("gemini", "yes", "g-2", 600_000)
    surviving = gemini("user", "k" * 100, "g-3")
    for lines, expected in (
        ([prompt, answered, compressed("c-1", surviving)], usage(125, "estimate", window)),
        ([gemini("gemini", "ok", "g-4", 9000)], usage(9000, "usage", window)),
        # a session that is taken up again writes its history once more, with the same summary
        ([compressed("c-1", surviving)], usage(9000, "usage", window)),
        ([compressed("c-2")], usage(100, "estimate", window)),
    ):
        with (tmp_path / "t").open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        assert usage_of(tmp_path / "t", "gemini") == expected


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "pi", "opencode", "x"])
def test_an_unreadable_transcript_has_no_usage(tmp_path: Path, agent: str) -> None:
    os.mkfifo(tmp_path / "pipe")  # would be waited for
    for path in (tmp_path, tmp_path / "missing", tmp_path / "pipe", "", "a\0b"):
        measured = usage_of(path, agent)
        assert measured.pop("window")
        assert measured == {"tokens": None, "percent": None, "source": "none"}


def test_a_long_transcript_costs_no_more_than_a_short_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Claude(tmp_path)
    client.user("z" * 1000)
    client.outcome("c1", "y" * 3000)
    client.answer(50_000)
    block = client.path.read_bytes()
    client.answer(60_000)
    client.outcome("c2", "y" * 3000)
    client.user("go")
    end = client.path.read_bytes()[len(block) :]
    read: list[int] = []

    class Counted(sources.Source):
        def read(self, most: int, offset: int) -> bytes:
            data = super().read(most, offset)
            read.append(len(data))
            return data

    monkeypatch.setattr(sources, "Source", Counted)
    costs = []
    for size in (200_000, 5_000_000):
        client.path.write_bytes(block * (size // len(block)) + end)
        read.clear()
        assert usage_of(client.path, "claude")["tokens"] == 60_000
        costs.append((len(read), sum(read)))
    assert costs[0] == costs[1]
    assert 0 < costs[0][1] < 200_000


@pytest.mark.skipif(not PAYLOADS.is_dir(), reason="the recorded transcripts are not in this checkout")
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_recorded_sessions_never_show_usage_from_before_their_compaction(tmp_path: Path, agent: str) -> None:
    lines = (PAYLOADS / agent / "session.jsonl").read_bytes().splitlines(keepends=True)
    marks = {"claude": b"compact_boundary", "codex": b'"compacted"', "gemini": b"<state_snapshot>"}
    edge = next(at for at, line in enumerate(lines) if marks[agent] in line)
    shown = []
    for count in range(1, len(lines) + 1):
        (tmp_path / "t").write_bytes(b"".join(lines[:count]))
        shown.append(usage_of(tmp_path / "t", agent)["tokens"])
    most = max(shown[:edge])
    assert most > 6000
    assert max(shown[edge:]) < most
    assert shown[edge] < most / 2


RECORDED = "00000000-0000-4000-8000-000000000001"
TRANSCRIPTS = {
    "qwen": f".qwen/projects/p/chats/{RECORDED}.jsonl",
    "copilot": f".copilot/session-state/{RECORDED}/events.jsonl",
}
END = {"qwen": '"chat_compression"', "copilot": '"session.compaction_complete"'}
"""What is in the line that ends the compaction."""
Replay = Callable[..., str]


@pytest.fixture
def replay(run: Run, tmp_path: Path) -> Replay:
    """Run a hook with a captured payload, with these lines in the transcript; gives the text for the model."""

    def call(agent: str, name: str, lines: list[str]) -> str:
        transcript = put(tmp_path / TRANSCRIPTS[agent], "".join(lines))
        payload = json.loads((PAYLOADS / agent / f"{name}.json").read_text())
        if "transcript_path" in payload:
            payload["transcript_path"] = str(transcript)
        answer = json.loads(run("hook", agent, stdin=json.dumps(payload), env={"HOME": str(tmp_path)}).out or "{}")
        answer = answer if agent == "copilot" else answer.get("hookSpecificOutput", {})
        return str(answer.get("additionalContext", ""))

    return call


def lines_until_the_end(agent: str) -> list[str]:
    lines = (PAYLOADS / agent / "session.jsonl").read_text().splitlines(keepends=True)
    return lines[: next(number for number, line in enumerate(lines, 1) if END[agent] in line)]


def note_count(text: str) -> int:
    return text.count("## Session Recovery")


def test_qwen_gets_the_note_again_in_the_next_process(replay: Replay) -> None:
    lines = lines_until_the_end("qwen")
    for name in ("SessionStart.startup", "UserPromptSubmit", "PostToolUse", "SessionStart.resume", "PreCompact"):
        assert note_count(replay("qwen", name, lines[:-1])) == 0
    note = replay("qwen", "SessionStart.compact", lines)
    assert note_count(note) == 1 and "worker.py" in note
    assert replay("qwen", "UserPromptSubmit.tool-result", lines) == replay("qwen", "Stop", lines) == ""
    assert replay("qwen", "SessionStart.resume", lines) == note


@pytest.mark.parametrize("by_hook", [True, False])
def test_subagents_of_qwen_are_archived(replay: Replay, run: Run, tmp_path: Path, by_hook: bool) -> None:
    path = tmp_path / ".qwen/projects/p/subagents" / RECORDED / "agent-explore-1a2b3c4d.jsonl"
    path.parent.mkdir(parents=True)
    said: list[tuple[str, dict[str, Any]]] = [
        ("user", {"text": "find the gauge"}),
        ("assistant", {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "ls src"}}}),
        ("tool_result", {"functionResponse": {"id": "c1", "response": {"output": "gauge.py"}}}),
        ("assistant", {"text": "It is in src/gauge.py."}),
    ]
    about = {"sessionId": RECORDED, "timestamp": "2026-11-28T13:50:10.000Z", "cwd": "/w", "isSidechain": True}
    for number, (kind, part) in enumerate(said):
        line = {"uuid": f"s{number}", "parentUuid": f"s{number - 1}" if number else None, "type": kind, **about}
        line |= {"agentId": "explore-1a2b3c4d", "message": {"role": "model", "parts": [part]}}
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
    if by_hook:
        replay("qwen", "Stop", lines_until_the_end("qwen"))
    added = run("memory", "archive", "--all", env={"HOME": str(tmp_path)}).result["episodes"]["added"]
    assert added == (0 if by_hook else 2)
    shown = run("session", "show", path.stem).result
    assert (shown["kind"], shown["parent"], shown["client"]) == ("subagent", RECORDED, "qwen")
    texts = [json.loads(line)["text"] for line in run("memory", "export", "--collection", "episodes").out.splitlines()]
    assert {"teammate: find the gauge", "assistant: It is in src/gauge.py."} <= set(texts)
    assert "ls src" in run("recall", "ls src", "--raw", "--everywhere").out
    for deleted in ("forget", "purge --yes") if by_hook else ():
        run("memory", *deleted.split(), "--session", RECORDED)
        assert not run("memory", "export", "--collection", "episodes").out
        assert run("memory", "archive", "--again", RECORDED, env={"HOME": str(tmp_path)}).result["broughtBack"]
        assert "It is in src/gauge.py." in run("memory", "export", "--collection", "episodes").out


@pytest.mark.parametrize(("names", "counts"), [
    (("PostToolUse", "Stop", "SessionStart.resume", "UserPromptSubmit"), [1, 0, 0, 0]),
    (("Stop", "SessionEnd", "SessionStart.resume", "UserPromptSubmit"), [0, 0, 1, 0]),
    (("UserPromptSubmit", "PostToolUse"), [1, 0]),
])  # fmt: skip
@pytest.mark.parametrize("is_cancelled", [False, True])
def test_copilot_gets_the_note_with_the_event_after_the_compaction(
    replay: Replay, names: tuple[str, ...], counts: list[int], is_cancelled: bool
) -> None:
    lines = lines_until_the_end("copilot")
    for name, number in (("SessionStart.new", 3), ("UserPromptSubmit", 5), ("PreCompact", 110), ("PostToolUse", -4)):
        assert note_count(replay("copilot", name, lines[:number])) == 0
    if is_cancelled:
        lines[-1] = lines[-1].replace('"success": true', '"success": false')
    assert [note_count(replay("copilot", name, lines)) for name in names] == [0 if is_cancelled else n for n in counts]
