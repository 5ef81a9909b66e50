"""The queue of documents that a cluster has not got yet, filled by triggers in the transaction of each write.

The triggers are made by `enable`: a store that never saw a cluster has none. A row says that a document changed, not
what it is: what is sent is the document as it stands then, so many changes are one row, and a resend is no harm.
Events need no rows: their numbers rise, so a cursor is enough.

The version of a document orders its edits on all machines: the time of its last edit (`updated_at`, ms), and where an
edit does not move that forward, one more than the version it replaced.
"""

from __future__ import annotations

import os

from core import clock, files, ids
from core.store import sqlite
from core.store.layout import COLLECTION_SHIFT, COLLECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypedDict

    import apsw

    class Waiting(TypedDict):
        """One document that is to be sent."""

        seq: int
        id: str
        collection: str
        gone: bool
        doubt: int

    class Summary(TypedDict):
        """What waits, for `status`. Times in ms since the epoch, None where there is none."""

        documents: int
        events: int
        refused: int
        refusal: str
        oldest: int | None
        tries: int
        error: str
        next_try: int | None
        synced_at: int | None


LOCK = "outbox.lock"
"""Below JOELCLAW_HOME: held by whoever sends. Its being there says that this memory has a cluster."""
LOOK_AGAIN_MS = 60_000
"""A request without an answer may still be worked on for so long; what it carried is compared once more after that."""
REFUSED_MS = clock.DAY_MS
"""What a cluster will not take is offered again a day later."""
_LONGEST_WAIT_MS = 300_000
_FIRST_WAIT_MS = 1_000
_LONGEST_ERROR = 300

_TIME = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
_LIVE = "(SELECT value FROM outbox_state WHERE name = 'quiet') IS NULL"
_QUEUE = (
    "INSERT OR REPLACE INTO outbox (id, collection, gone, queued_at, doubt) SELECT {row}.id, {row}.rowid >> "
    f"{COLLECTION_SHIFT}, {{gone}}, coalesce(min(queued_at), {_TIME}), coalesce(max(doubt), 0)"
    " FROM outbox WHERE id = {row}.id;"
)
_OLD_VERSION = "max(OLD.updated_at, coalesce((SELECT version FROM outbox_version WHERE id = OLD.id), 0))"
_CONTENT = (
    "text", "context", "title", "path", "category_id", "category_confidence", "category_source", "taxonomy_version",
    "tags", "source", "session_id", "project", "observation_type", "privacy", "created_at", "updated_at",
    "write_verdict", "write_confidence", "write_reason", "write_gate_version", "write_gate_fallback", "merged_count",
    "superseded_by", "supersedes", "stale", "fingerprint", "history", "forgotten_at",
)  # fmt: skip
_CHANGED = " OR ".join(f"NEW.{name} IS NOT OLD.{name}" for name in _CONTENT)
_TRIGGERS = {
    "outbox_inserted": f"""AFTER INSERT ON document WHEN {_LIVE} BEGIN
  UPDATE outbox_version SET version = version + 1 WHERE id = NEW.id AND version >= NEW.updated_at;
  {_QUEUE.format(row="NEW", gone=0)}
END""",
    "outbox_updated": f"""AFTER UPDATE ON document WHEN {_LIVE} BEGIN
  INSERT OR REPLACE INTO outbox_version SELECT NEW.id, {_OLD_VERSION} + 1
    WHERE NEW.updated_at <= {_OLD_VERSION} AND ({_CHANGED});
  {_QUEUE.format(row="NEW", gone=0)}
END""",
    "outbox_deleted": f"""AFTER DELETE ON document WHEN {_LIVE} BEGIN
  INSERT OR REPLACE INTO outbox_version VALUES (OLD.id, {_OLD_VERSION} + 1);
  {_QUEUE.format(row="OLD", gone=1)}
END""",
}


def enabled(db: apsw.Connection) -> bool:
    """Whether writes are noted for a cluster."""
    return bool(db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'outbox_updated'").get)


def enable(db: apsw.Connection) -> bool:
    """Note writes from now on, and all that was written before; whether that was new.

    A store that was copied from another machine becomes a machine of its own.

    Raises:
        Failure: the store cannot be written.
    """
    files.touch_private(lock_path())
    place = _place(db)
    if enabled(db) and state(db, "place") == place:
        return False
    with sqlite.transaction(db):
        fresh = not enabled(db)
        for name, body in _TRIGGERS.items():
            db.execute(f"DROP TRIGGER IF EXISTS {name}")
            db.execute(f"CREATE TRIGGER {name} {body}")
        if fresh:
            db.execute(
                "INSERT OR IGNORE INTO outbox (id, collection, queued_at)"
                f" SELECT id, rowid >> {COLLECTION_SHIFT}, {_TIME} FROM document WHERE forgotten_at IS NULL"
                " ORDER BY rowid"
            )
        former = str(state(db, "origin") or "")
        if state(db, "place") != place:
            if former:  # what was counted as that machine stays its share; ours begins at nothing
                db.execute(
                    "INSERT OR REPLACE INTO outbox_share SELECT id, ?1, ?2, recall_count - (SELECT"
                    " coalesce(sum(recalls), 0) FROM outbox_share s WHERE s.id = d.id AND origin <> ?1),"
                    " retrieval_priority - (SELECT"
                    " coalesce(sum(priority), 0) FROM outbox_share s WHERE s.id = d.id AND origin <> ?1)"
                    " FROM document d WHERE recall_count <> 0 OR retrieval_priority <> 0",
                    (former, number(db)),
                )
            set_state(db, origin=ids.uuid7(), place=place)
    return True


def disable(db: apsw.Connection) -> None:
    """Note nothing any more, and drop what waits: the store goes back to one machine.

    What other machines added to the counters is kept, so that a later `enable` adds nothing twice.
    """
    with sqlite.transaction(db):
        for name in _TRIGGERS:
            db.execute(f"DROP TRIGGER IF EXISTS {name}")
        db.execute("DELETE FROM outbox; DELETE FROM outbox_seen")
        set_state(db, events=None, tries=None, error=None, next_try=None, synced_at=None)
    try:
        os.unlink(lock_path())
    except FileNotFoundError:
        pass


def lock_path() -> str:
    """Where the lock of the sender lies."""
    return os.path.join(files.home(), LOCK)


def _place(db: apsw.Connection) -> str:
    status = os.stat(db.filename)
    return f"{os.uname().nodename}:{status.st_dev}:{status.st_ino}"


def state(db: apsw.Connection, name: str) -> str | int | float | None:
    """A value kept beside the outbox."""
    row = db.execute("SELECT value FROM outbox_state WHERE name = ?", (name,)).fetchone()
    return None if row is None else row[0]


def set_state(db: apsw.Connection, **values: str | float | None) -> None:
    """Keep values; None removes one."""
    for name, value in values.items():
        if value is None:
            db.execute("DELETE FROM outbox_state WHERE name = ?", (name,))
        else:
            db.execute("INSERT OR REPLACE INTO outbox_state VALUES (?, ?)", (name, value))


def origin(db: apsw.Connection) -> str:
    """Which machine this store is, among those that share a cluster."""
    return str(state(db, "origin") or "")


def number(db: apsw.Connection) -> int:
    """The number of the last batch that this machine sent."""
    return int(state(db, "number") or 0)


class quiet:  # noqa: N801  # reads as the statement it is
    """`with quiet(db):` inside a transaction: what is written is not noted, since it came from the cluster."""

    __slots__ = ("_db",)

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        set_state(self._db, quiet=1)

    def __exit__(self, *_: object) -> None:
        set_state(self._db, quiet=None)


def next_batch(db: apsw.Connection, *, now: int, limit: int) -> list[Waiting]:
    """The first documents that may be sent, in the order of their last change."""
    rows = db.execute(
        "SELECT seq, id, collection, gone, doubt FROM outbox WHERE not_before <= ? ORDER BY seq LIMIT ?", (now, limit)
    )
    names = {code: name for name, code in COLLECTIONS.items()}
    return [
        {"seq": seq, "id": identifier, "collection": names[collection], "gone": bool(gone), "doubt": doubt}
        for seq, identifier, collection, gone, doubt in rows
    ]


def pending(db: apsw.Connection, most: int) -> list[int]:
    """Rows of the documents that the cluster has not got as they are, the newest changes first, at most so many."""
    rows = db.execute(
        "SELECT document.rowid FROM outbox JOIN document USING (id) WHERE forgotten_at IS NULL"
        " ORDER BY seq DESC LIMIT ?",
        (most,),
    )
    return [int(rowid) for (rowid,) in rows]


def withdrawn(db: apsw.Connection) -> list[str]:
    """Ids of what was forgotten or deleted here, and may still be found on the cluster."""
    rows = db.execute(
        "SELECT outbox.id FROM outbox LEFT JOIN document USING (id)"
        " WHERE document.id IS NULL OR forgotten_at IS NOT NULL ORDER BY seq"
    )
    return [str(identifier) for (identifier,) in rows]


def mark_sent(db: apsw.Connection, batch: Sequence[Waiting], *, now: int) -> int:
    """Note, before a batch is sent, that its outcome may stay unknown; returns the batch's number."""
    with sqlite.transaction(db):
        following = number(db) + 1
        set_state(db, number=following)
        db.executemany(
            "UPDATE outbox SET doubt = ? WHERE seq = ? AND doubt = 0", [(now, waiting["seq"]) for waiting in batch]
        )
    return following


def confirm(db: apsw.Connection, batch: Iterable[Waiting], *, now: int) -> None:
    """Take out, inside the caller's transaction, what the cluster holds now.

    A row of which an earlier request went unanswered is looked at once more: that request may still be under way, and
    would put an older document over this one.
    """
    for waiting in batch:
        if waiting["doubt"]:
            db.execute(
                "UPDATE outbox SET doubt = 0, refusal = '', not_before = ? WHERE seq = ?",
                (max(now, waiting["doubt"] + LOOK_AGAIN_MS), waiting["seq"]),
            )
        else:
            db.execute("DELETE FROM outbox WHERE seq = ?", (waiting["seq"],))


def refuse(db: apsw.Connection, waiting: Waiting, reason: str, *, now: int) -> None:
    """Set aside, inside the caller's transaction, what the cluster will not take as it is."""
    db.execute(
        "UPDATE outbox SET refusal = ?, not_before = ?, doubt = 0 WHERE seq = ?",
        (reason[:_LONGEST_ERROR] or "refused", now + REFUSED_MS, waiting["seq"]),
    )


def give_back(db: apsw.Connection, batch: Iterable[Waiting]) -> None:
    """Note, inside the caller's transaction, that the cluster has certainly not taken these."""
    db.executemany("UPDATE outbox SET doubt = ? WHERE seq = ?", [(one["doubt"], one["seq"]) for one in batch])


def add(db: apsw.Connection, documents: Iterable[tuple[str, str]]) -> None:
    """Queue documents by id and collection, inside the caller's transaction; those that wait keep their place."""
    db.executemany(
        "INSERT INTO outbox (id, collection, gone, queued_at)"
        f" SELECT ?1, ?2, NOT EXISTS (SELECT 1 FROM document WHERE id = ?1), {_TIME}"
        " WHERE true ON CONFLICT (id) DO UPDATE SET not_before = 0",
        [(identifier, COLLECTIONS[collection]) for identifier, collection in documents],
    )


def version(db: apsw.Connection, identifier: str, updated_at: int) -> int:
    """The version of a document that is here, or of one that was deleted (`updated_at` 0 then)."""
    row = db.execute("SELECT version FROM outbox_version WHERE id = ?", (identifier,)).fetchone()
    return updated_at if row is None else max(updated_at, int(row[0]))


def set_version(db: apsw.Connection, identifier: str, value: int, updated_at: int) -> None:
    """Keep the version that a document came with."""
    if value > updated_at:
        db.execute("INSERT OR REPLACE INTO outbox_version VALUES (?, ?)", (identifier, value))
    else:
        db.execute("DELETE FROM outbox_version WHERE id = ?", (identifier,))


def shares(db: apsw.Connection, identifier: str) -> dict[str, tuple[int, int, float]]:
    """What other machines add to a document's counters: by machine, (batch number, recalls, priority)."""
    rows = db.execute("SELECT origin, number, recalls, priority FROM outbox_share WHERE id = ?", (identifier,))
    return {machine: (count, recalls, priority) for machine, count, recalls, priority in rows}


def set_shares(db: apsw.Connection, identifier: str, values: dict[str, tuple[int, int, float]]) -> None:
    """Keep what other machines add."""
    db.executemany(
        "INSERT OR REPLACE INTO outbox_share VALUES (?, ?, ?, ?, ?)",
        [(identifier, machine, *value) for machine, value in values.items()],
    )


def seen(db: apsw.Connection, collection: str) -> dict[str, int]:
    """By machine, the last batch that was read of it."""
    rows = db.execute("SELECT origin, number FROM outbox_seen WHERE collection = ?", (collection,))
    return {machine: int(count) for machine, count in rows}


def set_seen(db: apsw.Connection, collection: str, machine: str, count: int) -> None:
    """Keep that a machine's batches were read up to this number."""
    db.execute("INSERT OR REPLACE INTO outbox_seen VALUES (?, ?, ?)", (collection, machine, count))


def failed(db: apsw.Connection, error: str, *, now: int) -> int:
    """Note that the cluster could not be reached; returns when it is tried again (ms).

    That is 1 s later, then 2, 4 … and at most 5 minutes.
    """
    with sqlite.transaction(db):
        tries = int(state(db, "tries") or 0) + 1
        wait = min(_LONGEST_WAIT_MS, _FIRST_WAIT_MS << min(tries - 1, 20))
        set_state(db, tries=tries, error=error[:_LONGEST_ERROR], next_try=now + wait)
    return now + wait


def succeeded(db: apsw.Connection, *, now: int) -> None:
    """Note that the cluster answered."""
    with sqlite.transaction(db):
        set_state(db, tries=None, error=None, next_try=None, synced_at=now)


def summary(db: apsw.Connection, *, now: int) -> Summary:
    """What waits and how the last try went."""
    ((waiting, oldest),) = db.execute("SELECT count(*), min(queued_at) FROM outbox WHERE not_before <= ?", (now,))
    ((refusals, refusal),) = db.execute("SELECT count(*), max(refusal) FROM outbox WHERE refusal <> ''")
    carried = int(state(db, "events") or 0)
    ((events, first),) = db.execute("SELECT count(*), min(timestamp) FROM event WHERE seq > ?", (carried,))
    times = [at for at in (oldest, first) if at is not None]
    next_try, synced_at = state(db, "next_try"), state(db, "synced_at")
    return {
        "documents": int(waiting),
        "events": int(events),
        "refused": int(refusals),
        "refusal": str(refusal or ""),
        "oldest": min(times) if times else None,
        "tries": int(state(db, "tries") or 0),
        "error": str(state(db, "error") or ""),
        "next_try": None if next_try is None else int(next_try),
        "synced_at": None if synced_at is None else int(synced_at),
    }
