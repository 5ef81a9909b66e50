"""The collection `knowledge`: its search, which is a recall of sections of files. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, clock, config, files, words
from core.errors import Failure
from core.store import sqlite
from recall import engine, hit
from recall.query import Query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

# How people name types of knowledge, in front matter and as folders.
TYPE_NAMES = {
    "decision": "adr", "decisions": "adr", "adrs": "adr", "adr": "adr", "skills": "skill", "skill": "skill",
    "lesson": "lesson", "lessons": "lesson", "pattern": "pattern", "patterns": "pattern", "retro": "retro",
    "retros": "retro", "retrospectives": "retro", "postmortems": "retro", "notes": "note", "runbooks": "runbook",
    "turn-note": "turn_note", "failed-target": "failed_target",
}  # fmt: skip


def search(
    query: str, *, limit: int, types: Sequence[str] = (), below: str = "", per_file: int = 2,
    min_score: float = 0.0,
) -> tuple[dict[str, Any], apsw.Connection | None]:  # fmt: skip
    """The sections that answer a query, only of some types or below a folder, best first; and the connection used.

    The connection is None if there is no store yet. Raises Failure KNOWLEDGE_SEARCH_FAILED.
    """
    # Recall is asked for more than are wanted: other types and folders, and further sections of a file, are left out.
    depth = 500 if below else 200 if types else 4 * limit
    asked = Query(query, limit=max(limit, depth), min_score=min_score, budget="balanced", collections=("knowledge",))
    try:
        db = sqlite.open_reading()
        files.store_loss = sqlite.lost_store(db)
        result = engine.recall(db or sqlite.open_in_memory(), asked, now=clock.now_ms(), config=config.load())
    except (Failure, sqlite.StoreError) as error:  # under the code that callers of a knowledge search know
        failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
        raise Failure("KNOWLEDGE_SEARCH_FAILED", f"{failure.message} ({failure.code})", failure.fix) from None
    start = below.rstrip("/") + "/" if below else ""
    wanted = [row for row in result["hits"] if (not types or row["type"] in types) and row["path"].startswith(start)]
    hits: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    for row in wanted:
        place = row["path"] or row["id"]
        counts[place] = counts.get(place, 0) + 1
        if counts[place] <= per_file and len(hits) < limit:
            hits.append({
                "id": row["id"], "type": row["type"], "title": row["title"], "score": row["score"],
                "snippet": snippet(row["observation"], query), "path": row["path"],
            })  # fmt: skip
    found = len(wanted) if types or below else result["found"]
    return {"query": query, "found": found, "hits": hits, "backend": result["backend"]}, db


def parse_type(name: str) -> str:
    """The stored form of a type of knowledge: `adr` for `Decisions` and `ADR`; "" for no name."""
    word = "-".join(words.split(name))[:40]
    return TYPE_NAMES.get(word, word)


def snippet(text: str, query: str) -> str:
    """The part of a text around the query's words, on one line of 200 characters at most (the contract's limit)."""
    return hit.snippet(" ".join(text.split()), words.query_terms(query), 200)
