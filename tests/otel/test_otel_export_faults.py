"""`otel export` against receivers that are down, slow, wrong or dying, and when it is killed: nothing skipped.

What was sent and not noted is sent again and is then the same data: equal `log.record.uid`, equal span ids.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS, Run, begin
from faults import paused, stopped
from otlp_receiver import Do, Receiver, attributes

from core.store import sqlite
from otel import log
from otel.log import new_event

Store = Callable[..., list[str]]
PATIENCE_S = 60.0
BATCH = 20
MANY = 2 * BATCH + 10


class Small(Receiver):
    """A receiver that is sent small batches."""

    @property
    def env(self) -> dict[str, str]:
        sizes = {f"OTEL_{name}_MAX_EXPORT_BATCH_SIZE": str(BATCH) for name in ("BLRP", "BSP")}
        # The SDK retries until this time is over, after waits of 1, 2, 4 … seconds.
        return {**super().env, **sizes, "OTEL_EXPORTER_OTLP_TIMEOUT": "2.5"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    started = Small().start()
    yield started
    started.stop()


@pytest.fixture
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Append many events, every fifth a hook's; returns their ids."""
    monkeypatch.setenv("JOELCLAW_HOME", str(home))

    def append(count: int, start: str = "e", size: int = 0) -> list[str]:
        events = [
            new_event(
                "hook.completed" if number % 5 == 0 else f"work.{number}",
                metadata={"agent": "pi", "event": "turn_end", **({"text": "word " * (size // 5)} if size else {})},
                duration_ms=float(number % 90),
                session="s-1",
                now=NOW_MS + number,
                id=f"{start}-{number}",
            )
            for number in range(count)
        ]
        db = sqlite.open_writing(busy_ms=5_000, durable=False)
        log.append(db, events, debug_limit=10**9)
        db.close()
        return [event["id"] for event in events]

    return append


def assert_complete(receiver: Receiver, ids: list[str]) -> None:
    """Every event came, what came twice was the same both times."""
    by_id: dict[str, bytes] = {}
    for _, item in receiver.records():
        uid = attributes(item.attributes)["log.record.uid"]
        data = item.SerializeToString(deterministic=True)
        assert by_id.setdefault(uid, data) == data
    assert list(by_id) == ids  # and in the order in which they were stored
    spans: dict[bytes, bytes] = {}
    for span in receiver.spans():
        data = span.SerializeToString(deterministic=True)
        assert spans.setdefault(span.span_id, data) == data
    assert len(spans) == len([identifier for identifier in ids if int(identifier.rpartition("-")[2]) % 5 == 0])


def test_a_receiver_that_is_down(run: Run, receiver: Receiver, store: Store) -> None:
    ids = store(3)
    receiver.stop()
    began = time.monotonic()
    failed = run("otel", "export", env=receiver.env, ok=False)
    assert failed.code == 1
    assert failed.json["error"]["code"] == "OTEL_EXPORT_FAILED"
    assert "no answer: ConnectionError: [Errno 111] Connection refused (" in failed.json["error"]["message"]
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in failed.json["fix"]
    assert "3 events wait" in failed.json["error"]["message"]
    assert failed.err == ""
    assert time.monotonic() - began < PATIENCE_S
    receiver.start()
    run("otel", "export", env=receiver.env)
    assert_complete(receiver, ids)


@pytest.mark.parametrize("status", [500, 401, 404, 301])
def test_an_export_stops_at_a_refused_batch_and_resumes_there(
    run: Run, receiver: Receiver, store: Store, status: int
) -> None:
    ids = store(MANY)
    receiver.plan = lambda path, number, _: Do(status if number == 1 else 200)
    failed = run("otel", "export", env=receiver.env, ok=False)
    assert str(status) in failed.json["error"]["message"]
    assert len(receiver.ids()) == BATCH
    run("otel", "export", env=receiver.env)
    assert_complete(receiver, ids)
    assert len(receiver.ids()) == len(ids)  # none came twice


def test_the_sdk_retries_while_the_receiver_is_busy(run: Run, receiver: Receiver, store: Store) -> None:
    ids = store(MANY)
    receiver.plan = lambda path, number, _: Do(503 if number == 1 else 200)
    run("otel", "export", env=receiver.env)
    assert_complete(receiver, ids)


@pytest.mark.parametrize("stored", [False, True])
def test_a_batch_without_an_answer_is_sent_again(run: Run, receiver: Receiver, store: Store, stored: bool) -> None:
    ids = store(MANY)
    receiver.plan = lambda path, number, _: Do(0, stored=stored) if number == 1 else Do()
    message = run("otel", "export", env=receiver.env, ok=False).json["error"]["message"]
    assert "no answer: ConnectionError: Remote end closed connection without response (" in message
    run("otel", "export", env=receiver.env)
    assert_complete(receiver, ids)
    assert len(receiver.ids()) == len(ids) + (BATCH if stored else 0)


def test_a_slow_receiver(run: Run, receiver: Receiver, store: Store) -> None:
    ids = store(3)
    receiver.plan = lambda path, number, _: Do(after_s=3.0 if number == 0 else 0.0)
    failed = run("otel", "export", env={**receiver.env, "OTEL_EXPORTER_OTLP_TIMEOUT": "0.5"}, ok=False)
    message = failed.json["error"]["message"]
    assert re.search(r"no answer: ReadTimeout: Read timed out\. \(read timeout=0\.[45]\d*\) \(3 events", message)
    run("otel", "export", env=receiver.env)
    assert_complete(receiver, ids)


def holds(body: Any, uid: str) -> bool:
    return uid.encode() in body.SerializeToString()


@pytest.mark.parametrize("status", [400, 413])
def test_one_event_that_is_refused_does_not_hold_up_the_others(
    run: Run, receiver: Receiver, store: Store, status: int
) -> None:
    ids = store(40)
    receiver.plan = lambda path, _, body: Do(status if path == "/v1/logs" and holds(body, "e-17") else 200)
    assert str(status) in run("otel", "export", env=receiver.env, ok=False).json["error"]["message"]
    logs = run("otel", "export", "--status", env=receiver.env).result["destinations"][0]
    assert (logs["rejected"], logs["waiting"]) == (1, 22)
    assert run("otel", "export", env=receiver.env).result["destinations"][0]["waiting"] == 0
    assert receiver.ids() == [identifier for identifier in ids if identifier != "e-17"]


@pytest.mark.parametrize("path", ["/v1/logs", "/v1/traces"])
@pytest.mark.parametrize("stored", [True, False])
def test_an_exporter_that_is_killed_while_it_waits_for_an_answer(
    run: Run, receiver: Receiver, store: Store, home: Path, path: str, stored: bool
) -> None:
    ids = store(MANY)
    reached, dead = threading.Event(), threading.Event()

    def plan(at: str, number: int, _: Any) -> Do:
        if at == path and number == 1:
            reached.set()
            dead.wait(PATIENCE_S)
            return Do(200 if stored else 500)
        return Do()

    receiver.plan = plan
    exporter = begin(home, "otel", "export", **receiver.env)
    assert reached.wait(PATIENCE_S)
    exporter.kill()
    exporter.communicate()
    dead.set()
    run("otel", "export", env=receiver.env)
    assert_complete(receiver, ids)


def test_an_exporter_that_is_killed_before_it_notes_what_it_sent(
    run: Run, receiver: Receiver, store: Store, home: Path
) -> None:
    ids = store(MANY)
    for commit in (1, 2, 3):  # each cursor that it would write
        stopped(paused(home, "otel", "export", commit=commit, env=receiver.env))
    run("otel", "export", env=receiver.env)
    assert_complete(receiver, ids)


def test_events_during_an_export_wait_for_the_next(run: Run, receiver: Receiver, store: Store) -> None:
    ids = store(3)
    late: list[str] = []

    def plan(path: str, number: int, _: Any) -> Do:
        if path == "/v1/logs" and not late:
            late.extend(store(2, start="late"))
        return Do()

    receiver.plan = plan
    run("otel", "export", env=receiver.env)
    assert receiver.ids() == ids
    run("otel", "export", env=receiver.env)
    assert_complete(receiver, ids + late)
