"""Searching the collection `knowledge`: a recall of its sections, shown as files and places in them. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.errors import Failure
from core.store import sqlite
from recall import engine
from recall import hit as hits_of
from recall.query import Query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.config import Config

COLLECTION = "knowledge"
TYPE_NAMES = {
    "decision": "adr", "decisions": "adr", "decision-record": "adr", "architecture-decision-record": "adr",
    "adrs": "adr", "adr": "adr", "skills": "skill", "skill": "skill", "lessons": "lesson", "lessons-learned": "lesson",
    "patterns": "pattern", "retros": "retro", "retrospective": "retro", "retrospectives": "retro",
    "postmortem": "retro", "postmortems": "retro", "notes": "note", "insights": "insight", "runbooks": "runbook",
    "turn-note": "turn_note", "turn-notes": "turn_note", "failed-target": "failed_target",
}  # fmt: skip
_LONGEST_TYPE = 40
SNIPPET = 200  # characters of a hit's snippet
PER_FILE = 2
"""Sections of one file among the hits: the others would say the same."""
_DEPTH = 4
"""How many times the hits that are asked for are looked at, since a file may have many among the first."""
_TYPES_DEPTH = 200
_FOLDER_DEPTH = 500  # hits that are looked at where only those of some types, or of one folder, count
_KEYS = ("id", "type", "title", "score")


def search(
    query: str,
    *,
    limit: int,
    types: Sequence[str] = (),
    below: str = "",
    per_file: int = PER_FILE,
    min_score: float = 0.0,
    now: int,
    config: Config,
) -> tuple[dict[str, Any], apsw.Connection | None]:
    """The sections that bear on a query, best first, and the connection that read them: None where no store is yet."""
    try:
        db = sqlite.open_reading()
        asked = Query(
            query,
            limit=max(limit * _DEPTH, _FOLDER_DEPTH if below else _TYPES_DEPTH if types else 0),
            min_score=min_score,
            budget="balanced",
            collections=(COLLECTION,),
        )
        vectors = db is not None and sqlite.load_vectors(db)
        result = engine.recall(db, asked, now=now, vectors=vectors, config=config)
    except (Failure, sqlite.StoreError) as error:  # under the code that callers of a knowledge search know
        failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
        raise Failure("KNOWLEDGE_SEARCH_FAILED", f"{failure.message} ({failure.code})", failure.fix) from None
    start = below.rstrip("/") + "/" if below else ""
    wanted = [hit for hit in result["hits"] if (not types or hit["type"] in types) and hit["path"].startswith(start)]
    hits: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    for hit in wanted:
        place = hit["path"] or hit["id"]
        counts[place] = counts.get(place, 0) + 1
        if counts[place] <= per_file and len(hits) < limit:
            about = {key: hit[key] for key in _KEYS}  # type: ignore[literal-required]  # keys of the TypedDict
            hits.append({**about, "snippet": snippet(hit["observation"], query), "path": hit["path"]})
    found = len(wanted) if types or below else result["found"]
    return {"query": query, "found": found, "hits": hits, "backend": result["backend"]}, db


def parse_type(name: str) -> str:
    """A type of knowledge as it is stored and asked for: `Decisions` and `ADR` are both `adr`; "" for no name."""
    word = "-".join(words.split(name))[:_LONGEST_TYPE]
    return TYPE_NAMES.get(word, word)


def snippet(text: str, query: str) -> str:
    """The part of a text that a query asks for, on one line, at most SNIPPET characters."""
    return hits_of.snippet(" ".join(text.split()), words.query_terms(query), SNIPPET)
