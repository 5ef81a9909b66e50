"""Wall-clock time in UTC, and ids that sort by it. `JOELCLAW_NOW_MS` freezes the time, for tests and replays."""

from __future__ import annotations

import os
import time

DAY_MS = 86_400_000
MINUTE_MS = 60_000
HOUR_MS = 3_600_000
_LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


def now_ms() -> int:
    """Milliseconds since the epoch."""
    frozen = os.environ.get("JOELCLAW_NOW_MS")
    if frozen and frozen.isdigit():
        return min(int(frozen), _LAST_MS)
    return time.time_ns() // 1_000_000


def iso(ms: int | None) -> str:
    """ISO 8601 in UTC with milliseconds; "unknown" (the mirrored CLI's word) if there is no usable time."""
    if ms is None or not 0 <= ms <= _LAST_MS:
        return "unknown"
    seconds, rest = divmod(ms, 1000)
    t = time.gmtime(seconds)
    return f"{t[0]:04d}-{t[1]:02d}-{t[2]:02d}T{t[3]:02d}:{t[4]:02d}:{t[5]:02d}.{rest:03d}Z"


def parse_iso(text: str) -> int | None:
    """Milliseconds since the epoch of an ISO 8601 time (UTC if it names no zone); None if the text is no time."""
    from datetime import UTC, datetime  # off the hot path: imports only

    try:
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def local_period(text: str) -> tuple[int, int] | None:
    """The first and last ms of a day (2026-05-31) or a time that a person types; None if the text is neither.

    It is in the local time zone unless it names another.
    """
    from datetime import datetime, timedelta

    given = text.strip()
    try:
        moment = datetime.fromisoformat(given.replace("Z", "+00:00"))
        start = int(moment.timestamp() * 1000)
        is_day = ":" not in given and len(given) <= len("2026-05-31")
        return start, int((moment + timedelta(days=1)).timestamp() * 1000) - 1 if is_day else start
    except (ValueError, OverflowError):
        return None


def uuid7() -> str:
    """A new UUIDv7 (RFC 9562) with the clock's time, made without importing `uuid`."""
    tail = bytearray(os.urandom(10))
    tail[0] = 0x70 | tail[0] & 0x0F
    tail[2] = 0x80 | tail[2] & 0x3F
    text = (now_ms().to_bytes(6, "big") + bytes(tail)).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
