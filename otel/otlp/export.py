"""Where events go, how far they are, and sending them: once, or in the background of other commands.

A destination is a signal and its endpoint in the standard `OTEL_*` variables. What else the exporters read (headers,
time limit, certificates) is read by opentelemetry-sdk itself, which is loaded only where events wait.
"""

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import apsw

from core import clock, files
from core.config import Config
from core.errors import Failure, usage
from core.process import background_jobs
from core.store import export_cursor, sqlite
from core.store import history as stored
from otel import unstored
from otel.otlp import Delivered, Destination

FAILED = "OTEL_EXPORT_FAILED"
_CONFIG = "OTEL_EXPORT_CONFIG"
_SIGNALS = ("logs", "traces")
_DEFAULT = "http://localhost:4318"
_BASE = "OTEL_EXPORTER_OTLP"
_LOCK_WAIT_S = 10.0


def _set(name: str) -> str:
    return os.environ.get(name, "").strip()


def disabled() -> bool:
    """Whether `OTEL_SDK_DISABLED` is true: then nothing is sent."""
    return _set("OTEL_SDK_DISABLED").lower() == "true"


def destinations() -> list[Destination]:
    """Those of the environment. Raises Failure: OTEL_EXPORT_CONFIG, a variable means nothing here."""
    found = []
    for signal in _SIGNALS:
        name = f"OTEL_{signal.upper()}_EXPORTER"
        exporter = _set(name).lower() or "otlp"
        if exporter not in ("otlp", "none"):
            raise usage(_CONFIG, f"{name} is {exporter!r}; joelclaw sends OTLP only", f"set {name} to otlp or none")
        if exporter == "otlp":
            found.append(_destination(signal))
    return found


def _destination(signal: str) -> Destination:
    name, protocol = _of_signal(signal, "PROTOCOL")
    if protocol.lower() not in ("", "http/protobuf"):
        raise usage(
            _CONFIG,
            f"{name} is {protocol!r}; joelclaw speaks http/protobuf only",
            f"unset {name} or set it to http/protobuf, and name the collector's HTTP port (4318; 4317 is gRPC)",
        )
    name, url = _of_signal(signal, "ENDPOINT")
    if name == f"{_BASE}_ENDPOINT":
        url = (url or _DEFAULT).removesuffix("/") + f"/v1/{signal}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or parts.scheme not in ("http", "https"):
        raise usage(_CONFIG, f"{name} is not an http URL", f"set {name} to a URL such as {_DEFAULT}")
    host = f"[{host}]" if ":" in host else host
    return Destination(signal, url, f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}")


def _of_signal(signal: str, what: str) -> tuple[str, str]:
    own = f"{_BASE}_{signal.upper()}_{what}"
    name = own if _set(own) else f"{_BASE}_{what}"
    return name, _set(name)


def status(db: apsw.Connection | None, config: Config) -> dict[str, Any]:
    """Where events go now, or went, and how far they are; `problem` is what is wrong with the variables."""
    about: dict[str, Any] = {"mode": config.get_str("otel.export"), "disabled": disabled(), "destinations": []}
    current: list[Destination] = []
    try:
        current = destinations()
    except Failure as failure:
        about["problem"] = {"code": failure.code, "message": failure.message, "fix": failure.fix}
    known = export_cursor.every(db) if db is not None else ()
    cursors = {cursor.destination: cursor for cursor in known if cursor.signal in _SIGNALS}
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
