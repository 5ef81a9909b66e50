"""How far an export gets: batches that are refused are halved, events refused alone are passed over, faults wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import pytest
from conftest import NOW_MS
from otel.otlp.sender import FAILED, REFUSED, TAKEN, Outcome

from core import config
from core.errors import Failure
from core.process import background_jobs
from core.store import export_cursor, migrations
from otel import export, log
from otel.event import new_event
from otel.otlp import destination, transfer
from otel.otlp.destination import Delivered, Destination

LOGS = Destination("logs", "http://h/v1/logs", "http://h/v1/logs")
TRACES = Destination("traces", "http://h/v1/traces", "http://h/v1/traces")
METRICS = Destination("metrics", "http://h/v1/metrics", "http://h/v1/metrics")
Answer = Callable[[list[str]], Outcome]


@pytest.fixture
def db(monkeypatch: pytest.MonkeyPatch, home: Any) -> apsw.Connection:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    monkeypatch.setattr(transfer, "backoff_s", lambda failures, asked_s: max(asked_s, 10.0 * failures))
    monkeypatch.setattr(transfer, "batch_size", lambda signal: 4)
    made = apsw.Connection(":memory:")
    for step in migrations.STEPS:
        made.execute(step)
    return made


def store(db: apsw.Connection, *actions: str) -> None:
    log.append(db, [new_event(action, id=action, now=NOW_MS) for action in actions], debug_limit=9)


class Sent:
    """A sender in whose place `answer` says what becomes of a batch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
        self.batches: list[list[str]] = []
        self.answer = answer
        monkeypatch.setattr(transfer._Transfer, "_send", lambda _, batch: self.take(batch))

    def take(self, batch: Any) -> Outcome:
        names = [one.log_record.event_name for one in batch] if isinstance(batch, list) else ["metrics"]
        self.batches.append(names)
        return self.answer(names)


def exported(db: apsw.Connection, *places: Destination, due_only: bool = False, now: int = NOW_MS) -> list[Delivered]:
    return transfer.run(db, places or (LOGS,), now=lambda: now, due_only=due_only)


def cursor(db: apsw.Connection, place: Destination = LOGS) -> export_cursor.Cursor:
    found = export_cursor.read(db, place.key)
    assert found is not None
    return found


def test_what_waits_is_sent_once_in_batches(db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Sent(monkeypatch, lambda _: Outcome(TAKEN, status=200))
    assert exported(db) == [Delivered("logs", LOGS.shown)]
    store(db, *"abcdef")
    assert exported(db) == [Delivered("logs", LOGS.shown, sent=6)]
    assert sent.batches == [["a", "b", "c", "d"], ["e", "f"]]
    assert exported(db) == [Delivered("logs", LOGS.shown)] and len(sent.batches) == 2
    assert cursor(db) == export_cursor.Cursor(LOGS.key, "logs", LOGS.shown, 6, 6, exported_at=NOW_MS)


def test_what_a_receiver_dropped_is_counted(db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    Sent(monkeypatch, lambda _: Outcome(TAKEN, 2, "late", 200))
    store(db, *"abc")
    assert exported(db) == [Delivered("logs", LOGS.shown, 1, 2, warning="late")]
    assert (cursor(db).exported, cursor(db).rejected, cursor(db).error) == (1, 2, "rejected 2: late")
    store(db, "d")
    assert exported(db) == [Delivered("logs", LOGS.shown, 0, 2, warning="late")], "no more than there were"
    assert (cursor(db).exported, cursor(db).rejected) == (1, 4)


def test_a_batch_that_is_refused_is_halved_and_what_is_refused_alone_passed_over(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = Sent(monkeypatch, lambda names: Outcome(REFUSED if "b" in names else TAKEN, message="bad", status=400))
    store(db, *"abcdefgh")
    assert exported(db) == [Delivered("logs", LOGS.shown, 7, 1, warning="bad")]
    assert ["".join(names) for names in sent.batches] == ["abcd", "ab", "a", "bc", "b", "c", "de", "fgh"]
    assert (cursor(db).reached, cursor(db).error, cursor(db).failures) == (8, "", 0)


@pytest.mark.parametrize(("refused", "passed"), [("abcde", 5), ("abcdef", 0)])
def test_five_that_are_refused_alone_are_passed_over_and_no_more(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch, refused: str, passed: int
) -> None:
    Sent(monkeypatch, lambda names: Outcome(REFUSED if set(names) & set(refused) else TAKEN, message="bad", status=400))
    store(db, *"abcdefgh")
    [done] = exported(db)
    assert (done.rejected, done.sent, done.error) == (passed, 3 if passed else 0, "" if passed else "bad")
    assert (done.waiting, done.status) == ((0, 0) if passed else (8, 400))


def test_what_is_refused_last_is_a_fault_until_another_is_taken(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    Sent(monkeypatch, lambda names: Outcome(REFUSED if "c" in names else TAKEN, message="bad", status=413))
    store(db, *"abc")
    [done] = exported(db)
    assert done == Delivered("logs", LOGS.shown, 2, 0, 1, "bad", "bad", 413, NOW_MS + 10_000)
    store(db, "d")
    assert exported(db)[0].rejected == 1 and cursor(db).reached == 4


def test_a_fault_is_tried_again_when_it_is_due(db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Sent(monkeypatch, lambda _: Outcome(FAILED, message="down", status=503, wait_s=12.5))
    store(db, *"ab")
    assert exported(db) == [Delivered("logs", LOGS.shown, 0, 0, 2, "down", "", 503, NOW_MS + 12_500)]
    assert exported(db, due_only=True, now=NOW_MS + 12_499) == [] and len(sent.batches) == 1
    [again] = exported(db, due_only=True, now=NOW_MS + 12_500)
    assert again.again_at == NOW_MS + 12_500 + 20_000
    found = cursor(db)
    assert (found.failures, found.error, found.failed_at, found.reached) == (2, "down", NOW_MS + 12_500, 0)
    sent.answer = lambda _: Outcome(TAKEN, status=200)
    [done] = exported(db)
    assert (done.sent, done.again_at) == (2, 0)
    found = cursor(db)
    assert (found.failures, found.error, found.next_try_at, found.failed_at) == (0, "", 0, NOW_MS + 12_500)


def test_events_that_are_no_spans_are_passed_without_a_request(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = Sent(monkeypatch, lambda _: Outcome(TAKEN, status=200))
    store(db, *"ab")
    assert exported(db, TRACES) == [Delivered("traces", TRACES.shown)] and sent.batches == []
    assert (cursor(db, TRACES).reached, cursor(db, TRACES).exported_at) == (2, None)


def test_who_waits_is_who_lacks_the_newest_event(db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    Sent(monkeypatch, lambda _: Outcome(TAKEN, status=200))
    assert not destination.any_waiting(db, [LOGS])
    store(db, "a")
    assert destination.any_waiting(db, [LOGS]) and not destination.any_waiting(db, [])
    exported(db)
    assert not destination.any_waiting(db, [LOGS]) and destination.any_waiting(db, [LOGS, TRACES])


@pytest.mark.parametrize(("again_in", "postponed"), [(60_000, False), (60_001, True), (0, False)])
def test_the_background_waits_where_a_receiver_asks_for_more_than_its_turn(
    monkeypatch: pytest.MonkeyPatch, again_in: int, postponed: bool
) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    until: list[int] = []
    rows = [Delivered("logs", "h", again_at=NOW_MS + again_in), Delivered("traces", "h", again_at=1)]
    monkeypatch.setattr(export, "_send_unlocked", lambda *_, due_only: rows if due_only else [])
    monkeypatch.setattr(background_jobs, "postpone_export", until.append)
    export.run_in_background(config.Config({"otel.export_seconds": 60}))
    assert until == ([NOW_MS + again_in] if postponed else [])
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    export.run_in_background(config.Config({"otel.export_seconds": 0}))
    assert len(until) == postponed


def test_an_export_that_follows_tells_what_came_and_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS))
    at = "2026-09-21T14:13:20.000Z"
    took, nothing = Delivered("logs", "h", sent=2), Delivered("traces", "h")
    failed = Delivered("logs", "h", waiting=1, error="down", again_at=NOW_MS + 30_000)
    late = Delivered("logs", "h", waiting=1, error="down", again_at=NOW_MS + 90_000)
    dropped = Delivered("logs", "h", rejected=1)
    rounds: list[Any] = [
        [took, nothing],
        [failed, nothing],
        [late],
        Failure("STORE_BUSY", "no", "wait"),
        [dropped],
        [nothing],
    ]
    slept: list[float] = []

    def send(*_: Any) -> Any:
        one = rounds.pop(0)
        if isinstance(one, Failure):
            raise one
        return one

    monkeypatch.setattr(export, "_destinations", lambda: [LOGS, TRACES])
    monkeypatch.setattr(export, "_send", send)
    monkeypatch.setattr(export.time, "sleep", slept.append)
    told = list(export.follow(config.Config({}), lambda: not rounds))
    ends = [{"signal": "logs", "endpoint": LOGS.shown}, {"signal": "traces", "endpoint": TRACES.shown}]
    assert told == [
        {"following": True, "destinations": ends}, {"ts": at, **took.shown()}, {"ts": at, **failed.shown()},
        {"ts": at, **late.shown()}, {"ts": at, "error": "no", "code": "STORE_BUSY"}, {"ts": at, **dropped.shown()},
    ]  # fmt: skip
    assert slept == [1.0, 30.0, 60.0, 4.0, 1.0, 1.0]
    monkeypatch.setattr(export, "_destinations", list)
    with pytest.raises(Failure, match="switch it off"):
        next(export.follow(config.Config({}), lambda: True))
    assert export.run(config.Config({})) is None


def test_an_export_fails_where_one_destination_does(monkeypatch: pytest.MonkeyPatch) -> None:
    done = [Delivered("logs", "h", sent=1), Delivered("traces", "h")]
    monkeypatch.setattr(export, "_destinations", lambda: [LOGS])
    monkeypatch.setattr(export, "_send", lambda *_: done)
    assert export.run(config.Config({})) == done
    done[1] = Delivered("traces", "h", error="down")
    with pytest.raises(Failure, match="traces to h: down"):
        export.run(config.Config({}))


def test_where_nothing_waits_nothing_is_opened_to_be_written(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(export.sqlite, "open_reading", lambda: opened.append("r") or db)  # type: ignore[func-returns-value]
    monkeypatch.setattr(export.sqlite, "open_writing", lambda **_: opened.append("w") or db)  # type: ignore[func-returns-value]
    monkeypatch.setattr(transfer, "run", lambda *_, **more: [Delivered("logs", str(more["due_only"]))])
    idle = [Delivered("logs", LOGS.shown), Delivered("traces", TRACES.shown)]
    assert export._send_unlocked(config.Config({}), [LOGS, TRACES]) == idle and opened == ["r"]
    store(db, "a")
    assert export._send_unlocked(config.Config({}), [LOGS]) == [Delivered("logs", "False")]
    assert opened == ["r", "r", "w"]
    monkeypatch.setattr(export.sqlite, "open_reading", lambda: None)
    assert export._send_unlocked(config.Config({}), [LOGS], due_only=True) == idle[:1]
