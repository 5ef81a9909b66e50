"""Finding and counting events."""

from __future__ import annotations

from core import clock
from core.errors import usage
from core.store import events as stored
from otel import levels, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.store.interface import Event, EventQuery

MAX_FACET_VALUES = 20
MAX_WORDS = 64
MAX_NAMES = 100
RECENT_MS = 15 * 60_000
FACETS = ("level", "source", "component", "action")
ERRORS = ("error", "fatal")


def query(
    text: str = "",
    *,
    level: str = "",
    source: str = "",
    component: str = "",
    session: str = "",
    system: str = "",
    success: bool | None = None,
    hours: float = 24,
    now: int,
) -> EventQuery:
    """What to look for.

    Args:
        text: words that must all occur; empty or `*` for any event.
        level, source, component: names, comma-separated; empty for any. A level may have its name in other loggers.
        hours: how far back from `now` (ms).

    Raises:
        Failure: OTEL_INVALID_ARGS, a level that there is not, or more than `MAX_NAMES` names.
    """
    wanted: list[str] = []
    for name in _names("--level", level):
        known = levels.parse(name)
        if known is None:
            raise usage(
                "OTEL_INVALID_ARGS", f"there is no level {name!r}", "give --level debug, info, warn, error or fatal"
            )
        wanted.append(known)
    return {
        "words": words(text),
        "levels": wanted,
        "sources": _names("--source", source),
        "components": _names("--component", component),
        "session": record.identifier(session),
        "system": record.identifier(system),
        "success": success,
        "since": max(0, now - int(hours * clock.HOUR_MS)),
    }


def words(text: str) -> list[str]:
    """What must occur in an event's search text, at most `MAX_WORDS`: the parts between spaces, `a.b` as `a b`.

    A part without letters and digits counts only when nothing else is asked for, and then finds nothing.
    """
    if text.strip() in ("", "*"):
        return []
    parts = dict.fromkeys(filter(None, map(record.as_words, text.split())))
    return list(parts)[:MAX_WORDS] or text.split()[:1]


def find(
    db: apsw.Connection | None, asked: EventQuery, *, limit: int, page: int, text: str | None = None
) -> dict[str, Any]:
    """One page of events, newest first, as the mirrored CLI shows them; `text` is the query as it was given.

    Raises:
        apsw.Error: the store cannot be read.
    """
    events: list[Event] = []
    rows: list[tuple[str, str, str, str, int]] = []
    if db is not None:
        db.execute("BEGIN")  # the page and the counts are of one moment
        rows = stored.tally(db, asked)
        events = stored.newest(db, asked, limit, (page - 1) * limit)
        db.execute("COMMIT")
    return {
        **({} if text is None else {"query": text}),
        "found": sum(row[4] for row in rows),
        "page": page,
        "limit": limit,
        "filterBy": filter_by(asked),
        "events": [shown(event) for event in events],
        "facets": facets(rows),
    }


def stats(db: apsw.Connection | None, asked: EventQuery, *, hours: float, now: int) -> dict[str, Any]:
    """How many events and errors there are in the window and in the last 15 minutes.

    Raises:
        apsw.Error: the store cannot be read.
    """
    rows = stored.tally(db, asked) if db is not None else []
    recent: EventQuery = {**asked, "since": now - RECENT_MS}
    return {
        "windowHours": int(hours) if hours == int(hours) else hours,
        "filterBy": filter_by(asked),
        **_rates(rows),
        "recent15m": _rates(stored.tally(db, recent) if db is not None else []),
        "facets": facets(rows),
    }


def shown(event: Event) -> dict[str, Any]:
    """An event as `list`, `search` and `--follow` print it."""
    return {
        "id": event["id"],
        "ts": clock.iso(event["timestamp"]),
        "sessionId": event["sessionId"],
        "systemId": event["systemId"],
        "level": event["level"],
        "source": event["source"],
        "component": event["component"],
        "action": event["action"],
        "success": event["success"],
        "duration_ms": event.get("duration_ms"),
        "error": event.get("error"),
        "metadata_keys": list(event["metadata"]),
        "metadata": event["metadata"],
    }


def facets(rows: Sequence[tuple[str, str, str, str, int]]) -> list[dict[str, Any]]:
    """The most frequent values of each facet, at most `MAX_FACET_VALUES`."""
    result: list[dict[str, Any]] = []
    for column, name in enumerate(FACETS):
        counts: dict[str, int] = {}
        for row in rows:
            value = str(row[column])
            counts[value] = counts.get(value, 0) + row[4]
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_FACET_VALUES]
        result.append({"field_name": name, "counts": [{"value": value, "count": number} for value, number in ranked]})
    return result


def filter_by(asked: EventQuery) -> str:
    """The filters in force, in Typesense's notation."""
    parts = [f"timestamp:>={asked['since']}"]
    for field, names in (("level", asked["levels"]), ("source", asked["sources"]), ("component", asked["components"])):
        if names:
            parts.append(f"{field}:=[{','.join(map(_quoted, names))}]")
    for field, value in (("sessionId", asked["session"]), ("systemId", asked["system"])):
        if value:
            parts.append(f"{field}:={_quoted(value)}")
    if asked["success"] is not None:
        parts.append(f"success:={'true' if asked['success'] else 'false'}")
    return " && ".join(parts)


def _rates(rows: Iterable[tuple[str, str, str, str, int]]) -> dict[str, Any]:
    total = errors = 0
    for level, _, _, _, number in rows:
        total += number
        errors += number if level in ERRORS else 0
    return {"total": total, "errors": errors, "errorRate": round(errors / total, 4) if total else 0.0}


def _names(flag: str, text: str) -> list[str]:
    names = list(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if len(names) > MAX_NAMES:
        raise usage("OTEL_INVALID_ARGS", f"{flag} has {len(names)} names", f"give {flag} at most {MAX_NAMES}")
    return names


def _quoted(value: str) -> str:
    """In backticks, as Typesense wants it, where the value holds anything of its notation."""
    bare = value.replace("-", "").replace("_", "").replace(".", "")
    return value if bare.isalnum() else "`" + value.replace("`", "'") + "`"
