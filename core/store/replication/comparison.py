"""The local file and the cluster, document by document and event by event.

What the cluster holds is read once, as it comes, into a temporary table beside the store; then the local documents are
held against it. A document that is gone or forgotten on one side and was never on the other is the same on both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from core.store import documents, sqlite
from core.store.layout import COLLECTIONS
from core.store.replication import replica, status, sync_metadata
from core.store.typesense import cluster, mapping, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw

    from core.config import Config
    from core.store.replication.replica import Side
    from core.store.typesense.cluster import Cluster

ONLY_HERE, ONLY_THERE, CONTENT, COUNTERS = "only here", "only there", "content", "counters"
_DEAD = "dead"
_MOST_LISTED = 100
_TABLE = (
    "CREATE TEMP TABLE IF NOT EXISTS there (id TEXT PRIMARY KEY, state TEXT, recalls INTEGER, priority REAL)"
    " WITHOUT ROWID; DELETE FROM temp.there"
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
    for side in _there(remote, name, whole):
        state = _state(side)
        found.there += state != _DEAD
        counts = (side.recalls, side.priority) if state != _DEAD else (0, 0.0)
        db.execute("INSERT OR REPLACE INTO temp.there VALUES (?, ?, ?, ?)", (side.id, state, *counts))
        progress(1)
    for document in documents.every(db, forgotten=True, collection=name):
        progress(1)
        state = _DEAD if document["forgotten_at"] is not None else replica.content_hash(document)
        found.here += state != _DEAD
        row = db.execute(
            "DELETE FROM temp.there WHERE id = ? RETURNING state, recalls, priority", (document["id"],)
        ).fetchone()
        kind = ""
        if row is None:
            kind = "" if state == _DEAD else ONLY_HERE
        elif row[0] != state:
            kind = ONLY_HERE if row[0] == _DEAD else ONLY_THERE if state == _DEAD else CONTENT
        elif state != _DEAD and row[1:] != (document["recall_count"], document["retrieval_priority"]):
            kind = COUNTERS
        if kind:
            found.differences.append(Difference(name, document["id"], kind))
        else:
            found.same += state != _DEAD
    for (identifier,) in db.execute("SELECT id FROM temp.there WHERE state <> ? ORDER BY id", (_DEAD,)):
        found.differences.append(Difference(name, identifier, ONLY_THERE))
    return found


def _there(remote: Cluster, name: str, whole: bool) -> Iterator[Side]:
    exported = schema.COLLECTIONS[name]
    if whole:
        for row in remote.export(exported, exclude=mapping.EXCLUDED + ",vector"):
            yield sync_metadata.side_of(row, name)
    else:
        for row in remote.export(exported, include=sync_metadata.HEADERS):
            yield sync_metadata.headers_of(row, name)


def _state(side: Side) -> str:
    return _DEAD if side.content == replica.GONE or side.forgotten_at is not None else side.content


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


def verify(config: Config, progress: Callable[[int], None]) -> dict[str, Any]:
    """Take the fingerprint of every document on both sides; what `store verify` answers.

    Raises:
        Failure: what the cluster or the store says.
    """
    remote = cluster.connect(config)
    db = sqlite.open_writing(busy_ms=config.whole("store.busy_ms"), durable=False)
    try:
        found = {name: collection(db, remote, name, whole=True, progress=progress) for name in COLLECTIONS}
        of_events = events(db, remote, progress=progress)
        waiting = status.waiting(db)
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        remote.close()
        db.close()
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
        "differences": [
            {"collection": one.collection, "id": one.id, "kind": one.kind} for one in differences[:_MOST_LISTED]
        ],
        "waiting": waiting,
    }
