"""One question to all that is kept, collection by collection: notes, memories, what sessions said, events.

Names are the mirrored CLI's where it has the collection, and ours; a beginning that means one will do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import usage
from core.store import sqlite
from otel import search as events
from recall import engine, snippet
from recall.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.config import Config
    from core.records import Hit

CODE = "SEARCH_INVALID_ARGS"
NAMES = {
    "vault_notes": "knowledge",
    "memory_observations": "observations",
    "run_chunks": "episodes",
    "otel_events": "events",
    "knowledge": "knowledge",
    "observations": "observations",
    "episodes": "episodes",
    "events": "events",
}
"""A name as it may be asked for → ours."""
_SHOWN = {"knowledge": "vault_notes", "observations": "memory_observations", "episodes": "run_chunks",
          "events": "otel_events"}  # fmt: skip
FIELDS = ("type", "source", "project", "category", "tags", "level", "component")
"""What can be filtered and counted by."""
_TITLE_CHARS, _SNIPPET_CHARS = 120, 300
_MOST_WANTED = 100
_NAMED = ("source", "component", "level")
_EVENT_HOURS = 24 * 365 * 10


def collections(given: str) -> tuple[str, ...]:
    """The collections that a name means, all for "".

    Raises:
        Failure: INVALID_COLLECTION.
    """
    if not given.strip():
        return tuple(_SHOWN)
    wanted = given.strip().lower()
    exact = [NAMES[wanted]] if wanted in NAMES else [ours for name, ours in NAMES.items() if name.startswith(wanted)]
    if not exact:
        known = ", ".join(_SHOWN.values())
        raise usage("INVALID_COLLECTION", f"there is no collection {given[:80]!r}", f"use one of {known}")
    return tuple(dict.fromkeys(exact))


def conditions(given: str) -> list[tuple[str, frozenset[str], bool]]:
    """A filter such as `type:=adr && source:=[a,b]` as field, values, and whether a value must be the whole one.

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
    query: str,
    names: Sequence[str],
    *,
    limit: int,
    wanted: Sequence[tuple[str, frozenset[str], bool]],
    facet: str,
    now: int,
    config: Config,
) -> dict[str, Any]:
    """The best `limit` of each collection, those with the best scores first; `totalFound`, `hits`, and `facets`.

    Args:
        wanted: as `conditions` has them.
        facet: what to count the hits by, "" for nothing.
        now: ms since the epoch.

    Raises:
        Failure: what the store says.
    """
    hits: list[dict[str, Any]] = []
    total = 0
    try:
        for name in names:
            found, count = _events(query, limit, wanted, now) if name == "events" else _documents(
                query, name, limit, wanted, now, config
            )  # fmt: skip
            total += count
            hits += found
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    return {
        "totalFound": total,
        "hits": [{key: hit[key] for key in hit if key != "about"} for hit in hits],
        **({"facets": {facet: _counted(hits, facet)}} if facet else {}),
    }


def _documents(
    query: str, name: str, limit: int, wanted: Sequence[Any], now: int, config: Config
) -> tuple[list[dict[str, Any]], int]:
    db = sqlite.open_reading()
    asked = Query(query, limit=_MOST_WANTED if wanted else limit, budget="balanced", collections=(name,))
    vectors = db is not None and sqlite.load_vectors(db)
    result = engine.recall(db, asked, now=now, vectors=vectors, config=config)
    made = [hit for hit in map(_shower(query), result["hits"]) if _fits(hit["about"], wanted)]
    return made[:limit], len(made) if wanted else result["found"]


def _shower(query: str) -> Callable[[Hit], dict[str, Any]]:
    words = query.split()

    def show(hit: Hit) -> dict[str, Any]:
        text = hit["observation"]
        return {
            "collection": _SHOWN[hit["collection"]],
            "id": hit["id"],
            "title": (hit["title"] or " ".join(text.split()))[:_TITLE_CHARS],
            "snippet": snippet.around(text, words, _SNIPPET_CHARS),
            "path": hit["path"] or None,
            "score": hit["score"],
            "type": hit["type"],
            "about": {
                "type": [hit["type"]],
                "source": [hit["source"]],
                "project": [hit["project"]],
                "category": [hit["categoryId"], hit["categoryId"].removeprefix("jc:")],
                "tags": hit["tags"],
            },
        }

    return show


def _events(query: str, limit: int, wanted: Sequence[Any], now: int) -> tuple[list[dict[str, Any]], int]:
    asked = events.query(query, hours=_EVENT_HOURS, now=now)
    found = events.find(asked, limit=_MOST_WANTED if wanted else limit, page=1)
    made = []
    for event in found["events"]:
        about = {"type": [event["action"]], **{name: [event[name]] for name in ("source", "level", "component")}}
        told = event["error"] or " ".join(f"{key} {value}" for key, value in event["metadata"].items())
        made.append({
            "collection": _SHOWN["events"],
            "id": event["id"],
            "title": event["action"][:_TITLE_CHARS],
            "snippet": f"{event['ts']} {' '.join(event[name] for name in _NAMED)}: {told}"[:_SNIPPET_CHARS],
            "path": None,
            "score": None,
            "type": "otel-events",
            "about": about,
        })  # fmt: skip
    kept = [hit for hit in made if _fits(hit["about"], wanted)]
    return kept[:limit], len(kept) if wanted else found["found"]


def _fits(about: dict[str, list[str]], wanted: Sequence[tuple[str, frozenset[str], bool]]) -> bool:
    for name, values, whole in wanted:
        own = [value.lower() for value in about.get(name, []) if value]
        if not any(value == other if whole else other in value for value in own for other in values):
            return False
    return True


def _counted(hits: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    counts: dict[str, int] = {}
    for hit in hits:
        for value in hit["about"].get(name, [])[: 1 if name == "category" else None]:
            if value:
                counts[value] = counts.get(value, 0) + 1
    return [{"value": value, "count": count} for value, count in sorted(counts.items(), key=lambda one: (-one[1], one))]
