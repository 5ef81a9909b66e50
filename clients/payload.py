"""Reads the fields of a hook's payload. One that has not its type counts as missing, whatever a client sends."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import HookEvent, Kind

_LONGEST_TEXT = 20_000
_MOST_TEXTS = 32


def event(payload: dict[str, Any], name: str, kind: Kind) -> HookEvent:
    """An event with the fields that all clients name alike; the rest is empty."""
    return {
        "kind": kind,
        "name": name,
        "session": text(payload, "session_id"),
        "source": text(payload, "source"),
        "cwd": text(payload, "cwd"),
        "transcript": text(payload, "transcript_path"),
        "model": text(payload, "model"),
        "messages": [],
        "files": [],
        "items": [],
        "summary": "",
        "instructions": "",
        "said": None,
        "percent": None,
        "tokens": None,
        "window": None,
    }


def text(payload: dict[str, Any], key: str) -> str:
    """A string field, "" where it is none."""
    value = payload.get(key)
    return value[:_LONGEST_TEXT] if isinstance(value, str) else ""


def texts(payload: dict[str, Any], key: str) -> list[str]:
    """A list of strings; of many the last ones."""
    value = payload.get(key)
    if not isinstance(value, list):
        return []
    return [item[:_LONGEST_TEXT] for item in value[-_MOST_TEXTS:] if isinstance(item, str) and item]


def number(payload: dict[str, Any], key: str) -> float | None:
    """A number that is not negative."""
    value = payload.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e12:
        return None
    return value


def whole(payload: dict[str, Any], key: str) -> int | None:
    """The same, without its fraction."""
    value = number(payload, key)
    return None if value is None else int(value)


def table(payload: dict[str, Any], key: str) -> dict[str, Any]:
    """An object, empty where it is none."""
    value = payload.get(key)
    return value if isinstance(value, dict) else {}
