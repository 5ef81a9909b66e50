"""A time as clients write it into their transcripts, in ms since the epoch. Hot path: `datetime` is not imported."""

from __future__ import annotations

_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


def ms(value: object) -> int | None:
    """Milliseconds of an ISO 8601 date and time (UTC where it names no zone) or of a number of ms.

    Returns:
        0 to the end of the year 9999, None where `value` is no such time.
    """
    if isinstance(value, str):
        at = _of_text(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _LAST_MS:
        at = int(value)
    else:
        return None
    return at if at is not None and 0 <= at <= _LAST_MS else None


def _of_text(text: str) -> int | None:
    if len(text) < 19 or text[4] != "-" or text[7] != "-" or text[10] not in "T " or text[13] + text[16] != "::":
        return None
    fields = [_number(part) for part in (text[:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:19])]
    year, month, day, hour, minute, second = fields
    if min(fields) < 0 or year < 1 or not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 59:
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _DAYS[month - 1] + (leap and month == 2):
        return None
    rest = text[19:]
    thousandths = 0
    if rest[:1] in (".", ","):
        end = 1
        while end < len(rest) and rest[end] in "0123456789":
            end += 1
        if end == 1:
            return None
        thousandths = int(rest[1:4][: end - 1].ljust(3, "0"))
        rest = rest[end:]
    offset = _offset(rest)
    if offset is None:
        return None
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - 719_162  # 719,162 days until 1970-01-01
    days += sum(_DAYS[: month - 1]) + (leap and month > 2) + day - 1
    return ((days * 24 + hour) * 60 + minute - offset) * 60_000 + second * 1000 + thousandths


def _offset(zone: str) -> int | None:
    """Minutes east of UTC."""
    if zone in ("", "Z", "z"):
        return 0
    digits = zone[1:3] + (zone[4:] if zone[3:4] == ":" else zone[3:])
    number = _number(digits)
    if zone[0] not in "+-" or number < 0 or len(digits) not in (2, 4):
        return None
    hours, minutes = divmod(number, 100) if len(digits) == 4 else (number, 0)
    if hours > 23 or minutes > 59:
        return None
    return (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)


def _number(digits: str) -> int:
    return int(digits) if digits.isascii() and digits.isdigit() else -1
