"""Finding, counting and following the events of this machine's store."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from core import clock
from core.errors import Failure, usage
from core.records import Event, EventQuery
from core.store import history as stored
from core.store import sqlite
from otel.event import identifier, parse_level
from otel.log import as_words

_MAX_FACET_VALUES = 20
_MAX_WORDS = 64
_RECENT_MS = 15 * 60_000
_FACETS = ("level", "source", "component", "action")
ROUTINE = ("hook.completed", "memory.recall.started")
"""What each hook and each recall leaves: shown only to who asks for it by action, component, level or word."""
_OF_KNOWLEDGE = {"retrievals": "system_knowledge.retrieval", "watchdog_checks": "knowledge.watchdog.check"}
_SHOWN = ("sessionId", "systemId", "level", "source", "component", "action", "success")


def query(options: Mapping[str, Any], now: int) -> EventQuery:
    """What the options of a command look for; each may be absent. `now` is in ms since the epoch."""
    levels = []
    for name in _names(options.get("level")):
        known = parse_level(name)
        if known is None:
            fix = "give --level debug, info, warn, error or fatal"
            raise usage("OTEL_INVALID_ARGS", f"there is no level {name!r}", fix)
        levels.append(known)
    parts = (options.get("query") or "").split("|")  # `a b|c`: a and b, or c; none for all events
    any_of = [words for part in parts if (words := _words(part))]
    components, actions = _names(options.get("component")), _names(options.get("action"))
    asked = components or actions or "debug" in levels or options.get("all")
    words = [word for words in any_of for word in words]
    hidden = [] if asked else [one for one in ROUTINE if not any(word in as_words(one) for word in words)]
    return {
        "any_of": any_of,
        "inverted": bool(options.get("invert")),
        "levels": levels,
        "sources": _names(options.get("source")),
        "components": components,
        "actions": actions,
        "hidden": hidden,
        "session": identifier(options.get("session") or ""),
        "system": identifier(options.get("system") or ""),
        "success": options.get("success"),
        "since": options.get("since_ms") or max(0, now - int(options.get("hours", 24) * clock.HOUR_MS)),
    }


def _names(text: str | None) -> list[str]:
    return list(dict.fromkeys(filter(None, map(str.strip, (text or "").split(",")))))


def _words(text: str) -> list[str]:
    """The parts between spaces, `a.b` as `a b`. One without letters and digits counts only where nothing else is asked
    for, and then finds nothing.
    """
    if text.strip() in ("", "*"):
        return []
    parts = dict.fromkeys(filter(None, map(as_words, text.split())))
    return list(parts)[:_MAX_WORDS] or text.split()[:1]


def find(asked: EventQuery, *, limit: int, page: int, text: str | None = None) -> dict[str, Any]:
    """One page of events, newest first, as the mirrored CLI shows them; `text` is the query as it was given."""
    (counts,), events = _read([asked], limit, page)
    return {
        **({} if text is None else {"query": text}),
        "found": sum(counts["level"].values()),
        "page": page,
        "limit": limit,
        "filterBy": _filter_by(asked),
        "events": [shown(event) for event in events],
        "facets": _facets(counts),
        "hidden": asked["hidden"],
    }


def stats(asked: EventQuery, *, hours: float, now: int) -> dict[str, Any]:
    """How many events and errors there are in the window and in the last 15 minutes."""
    (whole, recent), _ = _read([asked, {**asked, "since": now - _RECENT_MS}], 0, 1)
    return {
        "windowHours": int(hours) if hours == int(hours) else hours,
        "filterBy": _filter_by(asked),
        **_rates(whole),
        "recent15m": _rates(recent),
        "knowledge": {
            name: sum(number for action, number in whole["action"].items() if asked_for in action)
            for name, asked_for in _OF_KNOWLEDGE.items()
        },
        "facets": _facets(whole),
    }


def _read(queries: list[EventQuery], limit: int, page: int) -> tuple[list[dict[str, dict[str, int]]], list[Event]]:
    counts: list[dict[str, dict[str, int]]] = [{name: {} for name in _FACETS} for _ in queries]
    found: list[Event] = []
    db = sqlite.open_reading()
    if db is None:
        return counts, found
    db.execute("BEGIN")  # the page and the counts are of one moment
    for asked, count in zip(queries, counts, strict=True):
        for *values, number in stored.tally(db, asked):
            for name, value in zip(_FACETS, values, strict=True):
                count[name][value] = count[name].get(value, 0) + number
    if limit:
        found = stored.newest(db, queries[0], limit, (page - 1) * limit)
    db.execute("COMMIT")
    return counts, found


def _rates(counts: dict[str, dict[str, int]]) -> dict[str, Any]:
    levels = counts["level"]
    total, errors = sum(levels.values()), levels.get("error", 0) + levels.get("fatal", 0)
    return {"total": total, "errors": errors, "errorRate": round(errors / total, 4) if total else 0.0}


def _facets(counts: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    rows = []
    for name in _FACETS:
        ranked = sorted(counts[name].items(), key=lambda item: (-item[1], item[0]))[:_MAX_FACET_VALUES]
        rows.append({"field_name": name, "counts": [{"value": value, "count": count} for value, count in ranked]})
    return rows


def follow(asked: EventQuery, limit: int) -> Iterator[list[Event]]:
    """New events as other processes store them, oldest first; first the newest `limit` that are there."""
    last: int | None = None
    file = 0
    while True:
        found: list[Event] = []
        try:
            db = sqlite.open_reading()
            if db is not None and file != (file := os.stat(db.filename).st_ino) and last is not None:
                last = 0
            newest = stored.last_seq(db) if db is not None else last or 0
            if db is not None and last is None:
                found = stored.newest(db, asked, limit)[::-1]
            elif db is not None and newest != last:
                after = last or 0
                query: EventQuery = {**asked, "since": 0} if after else asked
                found = [one for _, one in stored.behind(db, after, upto=newest, query=query)]
            if db is not None:
                db.close()
            last = newest
        except (sqlite.StoreError, Failure) as error:
            failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
            if failure.code != "STORE_BUSY":
                raise failure from None
        yield found


def shown(event: Event) -> dict[str, Any]:
    """An event as `list`, `search` and `--follow` print it."""
    return {
        "id": event["id"],
        "ts": clock.iso(event["timestamp"]),
        **{name: event[name] for name in _SHOWN},  # type: ignore[literal-required]
        "duration_ms": event.get("duration_ms"),
        "error": event.get("error"),
        "metadata_keys": list(event["metadata"]),
        "metadata": event["metadata"],
    }


def _filter_by(asked: EventQuery) -> str:
    """The filters in force, in Typesense's notation, as the mirrored CLI shows them."""
    parts = [f"timestamp:>={asked['since']}"]
    for field, names in (
        ("level", asked["levels"]), ("source", asked["sources"]), ("component", asked["components"]),
        ("action", asked["actions"]),
    ):  # fmt: skip
        if names:
            parts.append(f"{field}:=[{','.join(map(_quoted, names))}]")
    for field, value in (("sessionId", asked["session"]), ("systemId", asked["system"])):
        if value:
            parts.append(f"{field}:={_quoted(value)}")
    if asked["success"] is not None:
        parts.append(f"success:={'true' if asked['success'] else 'false'}")
    return " && ".join(parts)


def _quoted(value: str) -> str:
    bare = value.replace("-", "").replace("_", "").replace(".", "")
    return value if bare.isalnum() else "`" + value.replace("`", "'") + "`"
