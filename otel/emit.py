"""What `otel emit` does: checks the fields that somebody hands over, builds the event and stores it. Hot path."""

from __future__ import annotations

from core import clock, json_text
from core.errors import usage
from core.store import sqlite
from otel import log
from otel.event import new_event, parse_level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.config import Config
    from core.records import Event

_LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z
_NAMES = {
    "action": "action",
    "source": "source",
    "component": "component",
    "level": "level",
    "success": "success",
    "metadata": "metadata",
    "id": "id",
    "timestamp": "timestamp",
    "error": "error",
    "duration_ms": "duration_ms",
    "durationMs": "duration_ms",
    "session": "session",
    "sessionId": "session",
    "system": "system",
    "systemId": "system",
}
_TRUTH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def emit(fields: Mapping[str, Any], config: Config) -> tuple[Event, str]:
    """Store an event; returns it, and why it was not stored (`log.DUPLICATE`, `log.NOISE`) or ""."""
    given = dict(fields)
    event = new_event(given.pop("action", ""), now=given.pop("timestamp", clock.now_ms()), **given)
    if not event["action"]:
        raise usage(
            "OTEL_INVALID_ARGS",
            "an event needs an action",
            'name it, as in `joelclaw otel emit compaction.before`, or pass {"action": "compaction.before"} on stdin',
        )
    db = sqlite.open_writing(busy_ms=config.get_int("otel.busy_ms"), durable=False)
    return event, log.append_one(db, event, debug_limit=config.get_int("otel.debug_limit"))


def read_fields(text: bytes) -> tuple[dict[str, Any], list[str]]:
    """The fields of an event in JSON, checked, by their option names; and the keys that mean nothing here."""
    try:
        given = json_text.loads(text)
    except json_text.InvalidJSON as error:
        raise usage(
            "INVALID_JSON", f"stdin is not JSON: {error}", 'give one JSON object, such as {"action": "a.b"}'
        ) from None
    if not isinstance(given, dict):
        raise usage(
            "OTEL_INVALID_ARGS", "stdin holds JSON, but no object", 'give one object, such as {"action": "a.b"}'
        )
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = _NAMES.get(key)
        if name is not None and value is not None:
            found[name] = _checked(name, key, value)
    return found, [key for key in given if key not in _NAMES]


def _checked(name: str, key: str, value: Any) -> object:
    if name == "metadata":
        wanted, good = "an object", isinstance(value, dict)
    elif name == "level":
        wanted, value = "debug, info, warn, error or fatal", parse_level(value)
        good = value is not None
    elif name == "success":
        wanted, value = "true or false", _TRUTH.get(str(value).strip().lower())
        good = value is not None
    elif name in ("timestamp", "duration_ms"):
        wanted = "a number of ms" if name == "duration_ms" else "ms since the epoch, or an ISO 8601 time"
        value = _number(value, name)
        good = value is not None
    else:
        wanted, good = "text", isinstance(value, (str, int, float)) and not isinstance(value, bool)
        value = str(value)
    if not good:
        raise usage("OTEL_INVALID_ARGS", f"{key} is not {wanted}", f"give {key} as {wanted}")
    return value


def _number(value: Any, name: str) -> float | None:
    try:
        number = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = clock.parse_iso(value) if name == "timestamp" and isinstance(value, str) else None
    if number is None or not 0 <= number <= _LAST_MS:
        return None
    return int(number) if number == int(number) else number
