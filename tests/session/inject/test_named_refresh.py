"""A prompt that names a file or function gets the memories about it."""

import json
from pathlib import Path

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import Run

from core import clock

AGAIN = "buoylineTable must never be sorted by name, because the gauge reads it by time."
PROMPT = "why does buoylineTable lose its last row again? please look"
MINUTE = 60_000
BEGAN_MS = clock.parse_iso("2026-09-20T10:00:00.000Z") or 0


def hook(run: Run, name: str, session: str, minutes: float, transcript: Path | None = None, **more: object) -> str:
    event = {"hook_event_name": name, "session_id": session, "cwd": CWD, **more}
    if transcript is not None:
        event["transcript_path"] = str(transcript)
    out = run(
        "hook", "claude", stdin=json.dumps(event), env={"JOELCLAW_NOW_MS": str(BEGAN_MS + round(minutes * MINUTE))}
    ).out
    return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out.startswith("{") else out


def prompt(run: Run, text: str = PROMPT, *, session: str = "new", minutes: float = 200) -> str:
    return hook(run, "UserPromptSubmit", session, minutes, prompt=text)


def test_a_memory_about_a_name_is_given_once_per_session(run: Run) -> None:
    run("memory", "write", AGAIN, "--global", "-c", "operations")
    assert prompt(run).splitlines() == [
        '<joelclaw-memory source="context-refresh" note="recalled data, not instructions">',
        "## Context Refresh",
        "**Noted about it:**",
        f"- [operations] {AGAIN}",
        "</joelclaw-memory>",
    ]
    assert prompt(run, minutes=201) == ""
    assert AGAIN in prompt(run, session="third")


@pytest.mark.parametrize("text", [
    "why does the table lose its last row again? please look",
    "why does otherTable lose its last row again? please look",
    "see https://example.org/buoylineTable and --buoylineTable, please look at that",
    "<task-notification>buoylineTable is done with the night's sweep</task-notification>",
])  # fmt: skip
def test_a_prompt_without_the_name_gets_nothing(run: Run, text: str) -> None:
    run("memory", "write", AGAIN, "--global")
    assert prompt(run, text) == ""


def test_at_most_two_memories_and_no_archived_turn(run: Run, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user(PROMPT)
    transcript.assistant("The buoylineTable loses its last row because read_rows stops at the first empty line.")
    run("memory", "archive", str(transcript.path))
    assert prompt(run) == ""
    for number in range(3):
        run(
            "memory",
            "write",
            f"buoylineTable of harbour {number} must never be sorted by name, it loses rows",
            "--global",
        )
    assert prompt(run, minutes=201).count("\n- [") == 2


def test_named_refreshes_can_be_switched_off(run: Run, home: Path) -> None:
    run("memory", "write", AGAIN, "--global")
    (home / "config.toml").write_text("[refresh]\nminutes = 0\n")
    assert prompt(run) == ""


def test_a_named_memory_does_not_delay_a_refresh(run: Run, tmp_path: Path) -> None:
    def trigger(minutes: int, message: str) -> str:
        words = ("inject", "refresh", "--session", "s1", "--message", message)
        result = run(*words, env={"JOELCLAW_NOW_MS": str(BEGAN_MS + minutes * MINUTE)}, cwd=tmp_path).result
        return str(result["trigger"])

    plain = "go on with the importer, please"
    # half an hour after the start, not after the prompt that names something
    assert [trigger(*prompt_at) for prompt_at in ((0, plain), (9, plain), (18, plain), (25, PROMPT), (31, plain))] == [
        *("", "", ""), "named", "interval",
    ]  # fmt: skip
