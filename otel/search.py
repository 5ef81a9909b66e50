"""Finding and counting events: those of this machine in the local file, or those of every machine in the cluster."""

from __future__ import annotations

import os

from core import clock
from core.errors import Failure, usage
from core.store import events as stored
from core.store import sqlite
from otel.event import as_words, identifier, parse_level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from core.config import Config
    from core.records import Event, EventQuery

    Page = tuple[int, list[Event], dict[str, dict[str, int]]]
    """How many events were found, those of the page, and how many there are of each value of a facet."""

MAX_FACET_VALUES = 20
MAX_WORDS = 64
MAX_NAMES = 100
_MOST_FAULTS = 20
RECENT_MS = 15 * 60_000
FACETS = ("level", "source", "component", "action")
_SHOWN = ("sessionId", "systemId", "level", "source", "component", "action", "success")


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
    """
    levels = []
    for name in _names("--level", level):
        known = parse_level(name)
        if known is None:
            fix = "give --level debug, info, warn, error or fatal"
            raise usage("OTEL_INVALID_ARGS", f"there is no level {name!r}", fix)
        levels.append(known)
    return {
        "words": words(text),
        "levels": levels,
        "sources": _names("--source", source),
        "components": _names("--component", component),
        "session": identifier(session),
        "system": identifier(system),
        "success": success,
        "since": max(0, now - int(hours * clock.HOUR_MS)),
    }


def words(text: str) -> list[str]:
    """What must occur in an event's search text, at most `MAX_WORDS`: the parts between spaces, `a.b` as `a b`.

    A part without letters and digits counts only when nothing else is asked for, and then finds nothing.
    """
    if text.strip() in ("", "*"):
        return []
    parts = dict.fromkeys(filter(None, map(as_words, text.split())))
    return list(parts)[:MAX_WORDS] or text.split()[:1]


def find(
    asked: EventQuery, *, limit: int, page: int, text: str | None = None, cluster: Config | None = None
) -> dict[str, Any]:
    """One page of events, newest first, as the mirrored CLI shows them.

    Args:
        text: the query as it was given.
        cluster: settings of the cluster to ask: then the result has `backend`, and `fallback` where the cluster did
            not answer and the local file did. None asks the local file.
    """
    ((found, events, counts),), origin = _pages([asked], cluster, limit, page)
    return {
        **({} if text is None else {"query": text}),
        "found": found,
        "page": page,
        "limit": limit,
        "filterBy": filter_by(asked),
        "events": [shown(event) for event in events],
        "facets": _facets(counts),
        **origin,
    }


def stats(asked: EventQuery, *, hours: float, now: int, cluster: Config | None = None) -> dict[str, Any]:
    """How many events and errors there are in the window and in the last 15 minutes; see `find`."""
    (whole, recent), origin = _pages([asked, {**asked, "since": now - RECENT_MS}], cluster, 0, 1)
    return {
        "windowHours": int(hours) if hours == int(hours) else hours,
        "filterBy": filter_by(asked),
        **_rates(whole),
        "recent15m": _rates(recent),
        "facets": _facets(whole[2]),
        **origin,
    }


def _pages(
    queries: Sequence[EventQuery], cluster: Config | None, limit: int, page: int
) -> tuple[list[Page], dict[str, Any]]:
    """A page for each query, from the cluster or the local file, and what the result says of where it comes from."""
    origin: dict[str, Any] = {}
    if cluster is not None:
        try:
            return _cluster_pages(queries, cluster, limit, page), {"backend": "typesense"}
        except Failure as failure:
            fallback = {"from": "typesense", "to": "sqlite", "reason": failure.message, "code": failure.code}
            origin = {"backend": "sqlite", "fallback": fallback}
    try:
        return _local_pages(queries, limit, page), origin
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None


def _cluster_pages(queries: Sequence[EventQuery], settings: Config, limit: int, page: int) -> list[Page]:
    """Of every machine. The server finds whole words, the last one of a query by its beginning too."""
    from core.store.cluster import client, mapping

    same = {
        "collection": mapping.EVENTS,
        "query_by": "search_text",
        "num_typos": 0,
        "drop_tokens_threshold": 0,
        "split_join_tokens": "off",
        "sort_by": "timestamp:desc",
        "facet_by": ",".join(FACETS),
        "max_facet_values": MAX_FACET_VALUES,
        "exclude_fields": "search_text",
        "highlight_fields": "none",
        "highlight_full_fields": "none",
        "enable_highlight_v1": False,
        "page": page,
        "per_page": limit,
    }
    cluster = client.connect(settings)
    try:
        answers = cluster.multi_search(
            [{**same, "q": " ".join(one["words"]) or "*", "filter_by": filter_by(one)} for one in queries]
        )
    finally:
        cluster.close()
    return [
        (
            int(answer["found"]),
            [mapping.event_from_remote(hit["document"]) for hit in answer.get("hits", ())],
            {
                facet["field_name"]: {one["value"]: int(one["count"]) for one in facet["counts"]}
                for facet in answer.get("facet_counts", ())
            },
        )
        for answer in answers
    ]


def _local_pages(queries: Sequence[EventQuery], limit: int, page: int) -> list[Page]:
    db = sqlite.open_reading()
    if db is None:
        return [(0, [], {}) for _ in queries]
    pages: list[Page] = []
    db.execute("BEGIN")  # the page and the counts are of one moment
    for asked in queries:
        counts: dict[str, dict[str, int]] = {name: {} for name in FACETS}
        found = 0
        for *values, number in stored.tally(db, asked):
            found += number
            for name, value in zip(FACETS, values, strict=True):
                counts[name][value] = counts[name].get(value, 0) + number
        pages.append((found, stored.newest(db, asked, limit, (page - 1) * limit) if limit else [], counts))
    db.execute("COMMIT")
    return pages


def follow(asked: EventQuery, limit: int) -> Iterator[list[Event]]:
    """New events as other processes store them, oldest first; first the newest `limit` that are there.

    By the store's own numbering and not by time: two events may have one time, and one may come with an old time. The
    store is opened anew each time: it need not be there yet, and may be replaced by another one meanwhile.

    Raises:
        Failure: the store could not be read: at the start, or later `_MOST_FAULTS` times one after the other.
    """
    last: int | None = None
    file = faults = 0
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
                found = stored.between(db, {**asked, "since": 0} if after else asked, after, newest)
            if db is not None:
                db.close()
            last, faults = newest, 0
        except (sqlite.StoreError, Failure) as error:
            faults += 1
            failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
            if faults == _MOST_FAULTS or (last is None and failure.code != "STORE_BUSY"):
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


def _facets(counts: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    """The most frequent values of each facet, at most `MAX_FACET_VALUES`."""
    rows = []
    for name in FACETS:
        ranked = sorted(counts.get(name, {}).items(), key=lambda item: (-item[1], item[0]))[:MAX_FACET_VALUES]
        rows.append({"field_name": name, "counts": [{"value": value, "count": count} for value, count in ranked]})
    return rows


def _rates(page: Page) -> dict[str, Any]:
    total, _, counts = page
    errors = sum(counts.get("level", {}).get(level, 0) for level in ("error", "fatal"))
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
