"""The runner of steps: who is asked what and when, what is written, and what others did meanwhile (`session.step`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS

from core import files
from core.config import Config
from core.store import history, sqlite
from otel import log
from otel.event import new_event
from session import checkpoint_run
from session import step as session_context
from session import step as steps
from session.state import state_file
from session.step import Context, Step, run


class Noted(Step):
    """A step that notes what it is asked, counts its changes in `files` and its work in `injectedScopes`."""

    name = "noted"

    def __init__(self, *due: bool, lock: bool = True, changes: bool = True) -> None:
        self.takes_lock = lock
        self.asked: list[str] = []
        self.meanwhile: Any = None
        self._due = list(due) or [True]
        self._changes = changes

    def change(self, state: Any) -> Any:
        self.asked.append("change")
        return {**state, "files": [*state["files"], "a.py"]} if self._changes else state

    def is_due(self, state: Any) -> bool:
        self.asked.append("due")
        return self._due.pop(0) if len(self._due) > 1 else self._due[0]

    def work(self, state: Any) -> None:
        self.asked.append("work")
        if self.meanwhile is not None:
            self.meanwhile()

    def apply(self, state: Any) -> Any:
        self.asked.append("apply")
        return {**state, "injectedScopes": [*state["injectedScopes"], "done"]}

    def is_busy(self) -> None:
        self.asked.append("busy")

    def follow_up(self, state: Any, *, late: bool = False) -> None:
        self.asked.append("late" if late else "follow")


@pytest.fixture(autouse=True)
def writes(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The states that are written."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    found: list[Any] = []
    write = state_file.write
    monkeypatch.setattr(state_file, "write", lambda state: found.append(state) or write(state))
    return found


def context(**more: Any) -> Context:
    return Context("s1", Config({}), **more)


def on_disk() -> Any:
    found = state_file.peek("s1")
    return None if found is None else (found["files"], found["injectedScopes"])


def test_a_step_that_is_due_works_once_and_the_state_is_written_once(writes: list[Any]) -> None:
    one = Noted()
    state = run(context(), [one])
    assert one.asked == ["change", "due", "work", "apply", "follow"]
    assert on_disk() == (state["files"], state["injectedScopes"]) == (["a.py"], ["done"])
    again = Noted()
    run(context(), [again])
    assert again.asked == ["change", "due", "work", "apply", "follow"]
    assert on_disk() == (["a.py", "a.py"], ["done", "done"])
    assert len(writes) == 2


def test_a_step_that_is_not_due_only_changes(writes: list[Any]) -> None:
    one = Noted(False)
    run(context(), [one])
    assert one.asked == ["change", "due", "follow"]
    assert (on_disk(), len(writes)) == ((["a.py"], []), 1)
    quiet = Noted(False, changes=False)
    run(context(), [quiet])
    assert len(writes) == 1, "nothing has changed"


def test_of_a_session_that_is_not_known_nothing_is_kept_where_nothing_came_to_be(writes: list[Any]) -> None:
    one = Noted(False, changes=False)
    assert run(context(), [one]) == state_file.blank("s1", "interactive", NOW_MS)
    assert (one.asked, writes) == (["change", "due"], [])
    run(context(), [Noted(changes=False)])
    assert (on_disk(), len(writes)) == (([], ["done"]), 1)


def test_where_another_process_is_at_the_same_work() -> None:
    lock = files.FileLock(session_context.work_lock("s1", "noted"), 0)
    lock.__enter__()
    try:
        one, free = Noted(), Noted(lock=False)
        run(context(), [one])
        run(context(), [free])
    finally:
        lock.__exit__(None, None, None)
    assert one.asked == ["change", "due", "busy", "follow"]
    assert "work" in free.asked, "its caller holds the lock"
    after = Noted()
    run(context(), [after])
    assert "work" in after.asked


def test_a_step_is_asked_again_where_another_process_wrote_before_it_had_the_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claim = steps._claim

    def late(*given: Any) -> bool:
        if not (found := state_file.peek("s1")):
            state_file.write({**state_file.blank("s1", "interactive", NOW_MS), "files": ["b.py"]})
        return found is None and claim(*given)

    monkeypatch.setattr(steps, "_claim", late)
    one = Noted(True, False)
    run(context(), [one])
    assert one.asked == ["change", "due", "change", "due", "follow"]
    assert on_disk() == (["b.py", "a.py"], [])


def test_what_another_process_writes_meanwhile_stays() -> None:
    run(context(), [Noted(False)])
    one = Noted()
    other: Any = {"files": ["b.py"], "injectedScopes": ["theirs"]}
    one.meanwhile = lambda: state_file.write({**state_file.blank("s1", "interactive", NOW_MS), **other})
    run(context(), [one])
    assert on_disk() == (["b.py", "a.py"], ["theirs", "done"])


def test_a_session_that_is_cleared_meanwhile_stays_without_its_work() -> None:
    run(context(), [Noted(False)])
    one = Noted(changes=False)
    one.meanwhile = lambda: checkpoint_run.remove("s1")
    run(context(), [one])
    assert (on_disk(), one.asked[-2:]) == (None, ["change", "follow"])


def test_where_the_deadline_comes_first_the_change_is_written_and_no_work() -> None:
    one = Noted()
    given = context()
    late: list[Any] = []

    def over() -> None:
        assert given.on_deadline is not None
        given.on_deadline()
        late.append((on_disk(), given.is_late, list(one.asked)))

    one.meanwhile = over
    run(given, [one])
    assert late == [((["a.py"], []), True, ["change", "due", "work", "change", "late"])]
    assert given.on_deadline is None


def test_a_role_that_is_given_takes_the_place_of_the_one_that_is_known() -> None:
    assert run(context(role="gateway"), [Noted(False)])["role"] == "gateway"
    assert run(context(), [Noted(False)])["role"] == "gateway"
    assert run(context(role="worker"), [Noted(False)])["role"] == "worker"


def test_a_fault_of_a_step_stops_no_other() -> None:
    def fail() -> None:
        raise OSError("no")

    bad, good = Noted(), Noted()
    bad.name, bad.meanwhile = "bad", fail
    given = context()
    run(given, [bad, good])
    assert [fault["step"] for fault in given.faults] == ["bad"]
    assert on_disk() == (["a.py", "a.py"], ["done"])


def test_what_a_full_spool_has_no_room_for_is_stored_though_a_step_had_a_fault(home: Path) -> None:
    (home / "spool").mkdir(parents=True, mode=0o700)
    (home / "spool" / "events.jsonl").write_bytes(b"x" * (log.MAX_SPOOL_BYTES + 1))
    given = context()
    given.faults.append({"step": "archive", "code": "ValueError", "message": "no"})
    given.note([new_event("a.b", now=NOW_MS)])
    given.close()
    db = sqlite.open_reading()
    assert db is not None and history.event_counts(db, 0) == {"a.b": 1}
    assert not log.has_spooled()


def test_a_damaged_state_is_set_aside_and_told(home: Path) -> None:
    run(context(), [Noted(False)])
    (home / "sessions" / "s1.json").write_text("{")
    given = context()
    run(given, [Noted(False)])
    assert (given.is_new, on_disk()) == (True, (["a.py"], []))
    (noted,) = (home / "spool" / "events.jsonl").read_text().splitlines()
    assert json.loads(noted)["action"] == "session.state.set_aside"
    assert Path(given.set_aside).read_text() == "{"
    assert steps._blank(given)["role"] == "interactive"
