"""The time that a query names: "yesterday", "last week", "3 days ago", "8 May 2023", "in June", "the latest".

Imported where a word of the query may name one. Days are those of the user's time zone. Hot path.
"""

from __future__ import annotations

import time
from math import log

from core.clock import DAY_MS
from core.words import split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_OUTSIDE = 0.7
"""What is left of the score of a memory of another time. Of .5 to .9 the best on half of LoCoMo's dated questions."""
_NEAR = 0.85
_OLDEST_DAYS = 3650.0
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS_OF = {"day": 1, "days": 1, "week": 7, "weeks": 7, "month": 30, "months": 30, "year": 365, "years": 365}
_RECENT = frozenset(("latest", "newest", "recent", "recently"))
_PREPOSITIONS = frozenset(("in", "of", "since", "during", "last", "this", "on", "early", "late", "mid"))
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


class Span:
    """A time that a query names, from `start` to `end`; or with no `start` that what is recent is asked for.

    Args:
        start: ms since the epoch, None for whatever is most recent.
        slack: days beside it that count for half: who tells of a day does so on the next.
    """

    __slots__ = ("end", "now", "slack", "start")

    def __init__(self, start: int | None, end: int, now: int, slack: tuple[int, int] = (0, 0)) -> None:
        self.start, self.end, self.now = start, end, now
        self.slack = slack

    def factor(self, at: int) -> float:
        """What is left of the score of a memory of `at` (ms since the epoch): .7 to 1, of an old one .5 to 1."""
        if self.start is None:
            days = max(self.now - at, 0) / DAY_MS
            return 1 - 0.5 * min(log(1 + days) / log(1 + _OLDEST_DAYS), 1.0)
        if self.start <= at < self.end:
            return 1.0
        before, after = self.slack
        return _NEAR if self.start - before * DAY_MS <= at < self.end + after * DAY_MS else _OUTSIDE


def named(query: str, now: int) -> Span | None:
    """The first time that a query names, None where it names none.

    Args:
        now: ms since the epoch.
    """
    words = split(query)
    zone = (time.localtime(now / 1000).tm_gmtoff or 0) * 1000
    today = (now + zone) // DAY_MS
    for at, word in enumerate(words):
        days = _relative(words, at, today) or _absolute(words, at, today)
        if days is not None:
            first, last, slack = days
            return Span(first * DAY_MS - zone, (last + 1) * DAY_MS - zone, now, slack)
        if word in _RECENT or (word == "last" and words[at + 1 : at + 2] == ["time"]):
            return Span(None, now, now)
    return None


_Days = tuple[int, int, tuple[int, int]]
"""First and last day since the epoch, and the slack."""


def _relative(words: Sequence[str], at: int, today: int) -> _Days | None:
    word = words[at]
    after = words[at + 1] if at + 1 < len(words) else ""
    if word == "today":
        return today, today, (0, 0)
    if word == "yesterday":
        return today - 1, today - 1, (0, 0)
    if word in ("last", "past", "this", "previous"):
        monday = today - (today + 3) % 7
        if after == "week":
            return (monday, today, (0, 0)) if word == "this" else (monday - 7, monday - 1, (0, 3))
        if after in ("month", "year"):
            return _calendar(after, word == "this", today)
        if after in _WEEKDAYS:
            return _weekday(after, today)
        if after.isdigit() and words[at + 2 : at + 3] and words[at + 2] in _DAYS_OF:
            return today - _whole(after) * _DAYS_OF[words[at + 2]], today, (0, 0)
    if word in _WEEKDAYS and at and words[at - 1] == "on":
        return _weekday(word, today)
    if word == "ago" and at > 1 and words[at - 1] in _DAYS_OF:
        count = _NUMBERS.get(words[at - 2]) or (_whole(words[at - 2]) if words[at - 2].isdigit() else 0)
        unit = _DAYS_OF[words[at - 1]]
        if count:
            day = today - count * unit
            return day - unit // 2, day + unit // 2, (unit // 2, unit // 2)
    return None


def _calendar(unit: str, is_this: bool, today: int) -> _Days:
    year, month, _ = _civil(today)
    if unit == "year":
        first = year if is_this else year - 1
        return _day(first, 1, 1), _day(first + 1, 1, 1) - 1, (0, 0)
    months = year * 12 + month - 1 - (0 if is_this else 1)
    return *_month(months // 12, months % 12 + 1), (0, 7)


def _weekday(name: str, today: int) -> _Days:
    """The last one before today."""
    back = ((today + 3) % 7 - _WEEKDAYS.index(name) - 1) % 7 + 1
    return today - back, today - back, (0, 1)


def _absolute(words: Sequence[str], at: int, today: int) -> _Days | None:
    word = words[at]
    if word.isdigit():
        return _numeric(words, at)
    month = _month_of(word)
    if not month:
        return None
    beside = [_ordinal(other) for other in (*reversed(words[max(at - 2, 0) : at]), *words[at + 1 : at + 2])]
    if at and words[at - 1] == "of":
        beside = beside[1:]
    day = next((number for number in (*beside[:1], *beside[-1:]) if 1 <= number <= 31), 0)
    year = next((_whole(other) for other in words[at + 1 : at + 4] if _is_year(other)), 0)
    if word in ("may", "march") and not (day or year or (at and words[at - 1] in _PREPOSITIONS)):
        return None
    if not year:
        this_year, this_month, _ = _civil(today)
        year = this_year if month <= this_month else this_year - 1
    if day:
        start = _day(year, month, day)
        return start - 1, start + 3, (6, 11)
    return *_month(year, month), (0, 7)


def _numeric(words: Sequence[str], at: int) -> _Days | None:
    """2024-05-08, 2024-05, or a year after a word like "in"."""
    if not _is_year(words[at]):
        return None
    year = _whole(words[at])
    rest = [_whole(word) if word.isdigit() and len(word) <= 2 else 0 for word in words[at + 1 : at + 3]]
    if rest and 1 <= rest[0] <= 12:
        if len(rest) > 1 and 1 <= rest[1] <= 31:
            start = _day(year, rest[0], rest[1])
            return start - 1, start + 3, (6, 11)
        return *_month(year, rest[0]), (0, 7)
    if at and words[at - 1] in _PREPOSITIONS:
        return _day(year, 1, 1), _day(year + 1, 1, 1) - 1, (0, 7)
    return None


def _whole(word: str) -> int:
    """The number of up to nine digits; 0 for a longer one."""
    return int(word) if len(word) <= 9 and word.isascii() else 0


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isascii() and word.isdigit() and 1990 <= int(word) < 2100


def _ordinal(word: str) -> int:
    """8 of "8", "8th"; 0 of anything else."""
    digits = word[:-2] if word[-2:] in ("st", "nd", "rd", "th") else word
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 2 else 0


def _month_of(word: str) -> int:
    """1 to 12; 0 for a word that names none. Of the short forms only those that mean nothing else."""
    if word in _MONTH_NAMES:
        return _MONTH_NAMES.index(word) + 1
    return _MONTHS.index(word) + 1 if word in _MONTHS and word not in ("may", "mar", "jan") else 0


def _month(year: int, month: int) -> tuple[int, int]:
    following = _day(year + month // 12, month % 12 + 1, 1)
    return _day(year, month, 1), following - 1


def _day(year: int, month: int, day: int) -> int:
    """Days since the epoch, in the Gregorian calendar (Hinnant's days_from_civil)."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _civil(day: int) -> tuple[int, int, int]:
    moment = time.gmtime(day * 86_400)
    return moment.tm_year, moment.tm_mon, moment.tm_mday
