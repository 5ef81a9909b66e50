"""Finding archived sessions: recall over what was said and done in them, its hits gathered by session."""

from __future__ import annotations

from typing import Any

import apsw

from clients import registry
from core.config import Config
from core.records import Hit
from core.store import sqlite
from core.store.sessions import session_rows
from memory.sessions import transcript
from recall import engine, snippet
from recall.query import Query

SNIPPETS = 3
SNIPPET_CHARS = 500
_HITS_A_SESSION = 6
_MOST_HITS = 100


def search(
    db: apsw.Connection, query: str, *, limit: int, client: str, machine: str, now: int, config: Config
) -> dict[str, Any]:
    """The sessions that bear on a query, best first: `found`, `searched` and the `hits`.

    Args:
        client: only those of this client; "" or `all` for any.
        machine: the name of this one, for the hits.
    """
    asked = Query(
        query, limit=min(_MOST_HITS, limit * _HITS_A_SESSION), budget="balanced", collections=("episodes", "calls"),
        by_name=True,
    )  # fmt: skip
    result = engine.recall(db, asked, now=now, vectors=sqlite.load_vectors(db), config=config)
    wanted = next((name for name in registry.CLIENTS if client.startswith(name)), client)
    by_session: dict[str, list[Hit]] = {}
    for hit in result["hits"]:
        if hit["session"] and (wanted in ("", "all") or hit["source"] == wanted):
            by_session.setdefault(hit["session"], []).append(hit)
    chosen = list(by_session.items())[:limit]
    return {
        "found": len(by_session),
        "searched": session_rows.totals(db)[0],
        "hits": [_hit(db, session, hits, query, machine) for session, hits in chosen],
    }


def _hit(db: apsw.Connection, session: str, hits: list[Hit], query: str, machine: str) -> dict[str, Any]:
    best = hits[0]
    said = [snippet.around(hit["observation"], query.split(), SNIPPET_CHARS) for hit in hits]
    told = transcript.about(db, session)
    return {
        "source": "local",
        "id": session,
        "runId": session,
        **told,
        "machineId": machine,
        "role": best["observation"].partition(":")[0] if best["collection"] == "episodes" else "tool",
        "client": told["client"] or best["source"],
        "project": told["project"] or best["project"],
        "score": best["score"],
        "snippets": list(dict.fromkeys(said))[:SNIPPETS],
    }
