"""`otel export`: where events go, how far each destination is, and sending what waits.

A destination is a signal and its endpoint in the standard `OTEL_*` variables. The SDK reads the other variables
(headers, timeout, certificates). It is imported only if something waits.
"""

import os
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import apsw

from core import background, clock, files, words
from core.config import Config
from core.errors import Failure, usage
from core.store import events, sqlite
from otel import log

if TYPE_CHECKING:
    from otel.otlp import Sender

DEFAULT_ENDPOINT = "http://localhost:4318"  # of the specification


class Cursor(NamedTuple):
    """How far events were exported to a destination. Times in ms since the epoch."""

    destination: str
    """A hash of its signal and URL."""
    signal: str
    endpoint: str
    """Its URL without password and query."""
    reached: int = 0
    """Number of the last event that need not be sent again, 0 at the start."""
    exported: int = 0
    rejected: int = 0
    totals: str = ""
    exported_at: int | None = None
    failures: int = 0
    """Failed attempts since the last success."""
    error: str = ""
    failed_at: int | None = None
    next_try_at: int = 0  # unused, like `totals`


def run(config: Config) -> list[dict[str, Any]] | None:
    """Send what waits; returns counts for each destination, or None if exporting is disabled.

    Raises Failure: OTEL_EXPORT_FAILED, OTEL_EXPORT_BUSY, OTEL_EXPORT_CONFIG.
    """
    current = destinations()
    if is_disabled() or not current:
        return None
    try:
        with files.FileLock(background.export_lock(), wait_s=10.0):
            done = _send(config, current)
    except files.LockTimeout:
        fix = "wait for it, or look at `joelclaw otel export --status`"
        raise Failure("OTEL_EXPORT_BUSY", "another process is exporting", fix) from None
    errors = [
        f"{place['signal']} to {place['endpoint']}: {place['error']} ({place['waiting']} events wait)"
        for place in done
        if "error" in place
    ]
    if errors:
        fix = "check OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS and the collector; the next export sends what waits"
        raise Failure("OTEL_EXPORT_FAILED", "; ".join(errors), fix)
    return done


def run_in_background(config: Config) -> None:
    """Send what waits, in a background process that holds the lock. Faults stay in the cursors."""
    if not is_disabled():
        with suppress(Failure, sqlite.StoreError):
            _send(config, destinations())


def is_disabled() -> bool:
    """Whether `OTEL_SDK_DISABLED` is true."""
    return _variable("OTEL_SDK_DISABLED").lower() == "true"


def destinations() -> list[tuple[str, Cursor]]:
    """The URL of each destination of the environment, and its cursor before any export. Raises OTEL_EXPORT_CONFIG."""
    places = []
    for signal in ("logs", "traces", "metrics"):
        name = f"OTEL_{signal.upper()}_EXPORTER"
        exporter = _variable(name).lower() or "otlp"
        if exporter == "otlp":
            places.append(_destination(signal))
        elif exporter != "none":
            message = f"{name} is {exporter!r}; joelclaw only sends OTLP"
            raise usage("OTEL_EXPORT_CONFIG", message, f"set {name} to otlp or none")
    return places


def status(db: apsw.Connection | None, config: Config) -> dict[str, Any]:
    """The destinations and how far each is; `problem` describes a wrong variable."""
    result: dict[str, Any] = {"mode": config.get_str("otel.export"), "disabled": is_disabled(), "destinations": []}
    try:
        result["destinations"] = [_cursor_row(db, _stored(db, start)) for _, start in destinations()]
    except Failure as failure:
        result["problem"] = {"code": failure.code, "message": failure.message, "fix": failure.fix}
    return result


def problems(status: dict[str, Any]) -> list[dict[str, str]]:
    """Code, message and fix of what keeps the background from exporting, given the result of `status`."""
    if status["mode"] != "auto" or status["disabled"]:
        return []
    problems = [status["problem"]] if "problem" in status else []
    return problems + [
        {
            "code": "OTEL_EXPORT_FAILING",
            "message": f"{place['signal']} to {place['endpoint']}: {place['lastError']}",
            "fix": f"run `joelclaw otel export` to try again now; {place['waiting']} events wait",
        }
        for place in status["destinations"]
        if place["failures"]
    ]


def _send(config: Config, places: Sequence[tuple[str, Cursor]]) -> list[dict[str, Any]]:
    log.store_spooled()
    db = sqlite.open_reading()
    last = events.last_seq(db) if db is not None else 0
    cursors = [(url, _stored(db, start)) for url, start in places]
    if all(cursor.reached >= last for _, cursor in cursors):
        nothing = {"sent": 0, "rejected": 0, "waiting": 0}
        return [{"signal": cursor.signal, "endpoint": cursor.endpoint, **nothing} for _, cursor in cursors]
    from otel import otlp

    with closing(sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=False)) as db:
        return [_send_to(db, cursor, otlp.Sender(cursor.signal, url)) for url, cursor in cursors]


def _send_to(db: apsw.Connection, cursor: Cursor, sender: "Sender") -> dict[str, Any]:
    """Send what waits for a destination, and store in its cursor how it went; returns what `otel export` prints.

    A refused batch is halved until the event that the receiver refuses is found. It is skipped, and ends this export:
    a receiver that refuses everything must not use up all events.
    """
    before, upto, error, now = cursor, events.last_seq(db), "", clock.now_ms()
    name = {"logs": "BLRP", "traces": "BSP"}.get(cursor.signal, "")
    wanted = _variable(f"OTEL_{name}_MAX_EXPORT_BATCH_SIZE")
    size = max(1, min(int(wanted), 10_000)) if wanted.isdecimal() else 512  # the SDK's default
    while not error:
        batch = events.stored_after(db, cursor.reached, upto=upto, most=size)
        if not batch:
            break
        last = batch[-1][0]
        count, error, is_refused = sender.send([event for _, event in batch])
        if is_refused and len(batch) > 1:
            size, error = len(batch) // 2, ""
            continue
        changes: dict[str, Any] = {}
        if is_refused:
            changes = {"reached": last, "rejected": cursor.rejected + 1}
        elif not error:
            changes = {"reached": last, "exported": cursor.exported + count, "failures": 0}
            changes |= {"error": "", "exported_at": now} if count else {}  # else none of the events is a span
        if error:
            changes |= {"failures": cursor.failures + 1, "error": error, "failed_at": now}
        cursor = cursor._replace(**changes)
        with sqlite.transaction(db):
            events.save_cursor(db, cursor._asdict())
    sender.close()
    return {
        "signal": cursor.signal,
        "endpoint": cursor.endpoint,
        "sent": cursor.exported - before.exported,
        "rejected": cursor.rejected - before.rejected,
        "waiting": events.count_after(db, cursor.reached),
        **({"error": error} if error else {}),
    }


def _destination(signal: str) -> tuple[str, Cursor]:
    name, protocol = _signal_variable(signal, "PROTOCOL")
    if protocol.lower() not in ("", "http/protobuf"):
        message = f"{name} is {protocol!r}; joelclaw only speaks http/protobuf"
        fix = f"unset {name} or set it to http/protobuf, and use the collector's HTTP port (4318; 4317 is gRPC)"
        raise usage("OTEL_EXPORT_CONFIG", message, fix)
    name, url = _signal_variable(signal, "ENDPOINT")
    if name == "OTEL_EXPORTER_OTLP_ENDPOINT":
        url = (url or DEFAULT_ENDPOINT).removesuffix("/") + f"/v1/{signal}"
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_http = False
    if not is_http:
        fix = f"set {name} to a URL such as {DEFAULT_ENDPOINT}"
        raise usage("OTEL_EXPORT_CONFIG", f"{name} is not an http URL", fix)
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return url, Cursor(words.fingerprint(f"{signal}\n{url}"), signal, shown)


def _signal_variable(signal: str, what: str) -> tuple[str, str]:
    """The name and the value of a variable for this signal or, if it is not set, for all signals."""
    own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_{what}"
    name = own if _variable(own) else f"OTEL_EXPORTER_OTLP_{what}"
    return name, _variable(name)


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()


def _stored(db: apsw.Connection | None, start: Cursor) -> Cursor:
    """The stored cursor of the destination, else `start`."""
    rows = events.cursors(db) if db is not None else []
    return next((Cursor(**row) for row in rows if row["destination"] == start.destination), start)


def _cursor_row(db: apsw.Connection | None, cursor: Cursor) -> dict[str, Any]:
    return {
        "signal": cursor.signal,
        "endpoint": cursor.endpoint,
        "waiting": events.count_after(db, cursor.reached) if db is not None else 0,
        "exported": cursor.exported,
        "failures": cursor.failures,
        "lastError": cursor.error or None,
        "rejected": cursor.rejected,
        "lastExportAt": clock.iso(cursor.exported_at) if cursor.exported_at else None,
        "lastFailureAt": clock.iso(cursor.failed_at) if cursor.failed_at else None,
    }
