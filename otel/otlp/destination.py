"""Where events go, and how far they are: read without opentelemetry-sdk, so that `status` stays cheap.

A destination is a signal and its endpoint in the standard `OTEL_*` variables, as
https://opentelemetry.io/docs/specs/otel/protocol/exporter/ resolves it. What else the exporters read
(headers, time limit, compression, certificates) is read by opentelemetry-sdk itself.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import apsw

from core import clock, ids
from core.config import Config
from core.errors import Failure, usage
from core.store import export_cursor

SIGNALS = ("logs", "traces")
DEFAULT = "http://localhost:4318"
CODE = "OTEL_EXPORT_CONFIG"
_BASE = "OTEL_EXPORTER_OTLP"


@dataclass(frozen=True)
class Destination:
    """One endpoint of one signal."""

    signal: str
    url: str
    shown: str

    @property
    def key(self) -> str:
        """What its cursor is found by."""
        return ids.fingerprint(f"{self.signal}\n{self.url}")


@dataclass(frozen=True)
class Delivered:
    """One destination's share."""

    signal: str
    endpoint: str
    sent: int = 0
    rejected: int = 0
    waiting: int = 0
    error: str = ""
    warning: str = ""
    status: int = 0
    again_at: int = 0

    def shown(self) -> dict[str, Any]:
        """As `otel export` shows it: without what only decides when to try again, or is empty."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("status", "again_at") and (value or name not in ("error", "warning"))
        }


def disabled() -> bool:
    """Whether `OTEL_SDK_DISABLED` is true: then nothing is sent."""
    return _set("OTEL_SDK_DISABLED").lower() == "true"


def every() -> list[Destination]:
    """The destinations of the environment; signals whose exporter is `none` are left out."""
    found = []
    for signal in SIGNALS:
        name = f"OTEL_{signal.upper()}_EXPORTER"
        exporter = _set(name).lower() or "otlp"
        if exporter not in ("otlp", "none"):
            raise usage(CODE, f"{name} is {exporter!r}; joelclaw sends OTLP only", f"set {name} to otlp or none")
        if exporter == "otlp":
            _check_protocol(signal)
            found.append(_destination(signal))
    return found


def status(db: apsw.Connection | None, config: Config) -> dict[str, Any]:
    """Where events would go now and how far they are; endpoints of other times too, while they have a cursor.

    Never raises for wrong variables: `problem` holds what is wrong with them.
    """
    about: dict[str, Any] = {"mode": config.get_str("otel.export"), "disabled": disabled(), "destinations": []}
    current: list[Destination] = []
    try:
        current = every()
    except Failure as failure:
        about["problem"] = {"code": failure.code, "message": failure.message, "fix": failure.fix}
    known = export_cursor.every(db) if db is not None else ()
    cursors = {cursor.destination: cursor for cursor in known if cursor.signal in SIGNALS}
    for place in current:
        cursor = cursors.pop(place.key, None) or export_cursor.Cursor(place.key, place.signal, place.shown)
        about["destinations"].append({**_cursor_row(db, cursor), "current": True})
    about["destinations"] += [{**_cursor_row(db, cursor), "current": False} for cursor in cursors.values()]
    return about


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


def _cursor_row(db: apsw.Connection | None, cursor: export_cursor.Cursor) -> dict[str, Any]:
    return {
        "signal": cursor.signal,
        "endpoint": cursor.endpoint,
        "waiting": export_cursor.waiting(db, cursor.reached) if db is not None else 0,
        "exported": cursor.exported,
        "rejected": cursor.rejected,
        "lastExportAt": _iso(cursor.exported_at),
        "failures": cursor.failures,
        "lastError": cursor.error or None,
        "lastFailureAt": _iso(cursor.failed_at),
        "nextTryAt": _iso(cursor.next_try_at or None) if cursor.failures else None,
    }


def _iso(moment: int | None) -> str | None:
    return None if moment is None else clock.iso(moment)


def _destination(signal: str) -> Destination:
    name = f"{_BASE}_{signal.upper()}_ENDPOINT"
    url = _set(name)
    if not url:
        name = f"{_BASE}_ENDPOINT"
        url = (_set(name) or DEFAULT).removesuffix("/") + f"/v1/{signal}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or parts.scheme not in ("http", "https"):
        raise usage(CODE, f"{name} is no http URL", f"set {name} to a URL such as {DEFAULT}")
    host = f"[{host}]" if ":" in host else host
    return Destination(signal, url, f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}")


def _check_protocol(signal: str) -> None:
    name = f"{_BASE}_{signal.upper()}_PROTOCOL"
    name = name if _set(name) else f"{_BASE}_PROTOCOL"
    protocol = _set(name).lower()
    if protocol not in ("", "http/protobuf"):
        raise usage(
            CODE,
            f"{name} is {protocol!r}; joelclaw speaks http/protobuf only",
            f"unset {name} or set it to http/protobuf, and name the collector's HTTP port (4318; 4317 is gRPC)",
        )


def _set(name: str) -> str:
    return os.environ.get(name, "").strip()
