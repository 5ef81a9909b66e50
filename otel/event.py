"""Building an event: defaults, levels, redaction, bounded metadata. Hot path."""

from __future__ import annotations

import os

from core import TYPE_CHECKING, ids, json_text, words
from core.redaction import redact, redact_value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.records import Event

LEVELS = ("debug", "info", "warn", "error", "fatal")
"""Severities of the mirrored CLI; `parse_level` reads what other loggers call them."""
_LEVEL_ALIASES = {
    **dict.fromkeys(("trace", "verbose"), "debug"),
    **dict.fromkeys(("information", "notice"), "info"),
    "warning": "warn",
    "err": "error",
    **dict.fromkeys(("crit", "critical", "alert", "panic", "emerg", "emergency"), "fatal"),
}
MAX_METADATA_BYTES = 65_536
"""Size of an event's metadata as JSON; what is larger is cut, and says so."""
_MAX_NAME = 200
_QUERY_READ = 4_000
_QUERY_SHOWN = 200
_MAX_ERROR = 8_000
_MAX_VALUE = 1_000
_MAX_DEPTH = 24
_SESSION_NAMES = ("SLOG_SESSION_ID", "JOELCLAW_SESSION_ID", "JOELCLAW_SESSION_HANDLE", "PI_SESSION_HANDLE")
_SYSTEM_NAMES = ("SLOG_SYSTEM_ID", "JOELCLAW_SYSTEM_ID")


def new_event(
    action: str,
    *,
    source: str = "cli",
    component: str = "otel-cli",
    level: str = "info",
    success: bool = True,
    metadata: Mapping[str, Any] | None = None,
    duration_ms: float | None = None,
    error: str | None = None,
    session: str = "",
    system: str = "",
    role: str = "interactive",
    now: int,
    id: str = "",
) -> Event:
    """An event as it is stored: redacted, on one line where it is a name, and no larger than it may be."""
    made: Event = {
        "id": identifier(id) or ids.uuid7(),
        "timestamp": now,
        "sessionId": identifier(session or _first(*_SESSION_NAMES) or _role(role)),
        "systemId": identifier(system or _first(*_SYSTEM_NAMES) or host()) or "unknown",
        "level": parse_level(level) or "info",
        "source": _name(source) or "cli",
        "component": _name(component) or "otel-cli",
        "action": _name(action),
        "success": success,
        "metadata": _bounded(metadata) if metadata else {},
    }
    if duration_ms is not None and 0 <= duration_ms < 1e15:
        made["duration_ms"] = int(duration_ms) if duration_ms % 1 == 0 else float(duration_ms)
    said = _cut(redact(words.clean(error))[0].strip(), _MAX_ERROR) if error else ""
    if said or not success:
        made["error"] = said or "operation_failed"
    return made


def parse_level(given: str) -> str | None:
    """The level that a name in any case stands for; None where that is not clear."""
    name = given.strip().lower()
    return name if name in LEVELS else _LEVEL_ALIASES.get(name)


def identifier(text: str) -> str:
    """An id as it is stored: its hash where it is too long or looks like a secret, so that equal ids stay equal."""
    if not text:
        return ""
    plain = _line(text)
    if len(plain) > _MAX_NAME or redact(plain)[1]:
        return "hash-" + ids.fingerprint(text)
    return plain


def query_excerpt(query: str) -> str:
    """The beginning of a query, for an event. Redacted before it is cut: half a secret is not known as one."""
    return redact(query[:_QUERY_READ])[0][:_QUERY_SHOWN]


def _first(*names: str) -> str:
    return next(filter(None, (os.environ.get(name, "").strip() for name in names)), "")


def _role(role: str) -> str:
    """The session's name where it has no id, as in the mirrored CLI."""
    if role != "interactive":
        return role
    return "gateway" if _first("GATEWAY_ROLE") == "central" else _first("JOELCLAW_ROLE") or role


def host() -> str:
    """The name of this machine, as events have it unless a variable names another."""
    name = os.uname().nodename.strip().lower()
    return name.removesuffix(".localdomain").removesuffix(".local")


def _line(text: str) -> str:
    text = words.clean(text)
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def _name(text: str) -> str:
    known = redact(words.clean(text))[0]
    line = _line(known)
    if line != known:  # a line break tells some secrets from prose, and may part others
        line = redact(line)[0]
    return _cut(line, _MAX_NAME)


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


def _plain(value: object, depth: int = 0) -> Any:
    if isinstance(value, (dict, list, tuple)):
        if depth > _MAX_DEPTH:
            return "[cut: too deep]"
        if isinstance(value, dict):
            return {words.clean(str(key)): _plain(item, depth + 1) for key, item in value.items()}
        return [_plain(item, depth + 1) for item in value]
    if value is None or isinstance(value, bool) or (isinstance(value, (int, float)) and abs(value) < 1e300):
        return value
    return words.clean(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def _bounded(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata as it is stored: JSON types, redacted, at most `MAX_METADATA_BYTES` of JSON."""
    kept: dict[str, Any] = redact_value(_plain(dict(metadata)))  # type: ignore[assignment]  # dict in, dict out
    if _size(kept) <= MAX_METADATA_BYTES:
        return kept
    found: dict[str, Any] = {}
    total = 200
    for key, value in kept.items():
        size = _size({key: value})
        if size > _MAX_VALUE:
            value = f"{value[:_MAX_VALUE] if isinstance(value, str) else ''}… [cut: {size} bytes]"
        total += _size({key: value})
        if total > MAX_METADATA_BYTES:
            return {**found, "_cut": f"{len(kept) - len(found)} more entries"}
        found[key] = value
    return found


def _size(value: object) -> int:
    return len(json_text.dumps(value).encode())
