"""What holds for every event of a session, whichever steps it has: locks, deadlines, faults."""

from __future__ import annotations

import fcntl
import json
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run

from core import config
from otel import log
from session import checkpoint, checkpoint_run
from session.hook import call
from session.inject import recovery, refresh, runner

TASK = "Fix the memory use of the buoyline importer"
MEMORY = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"
NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}


@pytest.fixture
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home, for what this process itself does."""
    for name, value in {**NOW, "JOELCLAW_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)
    return home


def state(home: Path, session: str = "s1") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / "sessions" / f"{session}.json").read_text())
    return found


def hook(event: str, **more: Any) -> call.Call:
    """One call of pi's hook in this process, before it is answered."""
    given = call.Call("pi", event, time.perf_counter())
    given._config = config.load()
    given.answer(json.dumps({"session_id": "s1", "cwd": "/srv/tides", **more}).encode())
    return given


def test_clearing_a_session_leaves_no_lock_of_its_work(run: Run, home: Path) -> None:
    run("checkpoint", "save", "--session", "s1", "--percent", "70", "-m", TASK, env=NOW)
    assert list((home / "sessions" / ".work").rglob("s1"))
    run("checkpoint", "clear", "s1")
    assert not list((home / "sessions" / ".work").rglob("s1"))


def test_nothing_is_worked_for_a_state_that_cannot_be_locked(run: Run, home: Path) -> None:
    run("checkpoint", "save", "--session", "s1", "--percent", "10", "-m", TASK, env=NOW)
    with (home / "sessions" / ".locks" / "s1").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        failed = run("checkpoint", "save", "--session", "s1", "--percent", "90", env=NOW, ok=False)
    assert failed.json["error"]["code"] == "STATE_BUSY"
    assert run("memory", "recent", "--hours", "1", env=NOW).result["count"] == 0


def test_a_late_turn_keeps_its_events_and_what_is_pending(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("memory", "write", MEMORY, env=NOW)
    pending = {"id": "m", "terms": ["batches", "decodes", "rows"], "used": 0, "asked": False, "turns": 0}
    checkpoint_run.save("s1", checkpoint.turn_of(percent=10), config.load())
    path = here / "sessions" / "s1.json"
    path.write_text(json.dumps({**state(here), "pendingFeedback": [pending]}))
    late: list[list[str]] = []
    compose = refresh.compose

    def hangs(current: Any, situation: runner.Situation, *more: Any) -> Any:
        context = situation.context
        assert context.on_deadline is not None
        context.on_deadline()
        late.append([event["action"] for event in log.spooled_in(str(here))])
        return compose(current, situation, *more)

    monkeypatch.setattr(refresh, "compose", hangs)
    entries = [{"id": "1", "role": "assistant", "text": "it decodes the rows in batches"}]
    hook("prompt", prompt=TASK, percent=55, entries=entries)
    assert late == [["compaction.extract.warm"]]
    after = state(here)
    assert after["warmZoneEntered"] is True
    assert "m" in [entry["id"] for entry in after["pendingFeedback"]], "its use is judged at the next event"
    assert (after["counts"]["saves"], after["checkpoint"]["currentTask"]) == (3, TASK)


def test_a_note_that_the_deadline_took_is_handed_out_at_the_next_prompt(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook("prompt", prompt=TASK, percent=70)
    compose = recovery.compose

    def hangs(current: Any, situation: runner.Situation, *_: Any) -> Any:
        assert situation.context.on_deadline is not None
        situation.context.on_deadline()
        raise SystemExit  # as the deadline ends the process

    monkeypatch.setattr(recovery, "compose", hangs)
    with pytest.raises(SystemExit):
        hook("after_compaction")
    assert state(here)["noteOwed"] is True
    monkeypatch.setattr(recovery, "compose", compose)
    answers = [hook("prompt", prompt="go on please", percent=20)._texts for _ in range(2)]
    assert [[text["customType"] for text in texts] for texts in answers] == [["compaction-recovery"], []]
    assert (state(here)["noteOwed"], state(here)["checkpoint"]["compactionCount"]) == (False, 1)


def test_the_end_of_a_session_asks_nothing_of_a_state_that_it_does_not_change(run: Run, home: Path) -> None:
    (home / "sessions").mkdir(parents=True, mode=0o700)
    (home / "sessions" / "s1.json").write_text(json.dumps({"version": 9, "sessionId": "s1"}))
    run("hook", "pi", "session_end", stdin=json.dumps({"session_id": "s1"}), env=NOW)
    found = run("otel", "search", "hook", "--hours", "1", env=NOW).result["events"]
    assert [event["action"] for event in found] == ["hook.completed"]


@pytest.mark.usefixtures("here")
def test_what_fails_in_a_text_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("memory", "write", MEMORY, env=NOW)

    def broken(*_: object) -> None:
        raise RuntimeError("no text today")

    monkeypatch.setattr(refresh, "compose", broken)
    checkpoint_run.save("s1", checkpoint.turn_of(messages=[TASK]), config.load())
    result = run("inject", "refresh", "--session", "s1", "--percent", "60", env=NOW).result
    assert (result["injected"], result["reason"]) == (False, "failed")
    assert result["refreshError"] == {"code": "RuntimeError", "message": "no text today"}
