"""The time that a query names, in the user's time zone: "yesterday", "8 May 2023", "in June", "latest". Hot path.

- `span_named` is for the ranking: a memory of another time keeps only a share of its score.
- `period_named` is for filters, and for a query that has no other subject (`asks_only_for_a_time`).

Words of time are read in English only. A date in digits (2023-05-08) is read in any language.
"""

from __future__ import annotations

from math import log

from core import TYPE_CHECKING, words
from core.clock import DAY_MS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    Days = tuple[date, date]
    """The first and the last day."""

_MONTHS = {
    name: number
    for number, names in enumerate((
        "january", "february feb", "march", "april apr", "may", "june jun", "july jul", "august aug",
        "september sep", "october oct", "november nov", "december dec",
    ), 1)
    for name in names.split()
}  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS = {"day": 1, "days": 1, "week": 7, "weeks": 7, "month": 30, "months": 30, "year": 365, "years": 365}


class Span:
    """From `start` to `end` (ms); without a start, the query asks for the latest."""

    def __init__(self, start: int | None, end: int) -> None:
        self.start = start
        self.end = end

    def factor(self, at: int) -> float:
        """The share of its score that a memory of the time `at` (ms) keeps.

        For the latest, a memory of ten years ago keeps half; for a time, a memory of another time keeps .7.
        """
        if self.start is None:
            days = max(self.end - at, 0) / DAY_MS
            return 1 - 0.5 * min(log(1 + days) / log(1 + 3650), 1.0)
        return 1.0 if self.start <= at < self.end else 0.7


def span_named(query: str, now: int) -> Span | None:
    """The first time that a query names, or None; `now` in ms."""
    asked = words_of_time(query)
    time_words = ("ago", "today", "yesterday", *_UNITS, *_WEEKDAYS, *_MONTHS)
    for at, word in enumerate(asked):
        if word in ("latest", "newest", "recent", "recently") or asked[at : at + 2] == ["last", "time"]:
            return Span(None, now)
        if word in time_words or (len(word) == 4 and word[:2] in ("19", "20")):  # any other word needs no calendar
            period = period_named(asked, now)
            if period is not None:
                return Span(*period)
    return None


def words_of_time(query: str) -> list[str]:
    """The words of a query that may name a time, also next to a script without spaces (在2026年5月8日)."""
    return words.split("".join(character if character.isascii() else " " for character in query))


def asks_only_for_a_time(query: str) -> bool:
    """Whether a query has no subject: "what did I say yesterday?" asks for anything of that time. So does no query.

    A month or a weekday by itself is a subject: June is also a name.
    """
    asked = words.split(query)
    asking = (
        "ask asked asking say said saying tell told talk talked discuss discussed happen happened happens work worked"
        " working prompt prompts question questions conversation conversations session sessions show list everything"
        " anything last past previous ago today yesterday since during early late mid one two three four five six"
    ).split()
    is_name = len(asked) == 1 and (asked[0] in _WEEKDAYS or asked[0] in _MONTHS)
    return not is_name and all(
        word in asking or word in words.STOP_WORDS or word in _UNITS or word in _WEEKDAYS or word in _MONTHS
        or _is_year(word) or _ordinal(word)
        for word in asked
    )  # fmt: skip


def period_named(asked: Sequence[str], now: int, *, exactly: bool = False) -> tuple[int, int] | None:
    """Start and end, in ms, of the first time that the words of a query name; None if they name none.

    A date includes the days around it, unless `exactly`: people remember dates roughly, and write about an event later.
    """
    import time
    from datetime import date, timedelta

    today = date(*time.localtime(now / 1000)[:3])

    def midnight(day: date) -> int:
        return int(time.mktime((day.year, day.month, day.day, 0, 0, 0, 0, 0, -1))) * 1000

    for at in range(len(asked)):
        try:
            relative = _relative(asked, at, today)
            days = relative or _absolute(asked, at, today)
            if days is not None:
                first, last = days
                if first == last and not (relative or exactly):
                    first, last = first - timedelta(1), last + timedelta(3)
                return midnight(first), midnight(last + timedelta(1))
        except (ValueError, OverflowError):  # 31 February, or before the year 1
            continue
    return None


def _relative(asked: Sequence[str], at: int, today: date) -> Days | None:
    """The days meant by a word such as "yesterday", perhaps with its neighbours: "last week", "2 days ago"."""
    from datetime import timedelta

    word, after = asked[at], asked[at + 1] if at + 1 < len(asked) else ""
    last = ("last", "past", "this", "previous")
    if word in ("today", "yesterday"):
        day = today - timedelta(word == "yesterday")
        return day, day
    if word in last and after in ("week", "month", "year"):
        return _calendar_unit(after, today, is_current=word == "this")
    if word in last and after.isdigit():
        unit = _UNITS.get(asked[at + 2]) if at + 2 < len(asked) else None
        return (today - timedelta(_number(after) * unit), today) if unit else None
    if word in ("on", *last) and after in _WEEKDAYS:
        day = today - timedelta((today.weekday() - _WEEKDAYS.index(after) - 1) % 7 + 1)
        return day, day
    if word == "ago" and at > 1 and asked[at - 1] in _UNITS:
        numbers = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
        count, unit = numbers.get(asked[at - 2]) or _number(asked[at - 2]), _UNITS[asked[at - 1]]
        if count:
            day, around = today - timedelta(count * unit), timedelta(unit // 2)
            return day - around, day + around
    return None


def _calendar_unit(unit: str, today: date, *, is_current: bool) -> Days:
    """This or the last week, month or year."""
    from datetime import timedelta

    if unit == "week":
        monday = today - timedelta(today.weekday())
        return (monday, today) if is_current else (monday - timedelta(7), monday - timedelta(1))
    if unit == "month":
        first = today.replace(day=1)
        return _month(first if is_current else first - timedelta(1))
    return _year(today.year - (not is_current), today)


def _absolute(asked: Sequence[str], at: int, today: date) -> Days | None:
    """The days meant by a date: 2024-05-08, 8.5.2024, 2024-05, "8 May 2023", "in June", "in 2024"."""
    word, before = asked[at], asked[at - 1] if at else ""
    prepositions = ("in", "of", "since", "during", "last", "this", "on", "early", "late", "mid")
    if _is_year(word):
        month, day = ([_number(part) if len(part) <= 2 else 0 for part in asked[at + 1 : at + 3]] + [0, 0])[:2]
        if not month and at > 1:  # 8.5.2023, and 5/28/2023
            day, month = (_number(part) if len(part) <= 2 else 0 for part in asked[at - 2 : at])
            day, month = (month, day) if month > 12 else (day, month)
        if 1 <= month <= 12:
            first = today.replace(_number(word), month, 1)
            return (first.replace(day=day),) * 2 if 1 <= day <= 31 else _month(first)
        return _year(_number(word), today) if before in prepositions else None
    month = _MONTHS.get(word, 0)
    if not month:
        return None
    neighbours = [_ordinal(other) for other in (*reversed(asked[max(at - 2, 0) : at]), *asked[at + 1 : at + 2])]
    if before == "of":
        neighbours = neighbours[1:]
    day = next((number for number in (*neighbours[:1], *neighbours[-1:]) if 1 <= number <= 31), 0)
    year = next((_number(other) for other in asked[at + 1 : at + 4] if _is_year(other)), 0)
    if word in ("may", "march") and not (day or year or before in prepositions):
        return None
    if not year:
        year = today.year if (month, day) <= (today.month, today.day) else today.year - 1
    return (today.replace(year, month, day),) * 2 if day else _month(today.replace(year, month, 1))


def _month(within: date) -> Days:
    from datetime import timedelta

    first = within.replace(day=1)
    following = (first + timedelta(31)).replace(day=1)
    return first, following - timedelta(1)


def _year(year: int, today: date) -> Days:
    return today.replace(year, 1, 1), today.replace(year, 12, 31)


def _number(word: str) -> int:
    """The number that up to nine digits write; 0 for anything else."""
    return int(word) if len(word) <= 9 and word.isascii() and word.isdigit() else 0


def _is_year(word: str) -> bool:
    return len(word) == 4 and 1990 <= _number(word) < 2100


def _ordinal(word: str) -> int:
    """8 for "8" and "8th"; 0 for anything else."""
    digits = word[:-2] if word[-2:] in ("st", "nd", "rd", "th") else word
    return _number(digits) if len(digits) <= 2 else 0
