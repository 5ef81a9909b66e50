"""The time that a query names, in the user's time zone: "yesterday", "8 May 2023", "in June". Hot path.

The ranking uses it, filters such as `--since` do, and so does a query without a subject (`asks_only_for_a_time`).
Words of time are read in English only. A date in digits (2023-05-08) is read in any language.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    Days = tuple[date, date]
    """The first and the last day."""

_MONTHS = {
    name: number
    for number, month in enumerate((
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december",
    ), 1)
    for name in (month, month[:3])
}  # fmt: skip
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
    is_name = len(asked) == 1 and asked[0] in _MONTHS
    return not is_name and all(
        word in asking or word in words.STOP_WORDS or word in _UNITS or word in _MONTHS
        or word in _WEEKDAYS or _is_year(word) or _day_number(word)
        for word in asked
    )  # fmt: skip


def period_named(asked: Sequence[str], now: int, *, exactly: bool = False) -> tuple[int, int] | None:
    """Start and end, in ms, of the first time that the words of a query name; None if they name none.

    A date includes the days around it, unless `exactly`: people remember dates roughly, and write about an event later.
    """
    time_words = ("ago", "today", "yesterday", *_WEEKDAYS, *_UNITS, *_MONTHS)
    if not any(word in time_words or _is_year(word) for word in asked):
        return None  # this needs no calendar
    import time
    from datetime import date, timedelta

    today = date(*time.localtime(now / 1000)[:3])

    def midnight(day: date) -> int:
        return int(time.mktime((day.year, day.month, day.day, 0, 0, 0, 0, 0, -1))) * 1000

    for at in range(len(asked)):
        try:
            relative = _relative(asked, at, today)
            days = relative or _date(asked, at, today)
            if days is not None:
                first, last = days
                if first == last and not (relative or exactly):
                    first, last = first - timedelta(1), last + timedelta(3)
                return midnight(first), midnight(last + timedelta(1))
        except (ValueError, OverflowError):  # 31 February, or before the year 1
            continue
    return None


def _relative(asked: Sequence[str], at: int, today: date) -> Days | None:
    """The days that a word means, perhaps with those before it: "yesterday", "last Friday", "2 days ago"."""
    from datetime import timedelta

    word, before = asked[at], asked[at - 1] if at else ""
    is_current = before == "this"
    if word in ("today", "yesterday"):
        day = today if word == "today" else today - timedelta(1)
        return day, day
    if word == "ago" and at > 1 and before in _UNITS:
        count = asked[at - 2]
        numbers = ("", "one", "two", "three", "four", "five", "six")
        number = 1 if count == "a" else numbers.index(count) if count in numbers else int(count)
        day, around = today - timedelta(number * _UNITS[before]), timedelta(_UNITS[before] // 2)
        return day - around, day + around
    if before not in ("this", "last", "previous"):  # "on Friday" may be any Friday
        return None
    if word in _WEEKDAYS:
        days_ago = (today.weekday() - _WEEKDAYS.index(word)) % 7
        day = today - timedelta(days_ago or 7 * (not is_current))
        return day, day
    if word == "week":
        monday = today - timedelta(today.weekday())
        return (monday, today) if is_current else (monday - timedelta(7), monday - timedelta(1))
    if word == "month":
        return _month(today if is_current else today.replace(day=1) - timedelta(1))
    return _year(today.year - (not is_current)) if word == "year" else None


def _date(asked: Sequence[str], at: int, today: date) -> Days | None:
    """The days meant by a date: 2024-05-08, 8.5.2024, 5/28/2024, 2024-05, "8 May 2023", "in June", "in 2024"."""
    word, before = asked[at], asked[at - 1] if at else ""
    has_preposition = before in ("in", "of", "since", "during", "last", "this")
    if _is_year(word):
        month, day = ([_day_number(part) for part in asked[at + 1 : at + 3]] + [0, 0])[:2]
        numbers = [_day_number(part) for part in asked[max(at - 2, 0) : at]]
        if not month and len(numbers) == 2 and all(numbers):  # 28.5.2023 or 5/28/2023
            month, day = numbers if numbers[1] > 12 else reversed(numbers)
        if month:
            first = today.replace(int(word), month, 1)
            return (first.replace(day=day),) * 2 if day else _month(first)
        return _year(int(word)) if has_preposition else None
    month = _MONTHS.get(word, 0)
    if not month:
        return None
    around = [*asked[max(at - 2, 0) : at], *asked[at + 1 : at + 3]]
    day = next(filter(None, map(_day_number, around)), 0)
    year = next((int(other) for other in around if _is_year(other)), 0)
    if not (day or year or has_preposition):
        return None  # "may" is also a verb
    if not year:
        year = today.year if (month, day) <= (today.month, today.day) else today.year - 1
    return (today.replace(year, month, day),) * 2 if day else _month(today.replace(year, month, 1))


def _month(within: date) -> Days:
    from datetime import timedelta

    first = within.replace(day=1)
    return first, (first + timedelta(31)).replace(day=1) - timedelta(1)


def _year(year: int) -> Days:
    from datetime import date

    return date(year, 1, 1), date(year, 12, 31)


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdecimal() and word[:2] in ("19", "20")


def _day_number(word: str) -> int:
    """The number of one or two digits in "8", "08" and "8th"; 0 for anything else."""
    digits = word[:-2] if word[-2:] in ("st", "nd", "rd", "th") else word
    return int(digits) if digits.isdecimal() and len(digits) <= 2 else 0
