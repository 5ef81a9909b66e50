"""The local file and the cluster, document by document and event by event.

What the cluster holds is read once, as it comes, into a temporary table beside the store; then the local documents are
held against it. A document that is gone or forgotten on one side and was never on the other is the same on both.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from core.store import documents
from core.store.layout import COLLECTIONS
from core.store.replication import outbox, replica
from core.store.typesense import mapping, schema

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from core.store.typesense.cluster import Cluster

ONLY_HERE, ONLY_THERE, CONTENT, COUNTERS = "only here", "only there", "content", "counters"
_DEAD = "dead"
_MOST_LISTED = 100
_TABLE = (
    "CREATE TEMP TABLE IF NOT EXISTS there (id TEXT PRIMARY KEY, state TEXT, used INTEGER, recalls INTEGER,"
    " priority REAL) WITHOUT ROWID; DELETE FROM temp.there"
)


@dataclass(frozen=True)
class Difference:
    """A document that is not the same on both sides."""

    collection: str
    id: str
    kind: str


@dataclass
class Compared:
    """One collection on both sides, forgotten documents not counted."""

    here: int = 0
    there: int = 0
    same: int = 0
    differences: list[Difference] = field(default_factory=list)


def collection(
    db: apsw.Connection, remote: Cluster, name: str, *, whole: bool, progress: Callable[[int], None]
) -> Compared:
    """Hold one collection against the cluster's.

    Args:
        whole: take the fingerprint of what the cluster holds, not the one that was noted when it was sent.
        progress: told how many documents were read.
    """
    found = Compared()
    db.execute(_TABLE)
    fields = {"exclude": mapping.SEARCHED} if whole else {"include": replica.HEADERS}
    for row in remote.export(schema.COLLECTIONS[name], **fields):
        side = replica.of_row(row, name) if whole else replica.of_headers(row, name)
        found.there += not side.dead
        state = _DEAD if side.dead else side.content
        db.execute("INSERT OR REPLACE INTO temp.there VALUES (?, ?, ?, ?, ?)", (side.id, state, *side.counters))
        progress(1)
    for document in documents.every(db, forgotten=True, collection=name):
        side = replica.of_document(document)
        found.here += not side.dead
        known = db.execute(
            "DELETE FROM temp.there WHERE id = ? RETURNING state, used, recalls, priority", (side.id,)
        ).fetchone()
        there = _DEAD if known is None else known[0]
        kind = ""
        if side.dead or there == _DEAD:
            kind = "" if side.dead and there == _DEAD else ONLY_THERE if side.dead else ONLY_HERE
        elif there != side.content:
            kind = CONTENT
        elif known is not None and known[1:] != side.counters:
            kind = COUNTERS
        if kind:
            found.differences.append(Difference(name, side.id, kind))
        else:
            found.same += not side.dead
        progress(1)
    for (identifier,) in db.execute("SELECT id FROM temp.there WHERE state <> ? ORDER BY id", (_DEAD,)):
        found.differences.append(Difference(name, identifier, ONLY_THERE))
    return found


class Events(NamedTuple):
    """How many events are here and on the cluster, how many of ours are missing there, and the number of the first."""

    here: int
    there: int
    missing: int
    first: int


def events(db: apsw.Connection, remote: Cluster, *, progress: Callable[[int], None]) -> Events:
    """The events of both sides.

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
    return Events(here, there, int(missing), int(first))


def verify(db: apsw.Connection, remote: Cluster, progress: Callable[[int], None]) -> dict[str, Any]:
    """Take the fingerprint of every document on both sides; what `store verify` answers.

    Raises:
        Failure: what the cluster says.
    """
    found = {name: collection(db, remote, name, whole=True, progress=progress) for name in COLLECTIONS}
    of_events = events(db, remote, progress=progress)
    differences = [one for compared in found.values() for one in compared.differences]
    return {
        "same": not differences and not of_events.missing,
        "collections": {
            name: {
                "here": compared.here,
                "there": compared.there,
                "same": compared.same,
                "different": len(compared.differences),
            }
            for name, compared in found.items()
        },
        "events": {"here": of_events.here, "there": of_events.there, "missingThere": of_events.missing},
        "differences": [asdict(one) for one in differences[:_MOST_LISTED]],
        "waiting": outbox.waiting(db),
    }
