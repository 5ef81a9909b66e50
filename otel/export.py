"""Running the export of events: once, on and on, or in the background of other commands.

opentelemetry-sdk is loaded only where events wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from core import clock, files
from core.config import Config
from core.errors import Failure
from core.process import background_jobs
from core.store import events as stored
from core.store import export_cursor, sqlite
from otel import log
from otel.otlp import destination
from otel.otlp.destination import Delivered, Destination

FAILED = "OTEL_EXPORT_FAILED"
_LOCK_WAIT_S = 10.0
_POLL_S = 1.0
_LONGEST_PAUSE_S = 60.0


def run(config: Config) -> list[Delivered] | None:
    """Send what waits, and tell what came of it for each destination; None where the export is switched off."""
    places = destination.every()
    if destination.disabled() or not places:
        return None
    done = _send(config, places)
    if any(one.error for one in done):
        raise _failure(done)
    return done


def run_in_background(config: Config) -> None:
    """Send what is due for a process that `core.process.background_jobs` started: it holds the lock already.

    What fails is left to the next attempt; `otel export --status` names it.
    """
    if destination.disabled():
        return
    try:
        done = _send_unlocked(config, destination.every(), due_only=True)
    except Failure:
        return
    again_at = max((one.again_at for one in done), default=0)
    if again_at > clock.now_ms() + config.get_int("otel.export_seconds") * 1000:
        background_jobs.postpone(background_jobs.EXPORT, again_at)


def follow(config: Config, is_over: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """Send, wait, and so on; a row at the start, and one for each batch of news."""
    places = destination.every()
    if destination.disabled() or not places:
        raise Failure("OTEL_EXPORT_OFF", "OTEL_SDK_DISABLED or the exporters `none` switch it off", "unset them")
    pause_s = _POLL_S
    yield {"following": True, "destinations": [{"signal": one.signal, "endpoint": one.shown} for one in places]}
    while not is_over():
        failed = False
        again_at = 0
        try:
            for one in _send(config, places):
                if one.sent or one.rejected or one.error:
                    yield {"ts": clock.iso(clock.now_ms()), **one.shown()}
                failed |= bool(one.error)
                again_at = max(again_at, one.again_at)
        except Failure as failure:
            failed = True
            yield {"ts": clock.iso(clock.now_ms()), "error": failure.message, "code": failure.code}
        asked_s = (again_at - clock.now_ms()) / 1000
        time.sleep(min(_LONGEST_PAUSE_S, max(pause_s, asked_s)) if failed else _POLL_S)
        pause_s = pause_s * 2 if failed else _POLL_S


def _send(config: Config, places: Sequence[Destination]) -> list[Delivered]:
    try:
        with files.FileLock(background_jobs.export_lock(), wait_s=_LOCK_WAIT_S):
            return _send_unlocked(config, places)
    except files.LockTimeout:
        raise Failure(
            "OTEL_EXPORT_BUSY",
            "another process is exporting",
            "wait for it, or look at `joelclaw otel export --status`",
        ) from None


def _send_unlocked(config: Config, places: Sequence[Destination], *, due_only: bool = False) -> list[Delivered]:
    log.store_waiting()
    db = sqlite.open_reading()
    last = stored.last_seq(db) if db is not None else 0
    reached = {one.destination: one.reached for one in export_cursor.every(db)} if db is not None and last else {}
    if all(reached.get(place.key, 0) >= last for place in places):
        return [Delivered(place.signal, place.shown) for place in places]
    db = sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=False)
    from otel.otlp import transfer

    try:
        return transfer.run(db, places, now=clock.now_ms, due_only=due_only)
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        db.close()


def _failure(done: Sequence[Delivered]) -> Failure:
    failed = [one for one in done if one.error]
    parts = [f"{one.signal} to {one.endpoint}: {one.error} ({one.waiting} events wait)" for one in failed]
    sent = ", ".join(f"{one.signal} {one.sent}" for one in done if one.sent)
    if sent:
        parts.append(f"taken: {sent}")
    advice = {
        0: "start a collector there, or set OTEL_EXPORTER_OTLP_ENDPOINT",
        401: "check OTEL_EXPORTER_OTLP_HEADERS",
        403: "check OTEL_EXPORTER_OTLP_HEADERS",
        404: "check the path in OTEL_EXPORTER_OTLP_ENDPOINT: /v1/logs and its like are added to it",
    }.get(failed[0].status, "look at the collector's log")
    return Failure(FAILED, "; ".join(parts), f"what waits is sent by the next export; {advice}")
