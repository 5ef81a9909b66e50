"""The time that a query names, in the user's time zone: "yesterday", "8 May 2023", "in June". Hot path.

The ranking uses it, filters such as `--since` do, and so does a query without a subject (`asks_only_for_a_time`).
Words of time are read in English only. A date in digits (2023-05-08) is read in any language.
"""

from __future__ import annotations

import time

from core import TYPE_CHECKING, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    Day = tuple[int, int, int]
    """Year, month and day; day 0 is the last of the month before, month 13 the next January, and so on."""

_MONTHS = "january february march april may june july august september october november december".split()
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS = {"day": 1, "days": 1, "week": 7, "weeks": 7, "month": 30, "months": 30, "year": 365, "years": 365}


def words_of_time(query: str) -> list[str]:
    """The words of a query that may name a time, also next to a script without spaces (在2026年5月8日)."""
    return words.split("".join(character if character.isascii() else " " for character in query))


def asks_only_for_a_time(query: str) -> bool:
    """Whether a query has no subject: "what did I say yesterday?" asks for anything of that time. So does no query.

    A month by itself is a subject: June is also a name.
    """
    asked = words.split(query)
    asking = (
        "ask asked asking say said saying tell told talk talked discuss discussed happen happened happens work worked"
        " working prompt prompts question questions conversation conversations session sessions show list everything"
        " anything last previous ago today yesterday since during one two three four five six"
    ).split()
    is_name = len(asked) == 1 and _month(asked[0])
    known = {*asking, *words.STOP_WORDS, *_UNITS, *_WEEKDAYS}
    return not is_name and all(word in known or _month(word) or _is_year(word) or _day_number(word) for word in asked)


def period_named(asked: Sequence[str], now: int, *, exactly: bool = False) -> tuple[int, int] | None:
    """Start and end, in ms, of the first time that the words of a query name; None if they name none.

    A date includes the days around it, unless `exactly`: people remember dates roughly, and write about an event later.
    """
    today = time.localtime(now / 1000)
    for at in range(len(asked)):
        days = _relative(asked, at, today) or _date(asked, at, today, 0 if exactly else 1)
        if days is not None:
            start, end = (time.mktime((*day, 0, 0, 0, 0, 0, -1)) for day in days)
            return int(start) * 1000, int(end) * 1000
    return None


def _relative(asked: Sequence[str], at: int, today: time.struct_time) -> tuple[Day, Day] | None:
    """The first day that a word means and the day after the last: "yesterday", "last Friday", "2 days ago"."""
    word, before = asked[at], asked[at - 1] if at else ""
    year, month, day = today[:3]
    if word in ("today", "yesterday"):
        day -= word == "yesterday"
        return (year, month, day), (year, month, day + 1)
    if word == "ago" and at > 1 and before in _UNITS:
        numbers = ("", "one", "two", "three", "four", "five", "six")
        count = "one" if asked[at - 2] == "a" else asked[at - 2]
        number = numbers.index(count) if count in numbers else int(count) if count.isdecimal() else 0
        around = _UNITS[before] // 2
        day -= min(number, 100) * _UNITS[before]
        return ((year, month, day - around), (year, month, day + around + 1)) if number else None
    if before not in ("this", "last", "previous"):  # "on Friday" may be any Friday
        return None
    ago = int(before != "this")
    if word in _WEEKDAYS:
        day -= (today.tm_wday - _WEEKDAYS.index(word)) % 7 or 7 * ago
        return (year, month, day), (year, month, day + 1)
    if word == "week":
        monday = day - today.tm_wday - 7 * ago
        return (year, month, monday), (year, month, monday + 7)
    if word == "month":
        return (year, month - ago, 1), (year, month - ago + 1, 1)
    return ((year - ago, 1, 1), (year - ago + 1, 1, 1)) if word == "year" else None


def _date(asked: Sequence[str], at: int, today: time.struct_time, around: int) -> tuple[Day, Day] | None:
    """As `_relative`, for a date: 2024-05-08, 8.5.2024, 5/28/2024, 2024-05, "8 May 2023", "in June", "in 2024".

    A single day gets `around` days before it and three times as many after it.
    """
    word, before = asked[at], asked[at - 1] if at else ""
    has_preposition = before in ("in", "of", "since", "during", "last", "this")
    year, month, day = 0, _month(word), 0
    if _is_year(word):
        year = int(word)
        month, day = ([_day_number(part) for part in asked[at + 1 : at + 3]] + [0, 0])[:2]
        numbers = [_day_number(part) for part in asked[max(at - 2, 0) : at]]
        if not month and len(numbers) == 2 and all(numbers):  # 28.5.2023 or 5/28/2023
            month, day = numbers if numbers[1] > 12 else reversed(numbers)
        if not month:
            return ((year, 1, 1), (year + 1, 1, 1)) if has_preposition else None
    elif month:
        near = [*asked[max(at - 2, 0) : at], *asked[at + 1 : at + 3]]
        day = next(filter(None, map(_day_number, near)), 0)
        year = next((int(other) for other in near if _is_year(other)), 0)
        if not (day or year or has_preposition):
            return None  # "may" is also a verb
        year = year or today.tm_year - ((month, day) > today[1:3])
    if not 0 < month <= 12 or day > 31:
        return None
    if day:
        return (year, month, day - around), (year, month, day + 3 * around + 1)
    return (year, month, 1), (year, month + 1, 1)


def _month(word: str) -> int:
    """The number of a month, by its name or the first three letters; 0 for anything else."""
    return next((number for number, name in enumerate(_MONTHS, 1) if word in (name, name[:3])), 0)


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdecimal() and word[:2] in ("19", "20")


def _day_number(word: str) -> int:
    """The number of one or two digits in "8", "08" and "8th"; 0 for anything else."""
    digits = word[:-2] if word[-2:] in ("st", "nd", "rd", "th") else word
    return int(digits) if digits.isdecimal() and len(digits) <= 2 else 0
