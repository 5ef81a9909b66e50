"""Finding archived sessions: recall over what was said and done in them, its hits gathered by session."""

from __future__ import annotations

from typing import Any

import apsw

from clients import registry
from core import clock
from core.config import Config
from core.records import Hit
from core.store.sessions import session_rows, turn_rows
from memory.sessions.transcript import folder_key
from recall import engine, snippet
from recall.query import Query

SNIPPETS = 3
SNIPPET_CHARS = 500
_HITS_A_SESSION = 6
_MOST_HITS = 100


def search(
    db: apsw.Connection | None,
    query: str,
    *,
    limit: int,
    client: str,
    machine: str,
    now: int,
    vectors: bool,
    config: Config,
) -> dict[str, Any]:
    """The sessions that bear on a query, best first: `found`, `searched` and the `hits`.

    Args:
        client: only those of this client; "" or `all` for any.
        machine: the name of this one, for the hits.

    Raises:
        apsw.Error: the store cannot be read.
    """
    asked = Query(
        query, limit=min(_MOST_HITS, limit * _HITS_A_SESSION), budget="balanced", collections=("episodes", "calls"),
        by_name=True,
    )  # fmt: skip
    result = engine.recall(db, asked, now=now, vectors=vectors, config=config)
    wanted = next((name for name in registry.CLIENTS if client.startswith(name)), client)
    by_session: dict[str, list[Hit]] = {}
    for hit in result["hits"]:
        if hit["session"] and (wanted in ("", "all") or hit["source"] == wanted):
            by_session.setdefault(hit["session"], []).append(hit)
    chosen = list(by_session.items())[:limit]
    return {
        "found": len(by_session),
        "searched": session_rows.totals(db)[0] if db is not None else 0,
        "hits": [_hit(db, session, hits, query, machine) for session, hits in chosen if db is not None],
    }


def _hit(db: apsw.Connection, session: str, hits: list[Hit], query: str, machine: str) -> dict[str, Any]:
    known = session_rows.session(db, session)
    folder = known["folder"] if known else ""
    best = hits[0]
    said = [snippet.around(hit["observation"], query.split(), SNIPPET_CHARS) for hit in hits]
    return {
        "source": "local",
        "id": session,
        "runId": session,
        "sessionId": session,
        "machineId": machine,
        "startedAt": clock.iso(turn_rows.spoken(db, session)[1] or None),
        "role": best["observation"].partition(":")[0] if best["collection"] == "episodes" else "tool",
        "cwdKey": folder_key(folder),
        "folder": folder,
        "client": known["client"] if known else best["source"],
        "project": known["project"] if known else best["project"],
        "score": best["score"],
        "snippets": list(dict.fromkeys(said))[:SNIPPETS],
    }
