"""One question to all that is kept, collection by collection: notes, memories, what sessions said, events.

Names are the mirrored CLI's where it has the collection, and ours; a beginning that means one will do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from core.config import Config
from core.errors import usage
from core.store import sqlite
from otel import search as events
from recall import engine, snippet
from recall.query import Query

CODE = "SEARCH_INVALID_ARGS"
_SHOWN = {
    "knowledge": "vault_notes",
    "observations": "memory_observations",
    "episodes": "run_chunks",
    "events": "otel_events",
}
NAMES = {**{shown: ours for ours, shown in _SHOWN.items()}, **{ours: ours for ours in _SHOWN}}
"""A name as it may be asked for → ours."""
FIELDS = ("type", "source", "project", "category", "tags", "level", "component")
"""What can be filtered and counted by."""
_TITLE_CHARS, _SNIPPET_CHARS = 120, 300
_MOST_WANTED = 100
_EVENT_HOURS = 24 * 365 * 10

Wanted = Sequence[tuple[str, frozenset[str], bool]]
"""Fields, their values, and whether a value must be the whole one."""
_Found = tuple[dict[str, Any], dict[str, list[str]]]
"""A hit, and what it can be filtered and counted by."""


def collections(given: str) -> tuple[str, ...]:
    """The collections that a name means, all for "".

    Raises:
        Failure: INVALID_COLLECTION.
    """
    wanted = given.strip().lower()
    exact = [NAMES[wanted]] if wanted in NAMES else [ours for name, ours in NAMES.items() if name.startswith(wanted)]
    if not exact:
        known = ", ".join(_SHOWN.values())
        raise usage("INVALID_COLLECTION", f"there is no collection {given[:80]!r}", f"use one of {known}")
    return tuple(dict.fromkeys(exact))


def conditions(given: str) -> Wanted:
    """A filter such as `type:=adr && source:=[a,b]`.

    Raises:
        Failure: SEARCH_INVALID_ARGS.
    """
    found = []
    for part in filter(None, (piece.strip() for piece in given.split("&&"))):
        name, colon, value = part.partition(":")
        name, whole = name.strip(), value.startswith("=")
        values = value.removeprefix("=").strip().removeprefix("[").removesuffix("]").split(",")
        cleaned = frozenset(one.strip(" `'\"").lower() for one in values if one.strip(" `'\""))
        if not colon or name not in FIELDS or not cleaned:
            raise usage(
                CODE, f"--filter {part[:80]!r} is not understood", f"write field:=value, of {', '.join(FIELDS)}"
            )
        found.append((name, cleaned, whole))
    return found


def search(
    query: str, names: Sequence[str], *, limit: int, wanted: Wanted, facet: str, now: int, config: Config
) -> dict[str, Any]:
    """The best `limit` of each collection: `totalFound`, `hits`, and `facets`, what the hits are counted by.

    Raises:
        Failure: what the store says.
    """
    most = _MOST_WANTED if wanted else limit
    hits: list[_Found] = []
    total = 0
    for name in names:
        if name == "events":
            found, count = _events(query, most, now)
        else:
            found, count = _documents(query, name, most, now, config)
        if wanted:
            found = [one for one in found if _fits(one[1], wanted)]
            count = len(found)
        total += count
        hits += found[:limit]
    result: dict[str, Any] = {"totalFound": total, "hits": [hit for hit, _ in hits]}
    if facet:
        of_hits = [about.get(facet, [])[: 1 if facet == "category" else None] for _, about in hits]
        counts = Counter(value for values in of_hits for value in values if value)
        ordered = sorted(counts.items(), key=lambda one: (-one[1], one))
        result["facets"] = {facet: [{"value": value, "count": count} for value, count in ordered]}
    return result


def _documents(query: str, name: str, most: int, now: int, config: Config) -> tuple[list[_Found], int]:
    asked = Query(query, limit=most, budget="balanced", collections=(name,))
    try:
        db = sqlite.open_reading()
        vectors = db is not None and sqlite.load_vectors(db)
        result = engine.recall(db, asked, now=now, vectors=vectors, config=config)
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    made: list[_Found] = []
    for hit in result["hits"]:
        text, category = hit["observation"], hit["categoryId"]
        about = {
            "type": [hit["type"]], "source": [hit["source"]], "project": [hit["project"]],
            "category": [category, category.removeprefix("jc:")], "tags": hit["tags"],
        }  # fmt: skip
        shown = {
            "collection": _SHOWN[hit["collection"]],
            "id": hit["id"],
            "title": (hit["title"] or " ".join(text.split()))[:_TITLE_CHARS],
            "snippet": snippet.around(text, query.split(), _SNIPPET_CHARS),
            "path": hit["path"] or None,
            "score": hit["score"],
            "type": hit["type"],
        }
        made.append((shown, about))
    return made, result["found"]


def _events(query: str, most: int, now: int) -> tuple[list[_Found], int]:
    found = events.find(events.query({"query": query, "hours": _EVENT_HOURS}, now), limit=most, page=1)
    made: list[_Found] = []
    for event in found["events"]:
        told = event["error"] or " ".join(f"{key} {value}" for key, value in event["metadata"].items())
        named = {name: [event[name]] for name in ("source", "component", "level")}
        where = " ".join(event[name] for name in named)
        shown = {
            "collection": _SHOWN["events"],
            "id": event["id"],
            "title": event["action"][:_TITLE_CHARS],
            "snippet": f"{event['ts']} {where}: {told}"[:_SNIPPET_CHARS],
            "path": None,
            "score": None,
            "type": "otel-events",
        }
        made.append((shown, {"type": [event["action"]], **named}))
    return made, found["found"]


def _fits(about: dict[str, list[str]], wanted: Wanted) -> bool:
    for name, values, whole in wanted:
        own = [value.lower() for value in about.get(name, []) if value]
        if not any(value == other if whole else other in value for value in own for other in values):
            return False
    return True
