"""Qwen Code and Copilot CLI through a compaction: captured payloads, and the transcript as it was at each of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Run, put

PAYLOADS = ROOT / "tests" / "agents" / "payloads"
SESSION = "00000000-0000-4000-8000-000000000001"
TRANSCRIPTS = {
    "qwen": f".qwen/projects/p/chats/{SESSION}.jsonl",
    "copilot": f".copilot/session-state/{SESSION}/events.jsonl",
}
END = {"qwen": '"chat_compression"', "copilot": '"session.compaction_complete"'}
"""What is in the line that ends the compaction."""
Hook = Callable[..., str]


@pytest.fixture
def hook(run: Run, tmp_path: Path) -> Hook:
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


def test_qwen_gets_the_note_again_in_the_next_process(hook: Hook) -> None:
    lines = lines_until_the_end("qwen")
    for name in ("SessionStart.startup", "UserPromptSubmit", "PostToolUse", "SessionStart.resume", "PreCompact"):
        assert note_count(hook("qwen", name, lines[:-1])) == 0
    note = hook("qwen", "SessionStart.compact", lines)
    assert note_count(note) == 1 and "worker.py" in note
    assert hook("qwen", "UserPromptSubmit.tool-result", lines) == hook("qwen", "Stop", lines) == ""
    assert hook("qwen", "SessionStart.resume", lines) == note


@pytest.mark.parametrize("by_hook", [True, False])
def test_subagents_of_qwen_are_archived(hook: Hook, run: Run, tmp_path: Path, by_hook: bool) -> None:
    path = tmp_path / ".qwen/projects/p/subagents" / SESSION / "agent-explore-1a2b3c4d.jsonl"
    path.parent.mkdir(parents=True)
    said: list[tuple[str, dict[str, Any]]] = [
        ("user", {"text": "find the gauge"}),
        ("assistant", {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "ls src"}}}),
        ("tool_result", {"functionResponse": {"id": "c1", "response": {"output": "gauge.py"}}}),
        ("assistant", {"text": "It is in src/gauge.py."}),
    ]
    about = {"sessionId": SESSION, "timestamp": "2026-11-28T13:50:10.000Z", "cwd": "/w", "isSidechain": True}
    for number, (kind, part) in enumerate(said):
        line = {"uuid": f"s{number}", "parentUuid": f"s{number - 1}" if number else None, "type": kind, **about}
        line |= {"agentId": "explore-1a2b3c4d", "message": {"role": "model", "parts": [part]}}
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
    if by_hook:
        hook("qwen", "Stop", lines_until_the_end("qwen"))
    added = run("memory", "archive", "--all", env={"HOME": str(tmp_path)}).result["episodes"]["added"]
    assert added == (0 if by_hook else 2)
    shown = run("session", "show", path.stem).result
    assert (shown["kind"], shown["parent"], shown["client"]) == ("subagent", SESSION, "qwen")
    texts = [json.loads(line)["text"] for line in run("memory", "export", "--collection", "episodes").out.splitlines()]
    assert {"teammate: find the gauge", "assistant: It is in src/gauge.py."} <= set(texts)
    assert "ls src" in run("recall", "ls src", "--raw", "--everywhere").out
    for deleted in ("forget", "purge --yes") if by_hook else ():
        run("memory", *deleted.split(), "--session", SESSION)
        assert not run("memory", "export", "--collection", "episodes").out
        assert run("memory", "archive", "--again", SESSION, env={"HOME": str(tmp_path)}).result["broughtBack"]
        assert "It is in src/gauge.py." in run("memory", "export", "--collection", "episodes").out


@pytest.mark.parametrize(("names", "counts"), [
    (("PostToolUse", "Stop", "SessionStart.resume", "UserPromptSubmit"), [1, 0, 0, 0]),
    (("Stop", "SessionEnd", "SessionStart.resume", "UserPromptSubmit"), [0, 0, 1, 0]),
    (("UserPromptSubmit", "PostToolUse"), [1, 0]),
])  # fmt: skip
@pytest.mark.parametrize("is_cancelled", [False, True])
def test_copilot_gets_the_note_with_the_event_after_the_compaction(
    hook: Hook, names: tuple[str, ...], counts: list[int], is_cancelled: bool
) -> None:
    lines = lines_until_the_end("copilot")
    for name, number in (("SessionStart.new", 3), ("UserPromptSubmit", 5), ("PreCompact", 110), ("PostToolUse", -4)):
        assert note_count(hook("copilot", name, lines[:number])) == 0
    if is_cancelled:
        lines[-1] = lines[-1].replace('"success": true', '"success": false')
    assert [note_count(hook("copilot", name, lines)) for name in names] == [0 if is_cancelled else n for n in counts]
