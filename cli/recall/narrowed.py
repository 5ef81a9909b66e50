"""A recall narrowed by time, folded by session, and what its filters could have meant where it found nothing."""

from __future__ import annotations

from cli.answer import runnable
from cli.stdout import tell
from core import TYPE_CHECKING, clock, config, files, ids, project, words
from core.errors import usage
from core.store import documents, sqlite
from core.store import sessions as stored_sessions
from recall import categories

if TYPE_CHECKING:
    from typing import Any

    from core.records import RecallResult

_UNITS = {"h": 1, "d": 24, "w": 168, "mo": 730, "m": 730, "y": 8766}
_LAST_MS = 1 << 60
_MOST_NAMED, _LIKE, _MOST_CATEGORIES = 5, 0.4, 50
_TIMES_AS_MANY, _MOST_HITS = 8, 100
"""Hits that are looked at for each session that is wanted, and for all."""


def between(since: str | None, until: str | None, code: str) -> tuple[int, ...]:
    """The first and last time (ms) that --since and --until name; empty without either."""
    now = clock.now_ms()
    if not (since or until):
        return ()
    return (
        _time("--since", since, now, code)[0] if since else 0,
        _time("--until", until, now, code)[1] if until else _LAST_MS,
    )


def _time(flag: str, given: str, now: int, code: str) -> tuple[int, int]:
    """When the time that is named begins and ends."""
    text = given.strip().lower().removesuffix(" ago").replace(" ", "")
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :]
    hours = _UNITS.get(unit) or _UNITS.get(unit[: 1 + unit.startswith("mo")] if len(unit) > 2 else "")
    if number.isdecimal() and len(number) < 6 and hours:
        at = now - int(number) * hours * clock.HOUR_MS
        return at, at
    if number and (moment := clock.parse_iso(given)) is not None:
        return moment, moment + (clock.DAY_MS - 1 if len(given.strip()) == len("2026-05-31") else 0)
    from recall import dates

    found = dates.named(words.split(given), now)
    if found is None:
        raise usage(code, f"{flag} {given[:60]!r} is not a time", f"give {flag} 2w, 36h, 2026-05-31 or 'last week'")
    start, end, _ = found
    return start, end - 1


def looked_at(limit: int | None) -> int:
    """How many hits to ask for, so that there are so many sessions among them."""
    return min((limit or config.load().get_int("recall.limit")) * _TIMES_AS_MANY, _MOST_HITS)


def by_session(result: Any, limit: int | None) -> None:
    """Leave the best hit of each session, which says how many more there are."""
    most = limit or config.load().get_int("recall.limit")
    best: dict[str, Any] = {}
    for hit in result["hits"]:
        first = best.setdefault(hit["session"] or hit["id"], {**hit, "more": -1})
        first["more"] += 1 + hit.get("more", 0)
    result["hits"] = list(best.values())[:most]
    result["count"] = len(result["hits"])


def unknown(result: RecallResult) -> list[str]:
    """Project, category and session of an answer's filters that mean nothing that is kept, with what is nearest."""
    db = sqlite.open_reading()
    if db is None:
        if files.is_store_lost():
            _warn_of_lost_store(result)
        return []
    given = dict(one.partition(":")[::2] for one in result["filtersApplied"])
    known: dict[str, list[str]] = {}
    names = sorted({*documents.projects(db), *stored_sessions.projects(db)})
    sessions = [ids.shown(session) for session, _ in stored_sessions.latest_first(db)]
    if not (names or sessions):
        return []
    if "project" in given and not any(project.same(given["project"], one) for one in names):
        known["project"] = names
    if "category" in given:
        from core.store import overview

        kept = overview.largest(db, "category", _MOST_CATEGORIES)
        if given["category"] not in kept:
            known["category"] = list(map(categories.short, kept))
            given["category"] = result["categoryFilter"]["input"] or ""
    if "session" in given and not stored_sessions.whole_id(db, given["session"]):
        known["session"] = sessions
    nearest = {name: ", ".join(_nearest(name, given[name], near)) or "none" for name, near in known.items()}
    return [f"No {name} {given[name][:80]!r} is known; the nearest: {near}." for name, near in nearest.items()]


def _warn_of_lost_store(result: RecallResult) -> None:
    from session.backup import archive

    lost = archive.lost_store()
    if lost is not None:
        result["warnings"] = [runnable(f"{lost.message}; {lost.fix}")]
        tell(f"joelclaw: {result['warnings'][0]}\n")


def _nearest(name: str, given: str, known: list[str]) -> list[str]:
    """Those that are spelled nearly so; of sessions, whose ids say nothing, the last ones."""
    if name == "session":
        return known[:_MOST_NAMED]
    from difflib import get_close_matches

    return get_close_matches(given, known, _MOST_NAMED, _LIKE) or known[:_MOST_NAMED]
