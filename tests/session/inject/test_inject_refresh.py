"""What changed during a long session, and what is known about a name, is given to the agent (ADR-0204, change 2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from claude_transcript import CWD, SESSION, Transcript
from conftest import Run
from conftest import at_minute as at

from core import clock
from core.quoting import cost

if TYPE_CHECKING:
    pass

MEMORY = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"
TASK = "Fix the memory use of the buoyline importer"
OPEN = '<joelclaw-memory source="context-refresh" note="recalled data, not instructions">'


def ask(run: Run, minutes: float, *words: str, **env: str) -> dict[str, Any]:
    return run("inject", "refresh", "--session", "s1", *words, env={**at(minutes), **env}).result


def prepare(run: Run, *words: str) -> None:
    run("memory", "write", MEMORY, env=at(0))
    run("checkpoint", "save", "--session", "s1", "--percent", "20", "--message", TASK, *words, env=at(0))


def events(run: Run, minutes: float) -> list[dict[str, Any]]:
    return run("otel", "search", "context.refresh", "--hours", "9", env=at(minutes)).result["events"]


def test_the_text_holds_memories(run: Run) -> None:
    prepare(run)
    run("checkpoint", "save", "--session", "s1", "--percent", "20", env=at(29))  # not idle
    result = ask(run, 31, "--message", "go on please")
    assert (result["injected"], result["reason"], result["trigger"]) == (True, "injected", "interval")
    assert (result["customType"], result["display"]) == ("context-refresh", False)
    assert result["content"].split("\n") == [
        OPEN, "## Context Refresh", "**Changed in memory:**", f"- [rules-conventions] {MEMORY}", "</joelclaw-memory>",
    ]  # fmt: skip
    (event,) = events(run, 32)
    assert event["action"] == "context.refresh.injected"
    metadata = event["metadata"]
    assert metadata.pop("memoryIds") == result["memoryIds"]
    assert metadata.pop("duration_ms") >= 0
    assert metadata == {
        "trigger": "interval",
        "query": TASK,
        "contentChars": len(result["content"]),
        "estimatedTokens": cost(result["content"]),
    }
    shown = run("memory", "show", result["memoryIds"][0]).result
    assert '"recall_count": 1' in json.dumps(shown) or '"recallCount": 1' in json.dumps(shown)


def test_every_half_hour_of_conversation(run: Run) -> None:
    prepare(run)
    talk = ("--message", "and then?")
    for minute in range(8, 33, 8):  # never idle for ten minutes
        result = ask(run, minute, *talk)
        assert (result["injected"], result["trigger"]) == (minute == 32, "interval" if minute == 32 else ""), minute
        if minute < 32:
            assert result["reason"] == "not-due"
    assert ask(run, 40, *talk)["reason"] == "not-due"
    assert ask(run, 48, *talk)["reason"] == "not-due"
    assert ask(run, 56, *talk)["reason"] == "not-due"
    assert ask(run, 63, *talk)["trigger"] == "interval"


def test_after_a_pause(run: Run) -> None:
    prepare(run)
    assert ask(run, 3, "--message", "go on please")["reason"] == "not-due"
    assert ask(run, 12.9, "--message", "go on please")["reason"] == "not-due"
    run("checkpoint", "save", "--session", "s1", "--percent", "20", env=at(20))  # the agent was at work until then
    assert ask(run, 29, "--message", "go on please")["reason"] == "not-due"
    result = ask(run, 39, "--message", "go on please", JOELCLAW_REFRESH_MINUTES="1000")
    assert (result["injected"], result["trigger"]) == (True, "idle")


def test_half_full_once_per_compaction_and_without_a_message(run: Run) -> None:
    prepare(run)
    assert ask(run, 1, "--percent", "49.9")["reason"] == "not-due"
    first = ask(run, 1, "--percent", "50")
    assert (first["injected"], first["trigger"]) == (True, "half-full")
    assert ask(run, 3, "--percent", "70")["reason"] == "not-due"
    run("inject", "recovery", "--session", "s1", env=at(4))
    assert ask(run, 4.9, "--percent", "55")["reason"] == "not-due", "the recovery is still there"
    assert ask(run, 8, "--percent", "20")["reason"] == "not-due"
    assert ask(run, 9, "--percent", "51")["trigger"] == "half-full"


@pytest.mark.parametrize("first", ["checkpoint", "nothing"])
def test_a_short_session_gets_no_refresh(run: Run, first: str) -> None:
    if first == "checkpoint":
        prepare(run)
    for minute in (0, 1, 4, 6):
        result = ask(run, minute, "--message", "and the parser of the importer?")
        assert (result["injected"], result["reason"]) == (False, "not-due")
    assert ask(run, 7)["reason"] == "not-due"


def test_a_memory_that_changed_since_the_last_refresh_is_given(run: Run) -> None:
    prepare(run)
    assert ask(run, 45, "--message", "go on please")["injected"]
    later = "The buoyline importer keeps its memory of the last day in a file, since a restart loses the rest"
    run("memory", "write", later, env=at(60))
    content = ask(run, 90, "--message", "go on please")["content"]
    assert later in content and MEMORY not in content


def test_neither_turns_nor_task_memories_are_given(run: Run) -> None:
    lines = [
        {"text": "assistant: The buoyline importer reads in batches now, its memory use is fixed", "session": "old",
         "collection": "episodes"},
        {"text": "Task: Fix the memory use of the buoyline importer", "session": "old", "tags": ["session-task"]},
    ]  # fmt: skip
    run("memory", "import", "-", stdin="\n".join(map(json.dumps, lines)) + "\n", env=at(1))
    run("checkpoint", "save", "--session", "s1", "--percent", "20", "--message", TASK, env=at(0))
    assert ask(run, 45, "--message", "go on please")["reason"] == "no-results"


@pytest.mark.parametrize("message", [
    "> ⚡ **Automated gateway event** — not a human message\n\nThe buoyline importer finished its nightly sweep",
    "## 📋 Batch Digest — 2026-09-21\n\n14 event(s) since last digest:\n- buoyline importer: 14",
    "Watchdog: the buoyline importer restarted twice", "[cron] the buoyline importer has run",
    "This is an automated notice about the buoyline importer", "⚡ Automated gateway event: the buoyline importer ran",
    "HEARTBEAT\n\nTimestamp: 2026-09-21T10:00:00 PST\n\n# the buoyline importer checks",
    "ok, thanks. sounds good!", "vielen Dank, sehr schön", "könnten wir das später machen?",
    "<task-notification>the buoyline importer finished its nightly sweep</task-notification>",
])  # fmt: skip
def test_no_seed_no_refresh(run: Run, message: str) -> None:
    run("memory", "write", MEMORY, env=at(0))
    run(
        "checkpoint", "save", "--session", "s1", "--percent", "20", "--message", message, "--role", "gateway", env=at(0)
    )
    result = ask(run, 45, "--message", message)
    assert (result["injected"], result["reason"], result["content"]) == (False, "no-seed", "")
    assert ask(run, 46, "--message", TASK)["injected"], "and it is still due"


def test_a_failed_recall_leaves_the_refresh_due(run: Run, home: Path) -> None:
    prepare(run)
    store = home / "store.db"
    content = store.read_bytes()
    for log in home.glob("store.db-*"):
        log.unlink()
    store.write_bytes(b"no database at all, " * 400)
    result = ask(run, 45, "--message", "go on")
    assert (result["injected"], result["reason"]) == (False, "failed")
    assert result["recallError"]["code"]
    state = json.loads((home / "sessions" / "s1.json").read_text())
    assert state["lastRefreshAt"] is None
    store.write_bytes(content)


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
