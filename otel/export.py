"""Running the export of events: once, on and on, or in the background of other commands.

opentelemetry-sdk is loaded only where events wait.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from core import clock, files
from core.errors import Failure
from core.process import background_jobs
from core.store import sqlite
from otel.otlp import destination
from otel.otlp.destination import Delivered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from core.config import Config
    from otel.otlp.destination import Destination

FAILED = "OTEL_EXPORT_FAILED"
_LOCK_WAIT_S = 10.0
_POLL_S = 1.0
_LONGEST_PAUSE_S = 60.0


def run(config: Config) -> list[Delivered] | None:
    """Send what waits, and tell what came of it for each destination; None where the export is switched off.

    Raises:
        Failure: OTEL_EXPORT_FAILED where a destination did not take everything; OTEL_EXPORT_CONFIG; OTEL_EXPORT_BUSY
            while another process sends; the store's own code.
    """
    places = _destinations()
    if not places:
        return None
    done = _send(config, places)
    failed = [one for one in done if one.error]
    if failed:
        raise _failure(failed, done)
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
    if again_at > clock.now_ms() + config.whole("otel.export_seconds") * 1000:
        background_jobs.postpone_export(again_at)


def follow(config: Config, is_over: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """Send, wait, and so on; a row at the start, and one for each batch of news.

    Args:
        is_over: asked before each round; an interrupt that is raised in a finalizer of the SDK is swallowed there.

    Raises:
        Failure: OTEL_EXPORT_OFF, OTEL_EXPORT_CONFIG. What fails later is a row.
    """
    places = _destinations()
    if not places:
        raise Failure("OTEL_EXPORT_OFF", "OTEL_SDK_DISABLED or the exporters `none` switch it off", "unset them")
    failures = 0
    yield {"following": True, "destinations": [{"signal": one.signal, "endpoint": one.shown} for one in places]}
    while not is_over():
        try:
            done = _send(config, places)
        except Failure as failure:
            failures += 1
            yield {"ts": clock.iso(clock.now_ms()), "error": failure.message, "code": failure.code}
            time.sleep(_pause_s(failures))
            continue
        for one in done:
            if one.sent or one.rejected or one.error:
                yield {"ts": clock.iso(clock.now_ms()), **one.shown()}
        failed = [one for one in done if one.error]
        failures = failures + 1 if failed else 0
        asked_s = max((one.again_at - clock.now_ms() for one in failed), default=0) / 1000
        time.sleep(max(_pause_s(failures), min(asked_s, _LONGEST_PAUSE_S)) if failed else _POLL_S)


def _destinations() -> list[Destination]:
    places = destination.every()
    return [] if destination.disabled() else places


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
    db = sqlite.open_reading()
    if db is None or not destination.any_waiting(db, places):
        return [Delivered(place.signal, place.shown) for place in places]
    db.close()
    db = sqlite.open_writing(busy_ms=config.whole("store.busy_ms"), durable=False)
    from otel.otlp import transfer

    try:
        return transfer.run(db, places, now=clock.now_ms, due_only=due_only)
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        db.close()


def _pause_s(failures: int) -> float:
    return float(min(_LONGEST_PAUSE_S, 2.0 ** min(failures - 1, 6)))


def _failure(failed: Sequence[Delivered], done: Sequence[Delivered]) -> Failure:
    parts = [f"{one.signal} to {one.endpoint}: {one.error} ({one.waiting} events wait)" for one in failed]
    sent = ", ".join(f"{one.signal} {one.sent}" for one in done if one.sent)
    if sent:
        parts.append(f"taken: {sent}")
    status = failed[0].status
    fix = "what waits is sent by the next export; "
    if status in (401, 403):
        fix += "check OTEL_EXPORTER_OTLP_HEADERS"
    elif status in (404, 405):
        fix += "check the path in OTEL_EXPORTER_OTLP_ENDPOINT: /v1/logs and its like are added to it"
    elif status:
        fix += "look at the collector's log"
    else:
        fix += "start a collector there, or set OTEL_EXPORTER_OTLP_ENDPOINT"
    return Failure(FAILED, "; ".join(parts), fix)
