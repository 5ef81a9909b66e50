"""Severities: the five of the mirrored CLI, and what other loggers call them."""

from __future__ import annotations

_NAMES = {
    "trace": "debug",
    "verbose": "debug",
    "information": "info",
    "notice": "info",
    "warning": "warn",
    "err": "error",
    "crit": "fatal",
    "critical": "fatal",
    "alert": "fatal",
    "panic": "fatal",
    "emerg": "fatal",
    "emergency": "fatal",
}
_LEVELS = ("debug", "info", "warn", "error", "fatal")
# OpenTelemetry's SeverityNumber takes four numbers a level, 1 to 24; pino and bunyan count in tens.
_OPENTELEMETRY = ("debug", *_LEVELS)
_TENS = {30: "info", 40: "warn", 50: "error", 60: "fatal"}
_AMBIGUOUS = (10, 20)  # "info" or "error" to the one, "trace" or "debug" to the other


def parse(given: object) -> str | None:
    """The level that a name in any case or a number stands for; None where that is not clear."""
    if isinstance(given, str):
        name = given.strip().lower()
        if name.isascii() and name.isdigit() and len(name) <= 2:
            return parse(int(name))
        return name if name in _LEVELS else _NAMES.get(name)
    if isinstance(given, int) and not isinstance(given, bool) and given not in _AMBIGUOUS:
        return _OPENTELEMETRY[(given - 1) // 4] if 1 <= given <= 24 else _TENS.get(given)
    return None
