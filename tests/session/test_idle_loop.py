"""The loop that waits for idle timers; and what a transcript tells: where its session began, if it was compacted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS

from core import clock, config
from core.errors import Failure
from session.idle import rules, run, timers, transcript_check
from session.state import schema

NOTHING = config.Config({})


class Interrupts:
    """An interrupt that comes after so many questions; notes how long it was waited."""

    def __init__(self, after: int = 10**9) -> None:
        self.after = after
        self.waited: list[float] = []

    def came(self) -> bool:
        self.after -= 1
        return self.after < 0

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the loop over timers that are given here; tells which sessions were compacted."""
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    compacted: list[str] = []

    def looped(rounds: list[dict[str, str]], interrupts: Any = None, gone: bool = False, **options: bool) -> Any:
        """`rounds`: the standing of each session at each look; after the last one they stay so."""
        looks = iter(rounds)
        last: list[dict[str, str]] = [{}]

        class Timers:
            def states(self) -> list[Any]:
                last[0] = next(looks, last[0])
                return [None, *last[0]]

        def listed(session: str | None, *_: object) -> Any:
            return session and {
                "sessionId": session, "agent": "pi", "standing": last[0][session], "dueAt": NOW_MS + 500,
            }  # fmt: skip

        def compact(session: str, *_: object) -> Any:
            compacted.append(session)
            return None if gone else {"sessionId": session, "outcome": "completed"}

        monkeypatch.setattr(timers, "Timers", Timers)
        monkeypatch.setattr(timers, "listed", listed)
        monkeypatch.setattr(run, "compact", compact)
        compacted.clear()
        waiting: Any = interrupts or Interrupts()
        outcome = run.run(NOTHING, waiting, lambda *_: None, **{"once": False, "until_empty": False, **options})
        return outcome, list(compacted)

    return looped


def test_once_compacts_what_is_due_and_tells_what_is_not(loop: Any) -> None:
    standings = {"a": rules.DUE, "b": rules.WAITING, "c": rules.TURN_RUNNING, "d": rules.IN_PROGRESS, "e": rules.DUE}
    outcome, compacted = loop([standings], once=True)
    assert compacted == ["a", "e"]
    assert outcome.counts == {"completed": 2, "failed": 0, "cancelled": 0, "skipped": 2} and not outcome.stopped
    assert [(one["sessionId"], one.get("reason")) for one in outcome.sessions] == [
        ("a", None), ("c", rules.TURN_RUNNING), ("d", rules.IN_PROGRESS), ("e", None),
    ]  # fmt: skip


def test_until_empty_ends_when_no_timer_is_left(loop: Any) -> None:
    interrupts = Interrupts()
    outcome, compacted = loop([{"a": rules.WAITING}, {"a": rules.DUE}, {}], interrupts, until_empty=True)
    assert compacted == ["a"] and outcome.counts["skipped"] == 0
    assert interrupts.waited == [0.5, 1.0], "until the next is due, and within a second"


def test_else_it_goes_on_without_a_timer(loop: Any) -> None:
    interrupts = Interrupts(after=2)
    outcome, compacted = loop([{}], interrupts)
    assert (compacted, outcome.stopped, len(interrupts.waited)) == ([], True, 2)


def test_a_session_is_left_alone_for_a_minute_after_a_try(loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([NOW_MS, NOW_MS, NOW_MS + 59_999, NOW_MS + 59_999, NOW_MS + 60_000, NOW_MS + 60_000])
    monkeypatch.setattr(clock, "now_ms", lambda: next(moments, NOW_MS))
    assert loop([{"a": rules.DUE}] * 3 + [{}], until_empty=True)[1] == ["a", "a"]


def test_what_is_no_longer_due_is_not_counted(loop: Any) -> None:
    outcome, compacted = loop([{"a": rules.DUE}, {"a": rules.DUE}, {}], gone=True, until_empty=True)
    assert compacted == ["a", "a"] and set(outcome.counts.values()) == {0}


def test_an_interrupt_ends_it_before_the_next_session(loop: Any) -> None:
    due = {"a": rules.DUE, "b": rules.DUE, "c": rules.DUE}
    outcome, compacted = loop([due], Interrupts(after=3))  # asked once before the timers, then before each
    assert compacted == ["a", "b"] and outcome.stopped
    outcome, compacted = loop([due], Interrupts(after=0))
    assert compacted == [] and outcome.stopped


def test_the_results_of_the_last_100_sessions_are_kept() -> None:
    outcome = run.Outcome()
    for number in range(101):
        outcome.add({"sessionId": str(number), "outcome": "failed"})
    assert outcome.counts["failed"] == 101 and len(outcome.sessions) == 100
    assert outcome.sessions[0]["sessionId"] == "1"


def write(path: Path, *lines: object) -> str:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return str(path)


def header(folder: Path | str) -> dict[str, str]:
    return {"type": "session", "id": "s", "cwd": str(folder)}


COMPACTION = {"type": "compaction", "id": "c", "summary": "s", "timestamp": "2026-09-21T14:13:20Z"}


def test_the_folder_in_which_a_session_began(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    path = tmp_path / "session.jsonl"
    assert transcript_check.begun_in(write(path, "no JSON", [1], header(folder)), "pi") == str(folder)
    assert transcript_check.begun_in(write(path, header(tmp_path / "gone"), header(folder)), "pi") == str(folder)
    assert transcript_check.begun_in(write(path, header(tmp_path / "gone")), "pi") == ""
    for before, found in ((100, str(folder)), (101, "")):
        assert transcript_check.begun_in(write(path, *[{"type": "x"}] * before, header(folder)), "pi") == found
    for agent, name in (("opencode", str(path)), ("nobody", str(path)), ("pi", str(tmp_path)), ("pi", "/no/where")):
        assert transcript_check.begun_in(name, agent) == ""


def test_whether_a_transcript_holds_a_compaction(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    before = write(path, header("/"), COMPACTION)
    size = transcript_check.size(before)
    assert size == os.path.getsize(path) and transcript_check.size("") == transcript_check.size("/no/where") == 0
    assert transcript_check.was_compacted(before, "pi", 0) is True
    assert transcript_check.was_compacted(before, "pi", size) is False
    assert transcript_check.was_compacted(before, "pi", size + 1) is True, "it was written anew"
    write(path, header("/"), COMPACTION, {"type": "message", "id": "m"}, "no JSON compaction", COMPACTION)
    assert transcript_check.was_compacted(before, "pi", size) is True
    write(path, header("/"), {"type": "message", "id": "m", "text": '"type":"compaction"'})
    assert transcript_check.was_compacted(before, "pi", 0) is False
    for agent, name in (("opencode", before), ("gemini", before), ("pi", str(tmp_path)), ("pi", "/no/where")):
        assert transcript_check.was_compacted(name, agent, 0) is None


def test_a_timer_is_listed_with_what_is_left_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = config.Config({"idle.timeout_seconds": 10})
    state, _ = rules.schedule(
        schema.blank("s", "interactive", NOW_MS), used=0.71236, minutes=2, least=0.5, now=NOW_MS, cwd="/w"
    )
    row = {
        "sessionId": "s", "agent": "", "cwd": "/w", "percent": 71.24, "scheduledAt": NOW_MS, "dueAt": NOW_MS + 120_000,
        "dueInSeconds": 120, "standing": "waiting",
    }  # fmt: skip
    assert timers.listed(state, settings, NOW_MS) == row
    assert timers.listed(state, settings, NOW_MS + 1) == row, "seconds are rounded up"
    assert timers.listed(state, settings, NOW_MS + 1000) == {**row, "dueInSeconds": 119}
    due = timers.listed(state, settings, NOW_MS + 120_001)
    assert due == {**row, "dueInSeconds": 0, "standing": "due"}
    assert timers.listed({**state, "lastMessageAt": NOW_MS + 1}, settings, NOW_MS) is None
    assert timers.listed({**state, "idleTimer": None}, settings, NOW_MS) is None
    assert timers.longest_ms(settings) == 10_000
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS + 5))
    later = {**state, "sessionId": "t", "idleTimer": {**state["idleTimer"], "dueAt": NOW_MS + 5}}
    running = {**later, "sessionId": "u", "turnBeganAt": NOW_MS}
    monkeypatch.setattr(timers.Timers, "states", lambda _: [later, running, state, {**state, "idleTimer": None}])
    assert [one["sessionId"] for one in timers.every(settings)] == ["t", "u", "s"]
    assert [one["sessionId"] for one in timers.every(settings, due=True)] == ["t", "u"]


def test_a_command_is_made_of_the_setting_else_of_what_the_client_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def command(session: str = "s", agent: str = "claude", **settings: Any) -> Any:
        state: Any = {"sessionId": session, "agent": agent, "cwd": str(tmp_path)}
        timer: Any = {"cwd": settings.pop("cwd", ""), "transcript": "/t"}
        return run._command(state, timer, config.Config({"idle.command": settings.pop("line", " ")}))

    assert command() == (["claude", "-p", "/compact", "--resume", "s"], str(tmp_path))
    assert command(line="x {session} {cwd} {transcript} {agent}", agent="pi") == (
        ["x", "s", str(tmp_path), "/t", "pi"], str(tmp_path),
    )  # fmt: skip
    for words, code in (
        ({"agent": "pi"}, "IDLE_NO_COMMAND"), ({"session": "-s"}, "IDLE_NO_ID"), ({"session": "hash-1"}, "IDLE_NO_ID"),
        ({"cwd": "/no/where"}, "IDLE_NO_FOLDER"), ({"line": "x 'y"}, "CONFIG_INVALID"),
    ):  # fmt: skip
        with pytest.raises(Failure) as failed:
            command(**words)
        assert failed.value.code == code
    assert run._error_text(failed.value) == f"CONFIG_INVALID: {failed.value.message}"
    assert run._error_text(ValueError("x")) == "ValueError: x"
