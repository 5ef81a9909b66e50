"""`compaction prepare` and `serialize`, as pi 1.6 does; `make e2e AGENT=pi` compares with its own functions."""

from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Run
from pi_session import PiSession, call

from session.compaction import preparation, session_tree

PAYLOADS = ROOT / "tests" / "agents" / "payloads"
KEYS = {
    "firstKeptEntryId", "isSplitTurn", "tokensBefore", "previousSummary", "messagesToSummarize", "turnPrefixMessages",
    "fileOps", "settings",
}  # fmt: skip
LONG = "x" * 400  # 100 tokens


def turns(session: PiSession, count: int) -> None:
    """Turns of a prompt, a call, its result and an answer: 1 + 102 + 100 + 100 tokens or so."""
    for number in range(count):
        session.user("go")
        session.answer(LONG, call(f"c{number}", "bash", command="ls"))
        session.result(f"c{number}", LONG)
        session.answer(LONG)


def test_cut_at_a_turn(run: Run, tmp_path: Path) -> None:
    session = PiSession(tmp_path / "s.jsonl")
    turns(session, 3)
    result = run("compaction", "prepare", str(session.path), "--keep-recent", "306", "--reserve", "9").result
    assert result.keys() >= KEYS
    assert result["reason"] == "ready"
    assert (result["firstKeptEntryId"], result["isSplitTurn"]) == ("e009", False)
    assert result["messagesToSummarize"] == session.ids[:8]
    assert result["turnPrefixMessages"] == []
    assert (result["previousSummary"], result["problems"]) == (None, [])
    assert result["settings"] == {"reserveTokens": 9, "keepRecentTokens": 306, "window": 200_000}


def conversation(path: Path) -> PiSession:
    session = PiSession(path)
    session.user("What they said")
    content = [
        {"type": "thinking", "thinking": "Internal reasoning", "thinkingSignature": "x"},
        {"type": "text", "text": "Response text"},
        call("c1", "read", path="foo.ts"),
        call("c2", "edit", path="bar.ts", edits=[{"oldText": "a\n", "newText": "ü"}]),
    ]
    session.add("message", message={"role": "assistant", "content": content, "stopReason": "toolUse"})
    session.result("c1", "Output from tool")
    session.result("c2", "")
    return session


FLAT = """[User]: What they said

[Assistant]: Response text

[Assistant tool calls]: read(path="foo.ts"); edit(path="bar.ts", edits=[{"oldText":"a\\n","newText":"ü"}])

[Tool result]: Output from tool"""


def test_the_form(run: Run, tmp_path: Path) -> None:
    session = conversation(tmp_path / "s.jsonl")
    result = run("compaction", "serialize", str(session.path)).result
    assert result["text"] == FLAT
    assert (result["messages"], result["characters"], result["part"]) == (4, len(FLAT), "context")
    assert run("compaction", "serialize", str(session.path), "--raw").out == FLAT + "\n"


def test_a_long_result_is_cut(run: Run, tmp_path: Path) -> None:
    session = PiSession(tmp_path / "s.jsonl")
    session.result("c1", "x" * 2_001)
    text = run("compaction", "serialize", str(session.path)).result["text"]
    assert text == f"[Tool result]: {'x' * 2_000}\n\n[... 1 more characters truncated]"


def test_parts(run: Run, tmp_path: Path) -> None:
    session = PiSession(tmp_path / "s.jsonl")
    session.user("first")
    session.answer("a" * 400)
    session.user("second")
    session.compaction("e003", "SUMMARY")
    session.answer("b" * 400)
    session.user("third")
    session.answer("c" * 400)
    session.answer("d" * 400)

    def part(*words: str) -> list[str]:
        text = run("compaction", "serialize", str(session.path), "--keep-recent", "50", *words).result["text"]
        return [paragraph.strip().rpartition(" ")[2][:6] for paragraph in text.split("\n\n[")]

    assert part() == part("--part", "context")
    assert part()[1:] == ["second", "b" * 6, "third", "c" * 6, "d" * 6]
    assert part("--part", "branch") == ["first", "a" * 6, "second", "b" * 6, "third", "c" * 6, "d" * 6]
    assert part("--part", "summarize") == ["second", "b" * 6]
    assert part("--part", "prefix") == ["third", "c" * 6]


@pytest.fixture
def session(tmp_path: Path) -> PiSession:
    transcript = PiSession(tmp_path / "s.jsonl")
    transcript.user("go")
    transcript.answer(LONG)
    return transcript


def prepared(run: Run, session: PiSession, keep_recent: int) -> dict[str, Any]:
    return run("compaction", "prepare", str(session.path), "--keep-recent", str(keep_recent)).result


def omit(session: PiSession, target: str) -> str:
    return session.add("context_edit", targetId=target, replacement=None)


@pytest.mark.parametrize("recorded", ["session.jsonl", "session-0.73.jsonl"])
def test_sessions_of_today_and_of_0_73_have_no_problems(run: Run, recorded: str) -> None:
    path = str(ROOT / "tests" / "agents" / "payloads" / "pi" / recorded)
    assert run("compaction", "prepare", path).result["problems"] == []
    assert run("compaction", "serialize", path).result["problems"] == []


def test_results_that_fill_the_budget_are_kept_with_their_call(run: Run, session: PiSession) -> None:
    session.user("next")
    call_entry = session.answer("", call("c1", "bash", command="ls"))
    session.result("c1", LONG * 20)
    result = prepared(run, session, 300)
    assert (result["reason"], result["firstKeptEntryId"], result["isSplitTurn"]) == ("ready", call_entry, True)


def test_an_extension_counts_and_begins_a_turn(run: Run, session: PiSession) -> None:
    note = session.add("custom_message", customType="note", content=LONG, display=True)
    session.answer("ok")
    result = prepared(run, session, 50)
    assert (result["firstKeptEntryId"], result["isSplitTurn"]) == (note, False)
    assert result["messagesToSummarize"] == session.ids[:2]


def test_instructions_count_once_if_no_usage_does(run: Run, session: PiSession) -> None:
    before = prepared(run, session, 9000)["tokensBefore"]
    tool = {"name": "read", "description": "y" * 364}
    session.add("message", message={"role": "system", "content": "", "sections": {"a": LONG}, "toolsAdded": [tool]})
    session.add("message", message={"role": "system", "content": "", "sections": {"a": LONG[:200]}})
    assert prepared(run, session, 9000)["tokensBefore"] == before + 50 + 100
    session.answer("done", tokens=7)
    result = prepared(run, session, 1)
    assert result["tokensBefore"] == 7
    assert result["messagesToSummarize"] + result["turnPrefixMessages"] == session.ids[:2]


ANSWER = {"role": "assistant", "content": [], "stopReason": "stop"}


@pytest.mark.parametrize(("message", "tokens"), [
    ({"role": "user", "content": [{"type": "image", "data": "aGk=", "mimeType": "x"}]}, 101 + 1200),
    ({**ANSWER, "usage": {"totalTokens": 900}}, 900),
    ({**ANSWER, "usage": {"output": 900}}, 900),
], ids=["an image", "only a total", "only an output"])  # fmt: skip
def test_images_and_any_form_of_usage_count(run: Run, session: PiSession, message: dict[str, Any], tokens: int) -> None:
    session.add("message", message=message)
    assert prepared(run, session, 1)["tokensBefore"] == tokens


def test_an_omitted_message_is_not_summarised(run: Run, session: PiSession) -> None:
    failed = session.answer("never mind", call("c1", "write", path="a.py"), tokens=150_000)
    omit(session, failed)
    session.user("again")
    result = prepared(run, session, 1)
    assert failed not in result["messagesToSummarize"]
    assert result["fileOps"]["written"] == []
    assert result["tokensBefore"] < 200, "the usage describes a context that is gone"


def test_a_replaced_message_is_summarised_as_replaced(run: Run, session: PiSession) -> None:
    call_entry = session.answer("secret", call("c1", "write", path="a.py"))
    session.add("context_edit", targetId=call_entry, replacement={"content": "left out"})
    session.user("next")
    text = run("compaction", "serialize", str(session.path)).result["text"]
    assert "[Assistant]: left out" in text
    assert "secret" not in text
    assert prepared(run, session, 1)["fileOps"]["written"] == []
    assert preparation.context_size(session_tree.read(str(session.path))).total == 1 + 100 + 2 + 1


def test_the_prompt_of_an_abandoned_attempt_may_be_summarised(run: Run, session: PiSession) -> None:
    session.user(LONG * 10)
    failed = session.answer("", stop="error")
    edit = omit(session, failed)
    result = prepared(run, session, 300)
    assert result["firstKeptEntryId"] == failed
    assert result["turnPrefixMessages"] == [session.ids[2]]
    assert edit not in result["messagesToSummarize"]


def test_a_compaction_that_keeps_nothing_names_itself(run: Run, session: PiSession) -> None:
    session.compaction(f"e{len(session.ids) + 1:03}")
    prompt = session.user("next")
    session.answer(LONG)
    result = prepared(run, session, 1)
    assert result["messagesToSummarize"] + result["turnPrefixMessages"] == [prompt]


def test_the_calls_of_a_script_name_files(run: Run, session: PiSession) -> None:
    session.answer("", call("c1", "code", script="…"))
    paths = {"edit": "n.py", "write": "m.py"}
    calls = [{"id": f"c1/{name}", "name": name, "arguments": {"path": paths[name]}, "status": "ok"} for name in paths]
    session.result("c1", "done", nestedCalls={"calls": calls, "complete": True})
    session.user("next")
    assert prepared(run, session, 1)["fileOps"] == {"read": [], "written": ["m.py"], "edited": ["n.py"]}


def test_thinking_is_not_serialised(run: Run, session: PiSession) -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "done"}]
    session.add("message", message={"role": "assistant", "content": blocks, "stopReason": "stop"})
    assert run("compaction", "serialize", str(session.path)).result["text"].endswith("[Assistant]: done")
    assert preparation.context_size(session_tree.read(str(session.path))).total == 1 + 100 + 2
