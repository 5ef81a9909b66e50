"""The time that a query names: "yesterday", "3 days ago", "8 May 2023", "in June"; days of the user's time zone."""

import time
from collections.abc import Sequence
from datetime import date, timedelta

from core.clock import DAY_MS

_EPOCH = date(1970, 1, 1)
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_SHORT_MONTHS = {"feb": 2, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12}
"""Those that mean nothing else."""
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS_OF = {"day": 1, "days": 1, "week": 7, "weeks": 7, "month": 30, "months": 30, "year": 365, "years": 365}
_PREPOSITIONS = frozenset(("in", "of", "since", "during", "last", "this", "on", "early", "late", "mid"))
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_Days = tuple[date, date, tuple[int, int]]
"""First and last day, and the days before and after that are close to them."""


def named(words: Sequence[str], now: int) -> tuple[int, int, tuple[int, int]] | None:
    """The first time that the words of a query name, None where they name none; `now` in ms since the epoch.

    Its start and end, and the days before and after that are close to it.
    """
    zone = (time.localtime(now / 1000).tm_gmtoff or 0) * 1000
    today = _EPOCH + timedelta(milliseconds=now + zone)
    for at in range(len(words)):
        try:
            days = _relative(words, at, today) or _absolute(words, at, today)
        except (ValueError, OverflowError):  # 31 February, or before the year 1
            continue
        if days is not None:
            first, last, slack = days
            start, end = ((day - _EPOCH).days * DAY_MS - zone for day in (first, last + timedelta(1)))
            return start, end, slack
    return None


def _relative(words: Sequence[str], at: int, today: date) -> _Days | None:
    word, after = words[at], words[at + 1] if at + 1 < len(words) else ""
    before = words[at - 1] if at else ""
    if word in ("today", "yesterday"):
        day = today - timedelta(word == "yesterday")
        return day, day, (0, 0)
    if word in ("last", "past", "this", "previous"):
        if after == "week":
            monday = today - timedelta(today.weekday())
            return (monday, today, (0, 0)) if word == "this" else (monday - timedelta(7), monday - timedelta(1), (0, 3))
        if after == "month":
            first = today.replace(day=1)
            return _month(first if word == "this" else first - timedelta(1))
        if after == "year":
            return _year(today.year - (word != "this"), (0, 0))
        unit = _DAYS_OF.get(words[at + 2]) if at + 2 < len(words) else None
        if unit and after.isdigit():
            return today - timedelta(_whole(after) * unit), today, (0, 0)
    if (word == "on" or word in ("last", "past", "this", "previous")) and after in _WEEKDAYS:  # the last one
        day = today - timedelta((today.weekday() - _WEEKDAYS.index(after) - 1) % 7 + 1)
        return day, day, (0, 1)
    if word == "ago" and at > 1 and before in _DAYS_OF:
        count, unit = _NUMBERS.get(words[at - 2]) or _whole(words[at - 2]), _DAYS_OF[before]
        if count:
            day, around = today - timedelta(count * unit), timedelta(unit // 2)
            return day - around, day + around, (unit // 2, unit // 2)
    return None


def _absolute(words: Sequence[str], at: int, today: date) -> _Days | None:
    word, before = words[at], words[at - 1] if at else ""
    if _is_year(word):  # 2024-05-08, 2024-05, or behind a word like "in"
        month, day = ([_whole(part) if len(part) <= 2 else 0 for part in words[at + 1 : at + 3]] + [0, 0])[:2]
        if 1 <= month <= 12:
            first = date(_whole(word), month, 1)
            return _around(first.replace(day=day)) if 1 <= day <= 31 else _month(first)
        return _year(_whole(word), (0, 7)) if before in _PREPOSITIONS else None
    month = _MONTHS.index(word) + 1 if word in _MONTHS else _SHORT_MONTHS.get(word, 0)
    if not month:
        return None
    beside = [_ordinal(other) for other in (*reversed(words[max(at - 2, 0) : at]), *words[at + 1 : at + 2])]
    if before == "of":
        beside = beside[1:]
    day = next((number for number in (*beside[:1], *beside[-1:]) if 1 <= number <= 31), 0)
    year = next((_whole(other) for other in words[at + 1 : at + 4] if _is_year(other)), 0)
    if word in ("may", "march") and not (day or year or before in _PREPOSITIONS):
        return None
    if not year:
        year = today.year if month <= today.month else today.year - 1
    return _around(date(year, month, day)) if day else _month(date(year, month, 1))


def _around(day: date) -> _Days:
    return day - timedelta(1), day + timedelta(3), (6, 11)


def _month(within: date) -> _Days:
    first = within.replace(day=1)
    following = (first + timedelta(31)).replace(day=1)
    return first, following - timedelta(1), (0, 7)


def _year(year: int, slack: tuple[int, int]) -> _Days:
    return date(year, 1, 1), date(year, 12, 31), slack


def _whole(word: str) -> int:
    """The number of up to nine digits; 0 for anything else."""
    return int(word) if len(word) <= 9 and word.isascii() and word.isdigit() else 0


def _is_year(word: str) -> bool:
    return len(word) == 4 and 1990 <= _whole(word) < 2100


def _ordinal(word: str) -> int:
    """8 of "8", "8th"; 0 of anything else."""
    digits = word[:-2] if word[-2:] in ("st", "nd", "rd", "th") else word
    return _whole(digits) if len(digits) <= 2 else 0
