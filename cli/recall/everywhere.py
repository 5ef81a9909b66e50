"""`joelclaw search`: one question to all that is kept, collection by collection: notes, memories, sessions, events."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from cli.answer import Answer, quoted, step
from core import clock, config
from core.errors import usage
from core.store import sqlite
from otel import log
from otel import search as events
from recall import engine, snippet
from recall.query import Query
from session import recorded_recall

_CODE = "SEARCH_INVALID_ARGS"
_SHOWN = {
    "knowledge": "vault_notes", "observations": "memory_observations", "episodes": "run_chunks",
    "events": "otel_events",
}  # fmt: skip
_NAMES = {
    **{shown: ours for ours, shown in _SHOWN.items()}, **{ours: ours for ours in _SHOWN},
    "system_knowledge": "knowledge",
}  # fmt: skip
_NOT_HELD = ("blog_posts", "system_log", "discoveries", "transcripts", "voice_transcripts", "docs", "docs_chunks_v2",
             "pi_mono_artifacts")  # fmt: skip
"""Further collections of the mirrored CLI: nothing is found in them here."""
_FIELDS = ("type", "source", "project", "category", "tags", "level", "component")
"""What can be filtered and counted by."""
_TITLE_CHARS, _SNIPPET_CHARS = 120, 300
_MOST_WANTED, _MOST_EVENTS = 100, 1_000
_EVENT_HOURS = 24 * 365 * 10

Wanted = Sequence[tuple[str, frozenset[str], bool]]
"""Fields, their values, and whether a value must be the whole one."""
_Found = list[tuple[dict[str, Any], dict[str, list[str]]]]
"""Hits, and what each can be filtered and counted by."""


def run(options: dict[str, Any]) -> Answer:
    """The best hits of each collection, by its own scores; words and meaning are always searched together."""
    query, facet, collection = options["query"], options["facet"] or "", options["collection"] or ""
    if facet and facet not in _FIELDS:
        raise usage(_CODE, f"--facet {facet[:80]!r} is not known", f"use one of {', '.join(_FIELDS)}")
    names, wanted, limit = collections(collection), conditions(options["filter"] or ""), options["limit"]
    log.store_spooled()
    found: _Found = []
    total = 0
    for name in names:
        search = _events if name == "events" else _documents
        hits, count = search(query, name, _MOST_WANTED if wanted else limit)
        if wanted:
            hits = [hit for hit in hits if fits(hit[1], wanted)]
            count = len(hits)
        total += count
        found += hits[:limit]
    result = {"query": query, "collection": collection or None, "semantic": options["semantic"], "totalFound": total}
    result["hits"] = [hit for hit, _ in found]
    if not names:
        result["reason"] = f"{collection} is not kept here, but these are: {', '.join(_SHOWN.values())}"
    if facet:
        of_hits = [about.get(facet, [])[: 1 if facet == "category" else None] for _, about in found]
        counts = Counter(value for values in of_hits for value in values if value)
        ordered = sorted(counts.items(), key=lambda one: (-one[1], one))
        result["facets"] = {facet: [{"value": value, "count": count} for value, count in ordered]}
    actions = [step(f"joelclaw recall {quoted(query)}", "only memories and tool calls, ranked")]
    shown = [hit for hit, _ in found if hit["collection"] != "otel_events"]
    if shown:
        actions.insert(0, step(f"joelclaw memory show {quoted(shown[0]['id'])}", "the first, whole"))
    elif found:
        actions.insert(0, step(f"joelclaw otel search {quoted(query)}", "the events, in full"))
    return Answer(result, actions)


def collections(given: str) -> tuple[str, ...]:
    """The collections that a name means, all for "", none for one that is not held; or Failure INVALID_COLLECTION."""
    wanted = given.strip().lower()
    meant = [_NAMES[wanted]] if wanted in _NAMES else [ours for name, ours in _NAMES.items() if name.startswith(wanted)]
    if not meant and not any(name.startswith(wanted) for name in _NOT_HELD):
        known = ", ".join(_SHOWN.values())
        raise usage("INVALID_COLLECTION", f"there is no collection {given[:80]!r}", f"use one of {known}")
    return tuple(dict.fromkeys(meant))


def conditions(given: str) -> Wanted:
    """A filter such as `type:=adr && source:=[a,b]`, or Failure SEARCH_INVALID_ARGS."""
    found = []
    for part in filter(None, (piece.strip() for piece in given.split("&&"))):
        name, colon, value = part.partition(":")
        name, whole = name.strip(), value.startswith("=")
        values = value.removeprefix("=").strip().removeprefix("[").removesuffix("]").split(",")
        cleaned = frozenset(one.strip(" `'\"").lower() for one in values if one.strip(" `'\""))
        if not colon or name not in _FIELDS or not cleaned:
            fix = f"write field:=value, of {', '.join(_FIELDS)}"
            raise usage(_CODE, f"--filter {part[:80]!r} cannot be parsed", fix)
        found.append((name, cleaned, whole))
    return found


def fits(about: dict[str, list[str]], wanted: Wanted) -> bool:
    """Whether a hit is one of those that a filter lets through."""
    for name, values, whole in wanted:
        own = [value.lower() for value in about.get(name, []) if value]
        if not any(value == other if whole else other in value for value in own for other in values):
            return False
    return True


def _documents(query: str, name: str, most: int) -> tuple[_Found, int]:
    asked = Query(query, limit=most, budget="balanced", collections=(name,))
    db = sqlite.open_reading()
    vectors = db is not None and sqlite.load_vectors(db)
    result = engine.recall(db, asked, now=clock.now_ms(), vectors=vectors, config=config.load())
    made: _Found = []
    for hit in result["hits"]:
        text, category = hit["observation"], hit["categoryId"]
        about = {
            "type": [hit["type"]], "source": [hit["source"]], "project": [hit["project"]],
            "category": [category, category.removeprefix("jc:")], "tags": hit["tags"],
        }  # fmt: skip
        title, passage = hit["title"] or " ".join(text.split()), snippet.around(text, query.split(), _SNIPPET_CHARS)
        made.append((_shown(name, hit["id"], title, passage, hit["path"] or None, hit["score"], hit["type"]), about))
    return made, result["found"]


def _events(query: str, name: str, most: int) -> tuple[_Found, int]:
    asked = events.query({"query": query, "hours": _EVENT_HOURS}, clock.now_ms())
    found = events.find(asked, limit=_MOST_EVENTS, page=1)
    made: _Found = []
    for event in found["events"]:
        if event["component"] == recorded_recall.COMPONENT:  # who asks for something is no answer to it
            continue
        told = event["error"] or " ".join(f"{key} {value}" for key, value in event["metadata"].items())
        named = {field: [event[field]] for field in ("source", "component", "level")}
        passage = f"{event['ts']} {' '.join(event[field] for field in named)}: {told}"[:_SNIPPET_CHARS]
        shown = _shown(name, event["id"], event["action"], passage, None, None, "otel-events")
        made.append((shown, {"type": [event["action"]], **named}))
    counted = {one["value"]: one["count"] for facet in found["facets"] for one in facet["counts"]}
    return made[:most], found["found"] - counted.get(recorded_recall.COMPONENT, 0)


def _shown(
    name: str, identifier: str, title: str, passage: str, path: str | None, score: float | None, kind: str
) -> Any:
    return {
        "collection": _SHOWN[name], "id": identifier, "title": title[:_TITLE_CHARS], "snippet": passage, "path": path,
        "score": score, "type": kind,
    }  # fmt: skip
