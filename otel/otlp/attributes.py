"""An event as OpenTelemetry attributes: by semantic convention where there is one, else `joelclaw.*`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from core import ids, json_text

if TYPE_CHECKING:
    from core.records import Event

UID = "log.record.uid"
SESSION = "session.id"
ROLE = "joelclaw.session"
SYSTEM = "joelclaw.system.id"
ERROR = "exception.message"
ERROR_TYPE = "error.type"
AGENT = "gen_ai.agent.name"
SOURCE = "joelclaw.source"
COMPONENT = "joelclaw.component"
SUCCESS = "joelclaw.success"
DURATION = "joelclaw.duration_ms"
METADATA = "joelclaw.metadata"
MOST_KEYS = 64
"""Metadata with more keys goes out as one attribute that is a map: receivers keep 128 attributes a record."""
_ROLES = ("interactive", "gateway")
_LARGEST = 1 << 63
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_ERROR_CLASS = re.compile(
    r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Za-z_][\w.]{0,80}(?:Error|Exception|Failure|Timeout|Exit|Interrupt))(?::|$)"
)


def session_of(event: Event) -> str:
    """The agent session that an event belongs to; empty where its session is only a role's name."""
    name = event["sessionId"]
    return "" if name in _ROLES or name == event["source"] else name


def trace_id(event: Event) -> int:
    """The trace of an event's session, 0 for none: a session id that is a UUID itself, the fingerprint of any other."""
    name = session_of(event)
    if not name:
        return 0
    if _UUID.match(name):
        return int(name.replace("-", ""), 16) or 1
    return int(ids.fingerprint(name), 16) or 1


def span_id(event: Event) -> int:
    """The span of an event, always the same for the same event."""
    return int(ids.fingerprint(event["id"])[:16], 16) or 1


def error_type(event: Event) -> str:
    """A class of errors, few in number: a code, the name of an exception, else `_OTHER` (semantic conventions)."""
    code = event["metadata"].get("code")
    if isinstance(code, str) and 0 < len(code) <= 80:
        return code
    found = _ERROR_CLASS.match(event.get("error", ""))
    return found[1] if found else "_OTHER"


def common(event: Event) -> dict[str, Any]:
    """What log records and spans have in common, without the metadata."""
    session = session_of(event)
    found: dict[str, Any] = {
        UID: event["id"],
        SESSION if session else ROLE: session or event["sessionId"],
        SOURCE: event["source"],
        COMPONENT: event["component"],
        SUCCESS: event["success"],
    }
    if "error" in event:
        found[ERROR] = event["error"]
        found[ERROR_TYPE] = error_type(event)
    return found


def of_log_record(event: Event) -> dict[str, Any]:
    """All of an event that has no field of its own in a log record."""
    found = common(event)
    if "duration_ms" in event:
        found[DURATION] = event["duration_ms"]
    metadata = {key: _value(value) for key, value in event["metadata"].items()}
    if len(metadata) > MOST_KEYS:
        found[METADATA] = metadata
    else:
        found.update((f"{METADATA}.{key}", value) for key, value in metadata.items())
    return _limited(found, "LOGRECORD")


def of_span(event: Event) -> dict[str, Any]:
    """The same for a span, where a value may not be a map: that is JSON text here."""
    found = common(event)
    agent = event["metadata"].get("agent")
    if isinstance(agent, str) and agent:
        found[AGENT] = agent
    for key, value in list(event["metadata"].items())[:MOST_KEYS]:
        value = _value(value)
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            value = json_text.dumps(value)
        if value is not None:
            found[f"{METADATA}.{key}"] = json_text.dumps(value) if isinstance(value, dict) else value
    return _limited(found, "SPAN")


def _value(value: Any) -> Any:
    """The value with what OTLP has a form for: whole numbers beyond 64 bits become text."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -_LARGEST <= value < _LARGEST else str(value)
    if isinstance(value, dict):
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_value(item) for item in value]
    return value


def _limited(found: dict[str, Any], kind: str) -> dict[str, Any]:
    """Within the limits of the standard variables, of which none is set by default."""
    count = _limit(f"OTEL_{kind}_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT")
    length = _limit(f"OTEL_{kind}_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT")
    if count is not None:
        found = dict(list(found.items())[:count])
    if length is not None:
        found = {key: value if key == UID else _shortened(value, length) for key, value in found.items()}
    return found


def _shortened(value: Any, length: int) -> Any:
    if isinstance(value, str):
        return value[:length]
    if isinstance(value, list):
        return [_shortened(item, length) for item in value]
    if isinstance(value, dict):
        return {key: _shortened(item, length) for key, item in value.items()}
    return value


def _limit(*names: str) -> int | None:
    for name in names:
        given = os.environ.get(name, "").strip()
        if given.isascii() and given.isdigit():
            return int(given)
    return None
