"""What a recall is asked for: the query with its budget, its expansion, and the projects, category and time it names.

Hot path.
"""

from __future__ import annotations

from math import log

from core import TYPE_CHECKING, words
from core.clock import DAY_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date
    from typing import Any

    import apsw

    Days = tuple[date, date]
    """The first and the last day."""


OTHER_PROJECT = 0.8  # of the score of another project's hit, if a project is preferred: near equals come second

# A short word and its long form, in turn.
_ABBREVIATIONS = (
    "db database auth authentication authz authorization config configuration repo repository env environment"
    " deps dependencies perf performance k8s kubernetes i18n internationalization l10n localization"
    " a11y accessibility ci pipeline pr pull docs documentation dir directory param parameter async asynchronous"
    " sync synchronization ts typescript js javascript py python postgres postgresql tz timezone ui interface"
    " infra infrastructure prod production dev development impl implementation fn function msg message err error"
    " lib library pkg package cmd command ctx context creds credentials"
).split()


class Query:
    """A question to the memory: `Query("why the lease is 30 s", limit=3, project="acme/gateway")`."""

    limit: int | None = None  # most hits, 1 to 100; None: the setting recall.limit
    min_score = 0.0  # 0 to 1
    budget = "auto"  # lean, balanced, deep or auto
    category = ""  # an id or alias
    collections: Sequence[str] = ()  # all, if empty; with `by_name` also "calls"
    tags: Sequence[str] = ()  # a memory must have all of them
    session = ""
    between: Sequence[int] = ()  # the first and the last time, in ms
    project = ""  # only its memories and global ones; "" for all projects
    isolated = False  # for text that an agent gets unasked: see `Scope`
    prefer = ""  # the project whose hits come before near equals of others
    include_hold = False  # also what the write gate held back
    include_discard = False  # also what the write gate discarded
    include_superseded = False  # also what another memory replaced
    by_name = False  # also tool calls and places in files; a query that is a single name gets only what contains it
    asking_session = ""  # with `by_name`: its work in a place comes before that of other sessions
    raw = False  # with `by_name`: the texts are all that will be printed, so they are cut to a common length

    def __init__(self, text: str, **fields: Any) -> None:
        self.text = text
        for name, value in fields.items():
            if not hasattr(Query, name):
                raise TypeError(f"Query has no field {name}")
            setattr(self, name, value)

    def profile(self) -> dict[str, Any]:
        """The budget in force; auto is deep for a query of over 90 characters, or with " and " or "why" (contract)."""
        applied, reason = self.budget, "explicit"
        if applied == "auto":
            lowered = self.text.lower()
            applied, reason = "balanced", "auto.default"
            if len(lowered) > 90:
                applied, reason = "deep", "auto.long_query"
            elif " and " in lowered or "why" in lowered:
                applied, reason = "deep", "auto.complex_query"
        return {
            "requested": self.budget, "applied": applied, "reason": reason,
            "fetchMultiplier": {"lean": 1.8, "balanced": 3.0, "deep": 5.0}[applied],
            "maxInject": 5 if applied == "lean" else 10, "rewriteEnabled": applied != "lean",
        }  # fmt: skip


def expand(query: str, *, enabled: bool) -> tuple[str, dict[str, Any]]:
    """The query with the other forms of its abbreviations appended, and the `rewrite` part of the result."""
    if not enabled:
        return query, {"rewritten": False, "strategy": "disabled", "reason": "budget.no_rewrite"}
    reason = _reason_to_skip(query.strip())
    if reason:
        return query, {"rewritten": False, "strategy": "skipped", "reason": reason}
    short, long = _ABBREVIATIONS[::2], _ABBREVIATIONS[1::2]
    other_forms = dict(zip(short + long, long + short, strict=True))
    present = words.split(query)
    added = [other_forms.get(word, "") for word in dict.fromkeys(present)]
    added = [word for word in added if word and word not in present]
    if not added:
        return query, {"rewritten": False, "strategy": "abbreviations", "reason": "nothing_to_expand"}
    return f"{query} {' '.join(added)}", {"rewritten": True, "strategy": "abbreviations", "reason": "expanded"}


def _reason_to_skip(text: str) -> str:
    """Why a query is not expanded (the mirrored CLI's reasons), or ""."""
    if not text:
        return "skip.empty_query"
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return "skip.literal_query"
    parts = text.split()
    if len(parts) == 1 and ("/" in text or "\\" in text or "." in text.strip(".") or "::" in text or "_" in text):
        return "skip.direct_identifier"
    programs = (
        "git npm npx pnpm yarn bun node deno python python3 pip uv cargo rustc go make cmake docker kubectl helm"
        " terraform curl ssh scp rsync ls cd cat grep rg sed awk find chmod chown sudo apt brew systemctl psql sqlite3"
        " redis-cli joelclaw"
    )
    argument = parts[1] if len(parts) > 1 else ""
    if parts[0] in programs.split() and argument.isascii() and (argument.islower() or argument[:1] == "-"):
        return "skip.command_like"
    return "skip.short_query" if len(text) <= 24 and len(parts) <= 3 else ""


class Scope:
    """The projects whose memories a query may return. A memory that names no project has that of its session.

    With `query.project`: its memories and global ones. With `query.isolated` as well, sessions that belong to no
    project are left out; without a project, only global memories remain.
    """

    def __init__(self, db: apsw.Connection, query: Query) -> None:
        self._db = db
        self._query = query
        self._is_limited = bool(query.project or query.isolated)
        self._factors: dict[str, float] = {"": 1.0}
        self._session_projects: dict[str, str | None] = {}
        self.prefer = query.prefer
        self.names: Sequence[str] = ()  # the spellings of the project, and "" for global memories; empty for all
        self.others: Sequence[str] = ()  # other projects; with "" if sessions without a project are not ours
        if self._is_limited:
            from core.store import documents, sessions

            known = documents.projects(db)
            own = self._own(known)
            self.names = (*own, "")
            self.others = [name for name in known if name not in own]
            if query.isolated and (self.others or sessions.has_others(db, own)):
                self.others = [*self.others, ""]

    def excludes(self, project: str, session: str) -> bool:
        """Whether a memory of this project ("" for none) and session is out of scope."""
        if not self._is_limited:
            return False
        if project:
            return project not in self._own((project,))
        if not self._query.isolated or not session:
            return False
        of_session = self._project_of(session)
        return of_session is not None and of_session not in self._own((of_session,))

    def factor(self, project: str, session: str) -> float:
        """The share of its score that a memory of this project and session keeps: 1, or OTHER_PROJECT."""
        if not self.prefer:
            return 1.0
        if not project and session:
            project = self._project_of(session) or ""
        if project not in self._factors:
            from core.project import same

            self._factors[project] = 1.0 if same(project, self.prefer) else OTHER_PROJECT
        return self._factors[project]

    def _own(self, names: Iterable[str]) -> list[str]:
        """Those of the names that mean the query's project."""
        from core.project import names_of, own_names

        return (own_names if self._query.isolated else names_of)(self._query.project, names)

    def _project_of(self, session: str) -> str | None:
        """The project of a session, "" if it has none; None if the session is unknown."""
        if session not in self._session_projects:
            from core.store import sessions

            known = sessions.by_id(self._db, session)
            self._session_projects[session] = known["project"] if known else None
        return self._session_projects[session]


def resolve_category(name: str) -> str:
    """The id of a category given by id or alias, in any case; an unknown name x becomes `jc:x`, "" remains ""."""
    slug = "-".join(name.lower().replace("_", " ").split()).removeprefix("jc:")
    aliases = {
        "prefs": "preferences", "rules": "rules-conventions", "conventions": "rules-conventions",
        "architecture": "system-architecture", "arch": "system-architecture", "ops": "operations",
        "memory": "memory-system", "people": "people-relationships", "relationships": "people-relationships",
    }  # fmt: skip
    return f"jc:{aliases.get(slug, slug)}" if slug else ""


def short_category(category_id: str) -> str:
    """The id without its prefix: `operations` for `jc:operations`."""
    return category_id.removeprefix("jc:")


# The time that a query names, in the user's time zone: "yesterday", "8 May 2023", "in June"

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
    asked = words.split(query)
    time_words = ("ago", "today", "yesterday", *_UNITS, *_WEEKDAYS, *_MONTHS)
    for at, word in enumerate(asked):
        if word in ("latest", "newest", "recent", "recently") or asked[at : at + 2] == ["last", "time"]:
            return Span(None, now)
        if word in time_words or (len(word) == 4 and word[:2] in ("19", "20")):  # any other word needs no calendar
            period = period_named(asked, now)
            if period is not None:
                return Span(*period)
    return None


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
    """The days meant by a date: 2024-05-08, 2024-05, "8 May 2023", "in June", "in 2024"."""
    word, before = asked[at], asked[at - 1] if at else ""
    prepositions = ("in", "of", "since", "during", "last", "this", "on", "early", "late", "mid")
    if _is_year(word):
        month, day = ([_number(part) if len(part) <= 2 else 0 for part in asked[at + 1 : at + 3]] + [0, 0])[:2]
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
