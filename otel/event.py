"""Building an event: its defaults, redaction, and the limits of its size. Hot path."""

from __future__ import annotations

import os

from core import TYPE_CHECKING, clock, json_text, words
from core.redaction import redact, redact_value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypedDict, Unpack

    from core.records import Event

    class Details(TypedDict, total=False):
        """What an event may say. Defaults: source `cli`, component `otel-cli`, level `info`, success true."""

        source: str
        component: str
        level: str
        success: bool
        metadata: Mapping[str, Any] | None
        duration_ms: float | None
        error: str | None
        session: str
        """By default from the environment, else the name of the role."""
        system: str
        """By default from the environment, else the host name."""
        role: str
        id: str


LEVELS = ("debug", "info", "warn", "error", "fatal")
MAX_METADATA_BYTES = 65_536  # as JSON; longer values are cut
MAX_ENTRY_BYTES = 1_000  # of an entry, if the metadata are too large
MAX_NAME_CHARS = 200
_LEVEL_ALIASES = {
    **dict.fromkeys(("trace", "verbose"), "debug"),
    **dict.fromkeys(("information", "notice"), "info"),
    "warning": "warn",
    "err": "error",
    **dict.fromkeys(("crit", "critical", "alert", "panic", "emerg", "emergency"), "fatal"),
}


def new_event(action: str, *, now: int, **details: Unpack[Details]) -> Event:
    """A new event of the time `now` (ms): redacted, with names on one line, within the limits of size."""
    session = details.get("session") or _session_variable() or _role_name(details.get("role", "interactive"))
    system = details.get("system") or _variable("SLOG_SYSTEM_ID", "JOELCLAW_SYSTEM_ID") or host()
    success, metadata = details.get("success", True), details.get("metadata")
    duration_ms, error = details.get("duration_ms"), details.get("error")
    event: Event = {
        "id": identifier(details.get("id", "")) or clock.uuid7(),
        "timestamp": now,
        "sessionId": identifier(session),
        "systemId": identifier(system) or "unknown",
        "level": parse_level(details.get("level", "info")) or "info",
        "source": _name(details.get("source", "")) or "cli",
        "component": _name(details.get("component", "")) or "otel-cli",
        "action": _name(action),
        "success": success,
        "metadata": _bounded(metadata) if metadata else {},
    }
    if duration_ms is not None and 0 <= duration_ms < 1e15:
        event["duration_ms"] = int(duration_ms) if duration_ms % 1 == 0 else float(duration_ms)
    message = _cut(redact(words.clean(error))[0].strip(), 8_000) if error else ""
    if message or not success:
        event["error"] = message or "operation_failed"
    return event


def parse_level(name: str) -> str | None:
    """The level of a name in any case, also of those that other loggers use; None if it is unknown."""
    name = name.strip().lower()
    return name if name in LEVELS else _LEVEL_ALIASES.get(name)


def identifier(text: str) -> str:
    """An id for storing: hashed if it is too long or looks like a secret, so that equal ids stay equal."""
    if not text:
        return ""
    line = _one_line(text)
    if len(line) > MAX_NAME_CHARS or redact(line)[1]:
        return "hash-" + words.fingerprint(text)
    return line


def query_excerpt(query: str, length: int = 200) -> str:
    """The beginning of a query, for an event. It is redacted first: half a secret is not recognised."""
    return redact(query[: 20 * length])[0][:length]


def host() -> str:
    """The name of this machine."""
    name = os.uname().nodename.strip().lower()
    return name.removesuffix(".localdomain").removesuffix(".local")


def _session_variable() -> str:
    return _variable("SLOG_SESSION_ID", "JOELCLAW_SESSION_ID", "JOELCLAW_SESSION_HANDLE", "PI_SESSION_HANDLE")


def _variable(*names: str) -> str:
    """The first of these environment variables that is set."""
    return next(filter(None, (os.environ.get(name, "").strip() for name in names)), "")


def _role_name(role: str) -> str:
    """The session's name if it has no id, as in the mirrored CLI."""
    if role != "interactive":
        return role
    return "gateway" if _variable("GATEWAY_ROLE") == "central" else _variable("JOELCLAW_ROLE") or role


def _one_line(text: str) -> str:
    text = words.clean(text)
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _name(text: str) -> str:
    redacted = redact(words.clean(text))[0]
    line = _one_line(redacted)
    if line != redacted:  # a line break may have hidden a secret
        line = redact(line)[0]
    return _cut(line, MAX_NAME_CHARS)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _json_value(value: object, depth: int = 0) -> Any:
    """The value with types of JSON only."""
    if isinstance(value, (dict, list, tuple)):
        if depth > 24:  # long before Python's limit of recursion
            return "[cut: too deep]"
        if isinstance(value, dict):
            return {words.clean(str(key)): _json_value(item, depth + 1) for key, item in value.items()}
        return [_json_value(item, depth + 1) for item in value]
    if value is None or isinstance(value, bool) or (isinstance(value, (int, float)) and abs(value) < 1e300):
        return value
    return words.clean(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def _bounded(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Redacted metadata of at most `MAX_METADATA_BYTES`: long entries are cut first, then entries are left out."""
    redacted: dict[str, Any] = redact_value(_json_value(dict(metadata)))  # type: ignore[assignment]  # dict in, dict out
    if _size(redacted) <= MAX_METADATA_BYTES:
        return redacted
    bounded: dict[str, Any] = {}
    total = 200  # for "_cut"
    for key, value in redacted.items():
        size = _size({key: value})
        if size > MAX_ENTRY_BYTES:
            value = f"{value[:MAX_ENTRY_BYTES] if isinstance(value, str) else ''}… [cut: {size} bytes]"
        total += _size({key: value})
        if total > MAX_METADATA_BYTES:
            return {**bounded, "_cut": f"{len(redacted) - len(bounded)} more entries"}
        bounded[key] = value
    return bounded


def _size(value: object) -> int:
    return len(json_text.dumps(value).encode())
