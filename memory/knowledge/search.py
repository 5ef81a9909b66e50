"""Searching the collection `knowledge`: a recall of its sections, shown as files and places in them. Hot path."""

from __future__ import annotations

from core import words
from core.errors import Failure
from recall import engine
from recall.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    import apsw

    from core.config import Config

    class KnowledgeHit(TypedDict):
        """One section of a file. `score` is 0 to 1, `snippet` at most 200 characters on one line."""

        id: str
        type: str
        title: str
        score: float
        snippet: str
        path: str

    class KnowledgeResult(TypedDict):
        """The result of the mirrored CLI's `knowledge search`."""

        query: str
        found: int
        hits: list[KnowledgeHit]


COLLECTION = "knowledge"
TYPE_NAMES = {
    "decision": "adr", "decisions": "adr", "decision-record": "adr", "architecture-decision-record": "adr",
    "adrs": "adr", "adr": "adr", "skills": "skill", "skill": "skill", "lessons": "lesson", "lessons-learned": "lesson",
    "patterns": "pattern", "retros": "retro", "retrospective": "retro", "retrospectives": "retro",
    "postmortem": "retro", "postmortems": "retro", "notes": "note", "insights": "insight", "runbooks": "runbook",
    "turn-note": "turn_note", "turn-notes": "turn_note", "failed-target": "failed_target",
}  # fmt: skip
_LONGEST_TYPE = 40
SNIPPET = 200
"""Characters of a hit's snippet."""
PER_FILE = 2
"""Sections of one file among the hits: the others would say the same."""
_DEPTH = 4
"""How many times the hits that are asked for are looked at, since a file may have many among the first."""
_TYPES_DEPTH = 200
_FOLDER_DEPTH = 500
"""Hits that are looked at where only those of some types, or of one folder, count."""
_LEAD = 60


def search_failed(failure: Failure) -> Failure:
    """What the store says, under the code that callers of a knowledge search know."""
    return Failure("KNOWLEDGE_SEARCH_FAILED", f"{failure.message} ({failure.code})", failure.fix)


def search(
    query: str,
    *,
    limit: int = 10,
    types: Sequence[str] = (),
    below: str = "",
    per_file: int = PER_FILE,
    min_score: float = 0.0,
    now: int,
    config: Config,
) -> tuple[KnowledgeResult, apsw.Connection | None]:
    """The sections that bear on a query, best first, and the connection that read them: None where no store is yet.

    Args:
        types: only sections of these types; empty for all.
        below: only files below this folder, a real path; "" for all.
        per_file: most sections of one file.
        now: ms since the epoch.

    Raises:
        Failure: KNOWLEDGE_SEARCH_FAILED.
    """
    from core.store import sqlite

    try:
        db = sqlite.open_reading()
        asked = Query(
            query,
            limit=max(limit * _DEPTH, _FOLDER_DEPTH if below else _TYPES_DEPTH if types else 0),
            min_score=min_score,
            budget="balanced",  # a session that starts does not wait for the contextual model
            collections=(COLLECTION,),
        )
        vectors = db is not None and sqlite.load_vectors(db)
        result = engine.recall(db, asked, now=now, vectors=vectors, config=config)
    except Failure as failure:
        raise search_failed(failure) from None
    except sqlite.StoreError as error:
        raise search_failed(sqlite.as_failure(error)) from None
    hits: list[KnowledgeHit] = []
    counts: dict[str, int] = {}
    found = 0
    start = below.rstrip("/") + "/" if below else ""
    for hit in result["hits"]:
        if (types and hit["type"] not in types) or not hit["path"].startswith(start):
            continue
        found += 1
        place = hit["path"] or hit["id"]
        counts[place] = counts.get(place, 0) + 1
        if counts[place] <= per_file and len(hits) < limit:
            hits.append(
                {
                    "id": hit["id"],
                    "type": hit["type"],
                    "title": hit["title"],
                    "score": hit["score"],
                    "snippet": snippet(hit["observation"], query),
                    "path": hit["path"],
                }
            )
    chosen: KnowledgeResult = {"query": query, "found": found if types or below else result["found"], "hits": hits}
    return chosen, db


def parse_types(given: str) -> tuple[str, ...]:
    """The types that a comma-separated list names, as they are stored."""
    return tuple(kind for kind in map(parse_type, given.split(",")) if kind)


def parse_type(name: str) -> str:
    """A type of knowledge as it is stored and asked for: `Decisions` and `ADR` are both `adr`; "" for no name."""
    word = "-".join(words.split(name))[:_LONGEST_TYPE]
    return TYPE_NAMES.get(word, word)


def snippet(text: str, query: str) -> str:
    """The part of a text that a query asks for, on one line, at most SNIPPET characters."""
    line = " ".join(text.split())
    if len(line) <= SNIPPET:
        return line
    lower = line.lower()
    places = [at for at in map(lower.find, words.query_terms(query)) if at >= 0] if len(lower) == len(line) else []
    start = max(0, _densest(places) - _LEAD) if places else 0
    start = min(start, len(line) - SNIPPET + 1)
    if start:
        space = line.find(" ", start, start + _LEAD)
        start = space + 1 if space >= 0 else start
    part = line[start:]
    head = "…" if start else ""
    if len(head) + len(part) <= SNIPPET:
        return head + part
    cut = part[: SNIPPET - 1 - len(head)]
    space = cut.rfind(" ")
    return head + (cut[:space] if space > SNIPPET // 2 else cut) + "…"


def _densest(places: list[int]) -> int:
    """The first of the places from which a snippet holds most of them."""
    places.sort()
    return max(places, key=lambda at: (sum(1 for p in places if at <= p < at + SNIPPET - _LEAD), -at))
