"""How far events are on their way, and sending them: once, or in the background of other commands.

What the exporters read beside the destinations (headers, time limit, certificates) is read by opentelemetry-sdk itself,
which is loaded only where events wait.
"""

from collections.abc import Sequence
from typing import Any

import apsw

from core import clock, files
from core.config import Config
from core.errors import Failure
from core.process import background_jobs
from core.store import export_cursor, sqlite
from core.store import history as stored
from otel import unstored
from otel.otlp.destination import SIGNALS, Delivered, Destination, destinations, disabled

FAILED = "OTEL_EXPORT_FAILED"
_LOCK_WAIT_S = 10.0


def status(db: apsw.Connection | None, config: Config) -> dict[str, Any]:
    """Where events go now, or went, and how far they are; `problem` is what is wrong with the variables."""
    about: dict[str, Any] = {"mode": config.get_str("otel.export"), "disabled": disabled(), "destinations": []}
    current: list[Destination] = []
    try:
        current = destinations()
    except Failure as failure:
        about["problem"] = {"code": failure.code, "message": failure.message, "fix": failure.fix}
    known = export_cursor.every(db) if db is not None else ()
    cursors = {cursor.destination: cursor for cursor in known if cursor.signal in SIGNALS}
    for place in current:
        cursor = cursors.pop(place.key, None) or export_cursor.Cursor(place.key, place.signal, place.shown)
        about["destinations"].append({**_cursor_row(db, cursor), "current": True})
    about["destinations"] += [{**_cursor_row(db, cursor), "current": False} for cursor in cursors.values()]
    return about


def _cursor_row(db: apsw.Connection | None, cursor: export_cursor.Cursor) -> dict[str, Any]:
    def iso(moment: int | None) -> str | None:
        return clock.iso(moment) if moment else None

    return {
        "signal": cursor.signal,
        "endpoint": cursor.endpoint,
        "waiting": export_cursor.waiting(db, cursor.reached) if db is not None else 0,
        "exported": cursor.exported,
        "failures": cursor.failures,
        "lastError": cursor.error or None,
        "nextTryAt": iso(cursor.next_try_at) if cursor.failures else None,
        "rejected": cursor.rejected,
        "lastExportAt": iso(cursor.exported_at),
        "lastFailureAt": iso(cursor.failed_at),
    }


def problems(about: dict[str, Any]) -> list[dict[str, str]]:
    """Problems for `joelclaw status`: destinations of now whose last attempt failed, and wrong variables."""
    if about["mode"] != "auto" or about["disabled"]:
        return []
    found = [about["problem"]] if "problem" in about else []
    return found + [
        {
            "code": "OTEL_EXPORT_FAILING",
            "message": f"{place['signal']} to {place['endpoint']}: {place['lastError']}",
            "fix": f"{place['waiting']} events wait; `joelclaw otel export` tries now",
        }
        for place in about["destinations"]
        if place["current"] and place["failures"]
    ]


def run(config: Config) -> list[Delivered] | None:
    """Send what waits, and tell what came of it for each destination; None where the export is switched off."""
    places = destinations()
    if disabled() or not places:
        return None
    done = _send(config, places)
    parts = [
        f"{one['signal']} to {one['endpoint']}: {one['error']} ({one['waiting']} events wait)"
        for one in done
        if "error" in one
    ]
    if not parts:
        return done
    parts += [f"taken: {one['signal']} {one['sent']}" for one in done if one["sent"]]
    fix = "what waits is sent by the next export; check OTEL_EXPORTER_OTLP_ENDPOINT and _HEADERS, and the collector"
    raise Failure(FAILED, "; ".join(parts), fix)


def run_in_background(config: Config) -> None:
    """Send what is due, for a process that `background_jobs` started under its lock; the next attempt mends a fault."""
    if disabled():
        return
    try:
        _send_unlocked(config, destinations(), due_only=True)
    except (Failure, sqlite.StoreError):
        return
    db = sqlite.open_reading()
    again_at = max((one.next_try_at for one in export_cursor.every(db)), default=0) if db is not None else 0
    if again_at > clock.now_ms() + config.get_int("otel.export_seconds") * 1000:
        background_jobs.postpone(background_jobs.EXPORT, again_at)


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
    unstored.store_waiting()
    db = sqlite.open_reading()
    last = stored.last_seq(db) if db is not None else 0
    reached = {one.destination: one.reached for one in export_cursor.every(db)} if db is not None and last else {}
    if all(reached.get(place.key, 0) >= last for place in places):
        none = {"sent": 0, "rejected": 0, "waiting": 0}
        return [{"signal": place.signal, "endpoint": place.shown, **none} for place in places]
    db = sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=False)
    from otel.otlp import transfer

    try:
        return transfer.run(db, places, due_only=due_only)
    finally:
        db.close()
