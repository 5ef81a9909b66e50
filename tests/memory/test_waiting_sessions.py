"""Sessions that wait to be observed: which is taken, what is no session, and what an observation counts."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core import files
from core.config import Config
from core.errors import Failure
from memory.observe.observer import Report
from session.observation import run, waiting


@pytest.fixture
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    path = home / "sessions" / ".work" / "observe-waiting"
    path.mkdir(parents=True)
    return path


def waits(folder: Path, name: str, text: str, at: int) -> Path:
    path = folder / name
    path.write_text(text)
    os.utime(path, (at, at))
    return path


def test_the_one_that_has_waited_longest_is_taken_and_waits_no_longer(folder: Path) -> None:
    later, first = (
        waits(folder, "b", "b\ncompaction\npi\n", 20),
        waits(folder, "c", "c d\nsession-end\nx\n/t\nmore", 10),
    )
    waits(folder, "a", "", 5)
    assert waiting._paths() == [str(first), str(later)], "an empty one is only being written"
    found = waiting.take()
    assert found is not None
    assert (found.name, found.trigger, found.agent, found.transcript) == ("c d", "session-end", "x", "/t\nmore")
    assert not first.exists()
    found.done()
    waits(folder, "z", "no\nsession\nat all", 1)
    found = waiting.take()
    assert found is not None and (found.name, found.transcript) == ("b", "")
    assert not (folder / "z").exists(), "what is no session is dropped"
    assert (waiting.take(), waiting.any_wait()) == (None, False)
    found.done()


def test_one_that_is_observed_is_left_until_it_is_free(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_LOOK_S", 0)
    path = waits(folder, "a", "a\ncompaction\npi\n", 1)
    assert waiting.any_wait()
    lock = files.FileLock(waiting._lock_beside(str(path)), 0)
    with lock:
        assert (waiting.take(), waiting.any_wait(), path.exists()) == (None, False, True)
    assert waiting.any_wait()
    waiting.clear()
    assert not path.exists()
    waiting.clear()


@pytest.mark.parametrize(
    ("line", "auto", "on"), [("model", True, True), ("model", False, False), (" ", True, False), ("", False, False)]
)
def test_sessions_are_observed_where_there_is_a_model_and_it_is_not_switched_off(
    line: str, auto: bool, on: bool
) -> None:
    settings = Config({"model.command": line, "observe.auto": auto, "observe.seconds": 100})
    assert waiting.is_on(settings) is on
    assert waiting.seconds(settings) == 160


def test_a_session_is_added_once_and_a_job_begins_unless_it_is_observed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Any] = []
    monkeypatch.setattr(waiting.background_process, "begin_one", lambda *asked: begun.append(asked))
    settings = Config({"observe.seconds": 1})
    for trigger in ("compaction", "session-end"):
        waiting.add(settings, "a  b", trigger, agent="pi", transcript="")  # type: ignore[arg-type]
    (path,) = folder.iterdir()
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("a b\nsession-end\npi\n", 0o600)
    cache = folder.parents[2] / "cache"
    places = [str(cache / f"observe-{number}.lock") for number in (1, 2)]
    assert begun == [(places, ["background", "observe"], 61)] * 2
    monkeypatch.setattr(waiting.background_process, "wait", lambda *_: False)
    waiting.add(settings, "a b", "compaction", agent="pi", transcript="t.jsonl")
    assert len(begun) == 2
    assert path.read_text() == f"a b\ncompaction\npi\n{os.path.abspath('t.jsonl')}"


def stored(kind: str, verdict: str, *, merged: bool = False) -> Any:
    return SimpleNamespace(type=kind, verdict=verdict, merged=merged)


def observed(
    report: Report, monkeypatch: pytest.MonkeyPatch, fault: BaseException | None = None
) -> tuple[Any, list[dict[str, Any]]]:
    """What an observation of such a report returns, and the events of it."""
    events: list[dict[str, Any]] = []

    def ran(*_: Any) -> dict[str, Any]:
        if fault is not None:
            raise fault
        return {"badLines": 0}

    monkeypatch.setenv("JOELCLAW_NOW_MS", "1790000000000")
    monkeypatch.setattr(run.observer, "Report", lambda: report)
    monkeypatch.setattr(run, "_run", ran)
    monkeypatch.setattr(run.log, "try_append", lambda _, found, __: events.extend(found))
    return run._observe(Config({}), None, "s", None, "command"), events  # type: ignore[arg-type]


def test_what_was_observed_is_counted_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report(
        [{"from": 1}], 3, 40, [stored("fact", "allow", merged=True), stored("fact", "hold")], 1, 5, 60, "tokens"
    )
    result, (event,) = observed(report, monkeypatch)
    counts = {
        "turns": 3, "passedTurns": 1, "tokens": 40, "rangeCount": 1,
        "observations": {
            "count": 2, "added": 1, "merged": 1, "byType": {"fact": 2}, "byVerdict": {"allow": 1, "hold": 1},
        },
        "left": {"turns": 5, "tokens": 60, "reason": "tokens"},
    }  # fmt: skip
    assert result == {"session": "s", "unchanged": False, **counts, "ranges": [{"from": 1}], "badLines": 0}
    assert (event["action"], event["level"], event["success"]) == ("memory.observe.completed", "info", True)
    assert event["metadata"] == {"trigger": "command", **counts}
    assert event["duration_ms"] >= 0


@pytest.mark.parametrize(
    ("report", "unchanged"),
    [(Report(), True), (Report(turns=1), False), (Report(passed_turns=1), False), (Report(left_turns=1), False)],
)
def test_a_session_without_anything_new_is_unchanged_and_that_is_told_quietly(
    report: Report, unchanged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, (event,) = observed(report, monkeypatch)
    assert result["unchanged"] is unchanged
    assert (event["action"].rpartition(".")[2], event["level"]) == (
        ("unchanged", "debug") if unchanged else ("completed", "info")
    )


@pytest.mark.parametrize(
    ("ranges", "message"),
    [(0, "no"), (1, "no (1 range of turns before it stored)"), (2, "no (2 ranges of turns before it stored)")],
)
def test_an_observation_that_fails_says_what_was_stored_before(
    ranges: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Failure) as failed:
        observed(Report([{}] * ranges), monkeypatch, Failure("MODEL_FAILED", "no", "f"))
    assert failed.value.message == message


def test_an_event_of_a_start_has_no_duration_and_one_of_a_fault_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", "1790000000000")
    events: list[dict[str, Any]] = []
    monkeypatch.setattr(run.log, "try_append", lambda _, found, __: events.extend(found))
    record = run._event_recorder(Config({}), "s", "compaction")
    record("memory.observe.started", {"turns": 1}, "")
    record("memory.observe.failed", {}, "MODEL_FAILED: no")
    started, failed = events
    assert started.get("duration_ms") is None and started["metadata"] == {"trigger": "compaction", "turns": 1}
    assert (started["level"], started["success"], failed["level"], failed["success"], failed["error"]) == (
        "info", True, "error", False, "MODEL_FAILED: no",
    )  # fmt: skip
    assert failed["duration_ms"] is not None
