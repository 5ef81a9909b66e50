"""Searching, counting and following the stored events."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from core import clock
from core.errors import Failure, either, wrong_value
from core.records import Event, EventQuery
from core.store import events as stored_events
from core.store import sqlite
from core.words import listed
from otel.log import LEVELS, as_words, identifier, parse_level

_FACETS = ("level", "source", "component", "action")

Counts = dict[str, dict[str, int]]
"""For each facet, how many events have each of its values."""


def query(options: Mapping[str, Any], now: int) -> EventQuery:
    """The query for the options of a command; all are optional. `now` is in ms since the epoch."""
    levels = []
    for name in listed(options.get("level")):
        level = parse_level(name)
        if level is None:
            raise wrong_value("--level", name, either(LEVELS), "OTEL_INVALID_ARGS")
        levels.append(level)
    alternatives = [words for part in (options.get("query") or "").split("|") if (words := _words(part))]
    components, actions = listed(options.get("component")), listed(options.get("action"))
    asks_for_all = components or actions or "debug" in levels or options.get("all")
    words = [word for alternative in alternatives for word in alternative]
    # of every hook and recall: hidden unless the query asks for an action, a component, debug events or a word of these
    routine = ("hook.completed", "command.completed", "memory.recall.started")
    hidden = [action for action in routine if not any(word in as_words(action) for word in words)]
    return {
        "any_of": alternatives,
        "inverted": bool(options.get("invert")),
        "levels": levels,
        "sources": listed(options.get("source")),
        "components": components,
        "actions": actions,
        "hidden": [] if asks_for_all else hidden,
        "session": identifier(options.get("session") or ""),
        "sessions": None,
        "system": identifier(options.get("system") or ""),
        "success": options.get("success"),
        "since": options.get("since_ms") or max(0, now - int(options.get("hours", 24) * clock.HOUR_MS)),
    }


def find(query: EventQuery, *, limit: int, page: int, text: str | None = None) -> dict[str, Any]:
    """One page of events, newest first, as the mirrored CLI prints them. `text` is the query as it was given."""
    hidden: EventQuery = {**query, "hidden": [], "actions": query["hidden"]}
    (counts, hidden_counts), events = _read([query, hidden], limit, page)
    return {
        **({} if text is None else {"query": text}),
        "found": sum(counts["level"].values()),
        "page": page,
        "limit": limit,
        "filterBy": _filter_by(query),
        "events": [event_row(event) for event in events],
        "facets": _facets(counts),
        "hidden": query["hidden"],
        "hiddenCount": sum(hidden_counts["level"].values()) if query["hidden"] else 0,
    }


def stats(query: EventQuery, *, hours: float, now: int) -> dict[str, Any]:
    """How many events and errors there are in the window and in the last 15 minutes."""
    (counts, recent), _ = _read([query, {**query, "since": now - 15 * 60_000}], 0, 1)
    knowledge = {"retrievals": "system_knowledge.retrieval", "watchdog_checks": "knowledge.watchdog.check"}
    actions = counts["action"].items()
    return {
        "windowHours": int(hours) if hours == int(hours) else hours,
        "filterBy": _filter_by(query),
        **_error_rate(counts),
        "recent15m": _error_rate(recent),
        "knowledge": {name: sum(n for action, n in actions if part in action) for name, part in knowledge.items()},
        "facets": _facets(counts),
    }


def follow(current_query: Callable[[], EventQuery], limit: int) -> Iterator[list[Event]]:
    """First the newest `limit` events, then at each step those that were stored meanwhile, oldest first.

    The query is asked for whenever there are new events, since new sessions may belong to it.
    """
    last: int | None = None
    while True:
        events: list[Event] = []
        try:
            db = sqlite.open_reading()
            newest = stored_events.last_seq(db) if db is not None else 0
            if db is not None and last is None:
                events = stored_events.newest(db, current_query(), limit)[::-1]
            elif db is not None and newest != last:
                query: EventQuery = {**current_query(), "since": 0}
                after = last if last is not None and last <= newest else 0  # another store was put in place
                events = [event for _, event in stored_events.stored_after(db, after, upto=newest, query=query)]
            last = newest
            if db is not None:
                db.close()
        except (sqlite.StoreError, Failure) as error:
            failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
            if failure.code != "STORE_BUSY":
                raise failure from None
        yield events


def event_row(event: Event) -> dict[str, Any]:
    """An event as `list`, `search` and `--follow` print it."""
    same = ("sessionId", "systemId", "level", "source", "component", "action", "success", "duration_ms", "error")
    return {
        "id": event["id"],
        "ts": clock.iso(event["timestamp"]),
        **{name: event.get(name) for name in same},
        "metadata_keys": list(event["metadata"]),
        "metadata": event["metadata"],
    }


def _words(text: str) -> list[str]:
    """The words of a query, `a.b` as `a b`. A query without letters and digits matches nothing, "" and `*` anything."""
    if text.strip() in ("", "*"):
        return []
    parts = dict.fromkeys(filter(None, map(as_words, text.split())))
    return list(parts)[:64] or text.split()[:1]  # each word is a condition in SQL


def _read(queries: list[EventQuery], limit: int, page: int) -> tuple[list[Counts], list[Event]]:
    """The counts for each query, and a page of events for the first, in one transaction."""
    counts: list[Counts] = [{name: {} for name in _FACETS} for _ in queries]
    events: list[Event] = []
    db = sqlite.open_or_empty()
    db.execute("BEGIN")
    for query, by_facet in zip(queries, counts, strict=True):
        for *values, number in stored_events.tally(db, query):
            for name, value in zip(_FACETS, values, strict=True):
                by_facet[name][value] = by_facet[name].get(value, 0) + number
    if limit:
        events = stored_events.newest(db, queries[0], limit, (page - 1) * limit)
    db.execute("COMMIT")
    return counts, events


def _error_rate(counts: Counts) -> dict[str, Any]:
    levels = counts["level"]
    total, errors = sum(levels.values()), levels.get("error", 0) + levels.get("fatal", 0)
    return {"total": total, "errors": errors, "errorRate": round(errors / total, 4) if total else 0.0}


def _facets(counts: Counts) -> list[dict[str, Any]]:
    ranked = {name: sorted(counts[name].items(), key=lambda item: (-item[1], item[0]))[:20] for name in _FACETS}
    return [
        {"field_name": name, "counts": [{"value": value, "count": count} for value, count in rows]}
        for name, rows in ranked.items()
    ]


def _filter_by(query: EventQuery) -> str:
    """The filters in Typesense's notation, as the mirrored CLI prints them."""
    parts = [f"timestamp:>={query['since']}"]
    lists = zip(_FACETS, (query["levels"], query["sources"], query["components"], query["actions"]), strict=True)
    parts += [f"{field}:=[{','.join(map(_quoted, names))}]" for field, names in lists if names]
    ids = (("sessionId", query["session"]), ("systemId", query["system"]))
    parts += [f"{field}:={_quoted(value)}" for field, value in ids if value]
    if query["success"] is not None:
        parts.append(f"success:={'true' if query['success'] else 'false'}")
    return " && ".join(parts)


def _quoted(value: str) -> str:
    bare = value.replace("-", "").replace("_", "").replace(".", "")
    return value if bare.isalnum() else "`" + value.replace("`", "'") + "`"
