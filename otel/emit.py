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
    """Store an event; returns it, and why it was not stored (`log.DUPLICATE`, `log.NOISE`) or "".

    Args:
        fields: checked, under the names of `read_fields`; what is missing has the default of `new_event`.

    Raises:
        Failure: OTEL_INVALID_ARGS without an action; the store's own code where it cannot be written.
    """
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
    """The fields of an event in JSON, checked, by their option names; and the keys that mean nothing here.

    Raises:
        Failure: INVALID_JSON when the text is no JSON, OTEL_INVALID_ARGS when it is no object or holds a wrong value
            (exit 2).
    """
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


def _checked(name: str, key: str, value: object) -> object:
    checked: object
    if name == "metadata":
        checked, wanted = (value if isinstance(value, dict) else None), "an object"
    elif name == "level":
        checked, wanted = parse_level(value), "debug, info, warn, error or fatal"
    elif name == "success":
        checked, wanted = _truth(value), "true or false"
    elif name == "timestamp":
        checked, wanted = _moment(value), "ms since the epoch, or an ISO 8601 time"
    elif name == "duration_ms":
        checked, wanted = _number(value, 1e15), "a number of ms, 0 or more"
    else:
        checked, wanted = _text(value), "text"
    if checked is None:
        shown = json_text.dumps(value) if not isinstance(value, float) else str(value)
        raise usage(
            "OTEL_INVALID_ARGS",
            f"{key} is {shown if len(shown) <= 60 else shown[:57] + '...'}, which is not {wanted}",
            f"give {key} as {wanted}",
        )
    return checked


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _truth(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return _TRUTH.get(str(value).strip().lower()) if isinstance(value, (str, int)) else None


def _number(value: object, most: float) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value) if value.isascii() and "_" not in value else None
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if 0 <= value <= most else None


def _moment(value: object) -> int | None:
    number = _number(value, _LAST_MS)
    if number is not None:
        return int(number)
    if not isinstance(value, str):
        return None
    moment = clock.parse_iso(value)
    return moment if moment is not None and 0 <= moment <= _LAST_MS else None
