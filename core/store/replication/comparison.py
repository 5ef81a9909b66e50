"""The local file and the cluster, document by document and event by event.

What the cluster holds is read once, as it comes, into a temporary table beside the store; then the local documents are
held against it. A document that is gone or forgotten on one side and was never on the other is the same on both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw

from core.store import documents
from core.store.layout import COLLECTIONS
from core.store.replication import outbox, replica
from core.store.typesense import mapping, schema
from core.store.typesense.cluster import Cluster

Kinds = dict[str, str]
"""Id of a document that is not the same on both sides → how."""


ONLY_HERE, ONLY_THERE, CONTENT, COUNTERS = "only here", "only there", "content", "counters"
_DEAD = "dead"
_MOST_LISTED = 100
_TABLE = (
    "CREATE TEMP TABLE IF NOT EXISTS there (id TEXT PRIMARY KEY, state TEXT, used INTEGER, recalls INTEGER,"
    " priority REAL) WITHOUT ROWID; DELETE FROM temp.there"
)


def collection(
    db: apsw.Connection, remote: Cluster, name: str, *, whole: bool, progress: Callable[[int], None]
) -> tuple[Kinds, dict[str, int]]:
    """Hold one collection against the cluster's; the differences, and how many documents there are and agree."""
    kinds: Kinds = {}
    count = {"here": 0, "there": 0, "same": 0}
    db.execute(_TABLE)
    fields = {"exclude": mapping.SEARCHED} if whole else {"include": replica.HEADERS}
    for row in remote.export(schema.COLLECTIONS[name], **fields):
        side = replica.of_row(row, name) if whole else replica.of_headers(row, name)
        count["there"] += not side.dead
        state = _DEAD if side.dead else side.content
        db.execute("INSERT OR REPLACE INTO temp.there VALUES (?, ?, ?, ?, ?)", (side.id, state, *side.counters))
        progress(1)
    take = "DELETE FROM temp.there WHERE id = ? RETURNING state, used, recalls, priority"
    for document in documents.every(db, forgotten=True, collection=name):
        side = replica.of_document(document)
        count["here"] += not side.dead
        there, *counters = db.execute(take, (side.id,)).fetchone() or (_DEAD,)
        if side.dead or there == _DEAD:
            kind = "" if side.dead and there == _DEAD else ONLY_THERE if side.dead else ONLY_HERE
        elif there != side.content:
            kind = CONTENT
        else:
            kind = "" if tuple(counters) == side.counters else COUNTERS
        if kind:
            kinds[side.id] = kind
        count["same"] += not kind and not side.dead
        progress(1)
    for (identifier,) in db.execute("SELECT id FROM temp.there WHERE state <> ? ORDER BY id", (_DEAD,)):
        kinds[identifier] = ONLY_THERE
    return kinds, count


def events(db: apsw.Connection, remote: Cluster, *, progress: Callable[[int], None]) -> tuple[dict[str, int], int]:
    """How many events are here and there, how many of ours are missing there; and the number of the first of those.

    Other machines' events stay on the cluster, and old ones leave the local file; neither is a difference.
    """
    db.execute(_TABLE)
    there = 0
    for row in remote.export(schema.EVENTS, include="id"):
        db.execute("INSERT OR IGNORE INTO temp.there (id) VALUES (?)", (row["id"],))
        there += 1
        progress(1)
    here = int(db.execute("SELECT count(*) FROM event").get)
    ((missing, first),) = db.execute(
        "SELECT count(*), coalesce(min(seq), 0) FROM event WHERE id NOT IN (SELECT id FROM temp.there)"
    )
    return {"here": here, "there": there, "missingThere": int(missing)}, int(first)


def verify(db: apsw.Connection, remote: Cluster, progress: Callable[[int], None]) -> dict[str, Any]:
    """Take the fingerprint of every document on both sides; what `store verify` answers."""
    found = {name: collection(db, remote, name, whole=True, progress=progress) for name in COLLECTIONS}
    of_events, _ = events(db, remote, progress=progress)
    differences = [
        {"collection": name, "id": identifier, "kind": kind}
        for name, (kinds, _) in found.items()
        for identifier, kind in kinds.items()
    ]
    return {
        "same": not differences and not of_events["missingThere"],
        "collections": {name: {**count, "different": len(kinds)} for name, (kinds, count) in found.items()},
        "events": of_events,
        "differences": differences[:_MOST_LISTED],
        "waiting": outbox.waiting(db),
    }
