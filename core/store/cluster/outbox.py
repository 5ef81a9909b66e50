"""The queue of documents to send to a cluster, filled by triggers in the transaction of each write.

A row says that a document changed, not what it is: what is sent is the document as it stands then. Since the newer edit
wins, the triggers see to it that each moves `updated_at` forward.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from core import TYPE_CHECKING, clock, files, ids
from core.store import COLLECTION_SHIFT, COLLECTIONS, sqlite
from core.store.document_rows import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypedDict

    import apsw

    class Waiting(TypedDict):
        """One document to send."""

        seq: int
        id: str
        collection: str


_LONGEST_ERROR = 300
NO_CONTENT = ("rowid", "id", "updated_at", "recall_count", "retrieval_priority", "last_used_at")
"""Fields of a document by which it is known and counted: a change of another is an edit."""
_TIME = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
_LIVE = "(SELECT value FROM outbox_state WHERE name = 'quiet') IS NULL"
_QUEUE = (
    "INSERT OR REPLACE INTO outbox (id, collection, gone, queued_at) SELECT {row}.id, {row}.rowid >> "
    f"{COLLECTION_SHIFT}, {{gone}}, coalesce(min(queued_at), {_TIME})"
    " FROM outbox WHERE id = {row}.id;"
)
_CHANGED = " OR ".join(f"NEW.{name} IS NOT OLD.{name}" for name in NAMES if name not in NO_CONTENT)
_TRIGGERS = {
    "outbox_inserted": f"""AFTER INSERT ON document WHEN {_LIVE} BEGIN
  UPDATE document SET updated_at = (SELECT version + 1 FROM outbox_version WHERE id = NEW.id)
    WHERE rowid = NEW.rowid AND updated_at <= (SELECT version FROM outbox_version WHERE id = NEW.id);
  {_QUEUE.format(row="NEW", gone=0)}
END""",
    "outbox_updated": f"""AFTER UPDATE ON document WHEN {_LIVE} BEGIN
  UPDATE document SET updated_at = OLD.updated_at + 1
    WHERE rowid = NEW.rowid
      AND (NEW.updated_at < OLD.updated_at OR (NEW.updated_at = OLD.updated_at AND ({_CHANGED})));
  {_QUEUE.format(row="NEW", gone=0)}
END""",
    "outbox_deleted": f"""AFTER DELETE ON document WHEN {_LIVE} BEGIN
  INSERT OR REPLACE INTO outbox_version VALUES (OLD.id, OLD.updated_at + 1);
  {_QUEUE.format(row="OLD", gone=1)}
END""",
}


def enabled(db: apsw.Connection) -> bool:
    """Whether writes are queued for a cluster."""
    return bool(db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'outbox_updated'").get)


def enable(db: apsw.Connection) -> None:
    """Queue writes from now on, and everything written before."""
    files.touch_private(lock_path())
    about = os.stat(db.filename)
    place = f"{os.uname().nodename}:{about.st_dev}:{about.st_ino}"
    wanted = {name: f"CREATE TRIGGER {name} {body}" for name, body in _TRIGGERS.items()}
    there = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'outbox_%'"))
    if there == wanted and state(db, "place") == place:
        return
    with sqlite.transaction(db):
        for name in wanted:
            db.execute(f"DROP TRIGGER IF EXISTS {name}")
        for statement in wanted.values():
            db.execute(statement)
        if not there:
            db.execute(
                "INSERT OR IGNORE INTO outbox (id, collection, queued_at)"
                f" SELECT id, rowid >> {COLLECTION_SHIFT}, {_TIME} FROM document WHERE forgotten_at IS NULL"
                " ORDER BY rowid"
            )
        if state(db, "place") != place:
            set_state(db, origin=ids.uuid7(), place=place)


def disable(db: apsw.Connection) -> None:
    """Queue nothing any more, and drop what waits: the store goes back to one machine."""
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
    """The sender's lock. If it exists, this memory has a cluster (`core.process.background_jobs`)."""
    return os.path.join(files.home(), "outbox.lock")


def state(db: apsw.Connection, name: str) -> str | int | float | None:
    """A value kept beside the outbox."""
    row = db.execute("SELECT value FROM outbox_state WHERE name = ?", (name,)).fetchone()
    return None if row is None else row[0]


def set_state(db: apsw.Connection, **values: str | float | None) -> None:
    """Store values; None removes one."""
    for name, value in values.items():
        if value is None:
            db.execute("DELETE FROM outbox_state WHERE name = ?", (name,))
        else:
            db.execute("INSERT OR REPLACE INTO outbox_state VALUES (?, ?)", (name, value))


@contextmanager
def quiet(db: apsw.Connection) -> Iterator[None]:
    """Inside a transaction: queue nothing of what is written meanwhile, since it came from the cluster."""
    set_state(db, quiet=1)
    yield
    set_state(db, quiet=None)


def next_batch(db: apsw.Connection, *, now: int, limit: int) -> list[Waiting]:
    """The first documents that may be sent, in the order of their last change."""
    rows = db.execute("SELECT seq, id, collection FROM outbox WHERE not_before <= ? ORDER BY seq LIMIT ?", (now, limit))
    names = {code: name for name, code in COLLECTIONS.items()}
    return [{"seq": seq, "id": identifier, "collection": names[code]} for seq, identifier, code in rows]


def holds(db: apsw.Connection, identifier: str) -> bool:
    """Whether a document changed here since it was sent."""
    return db.execute("SELECT 1 FROM outbox WHERE id = ?", (identifier,)).fetchone() is not None


def pending(db: apsw.Connection, most: int) -> tuple[list[int], set[str]]:
    """What the cluster lacks: rows of the newest changes, and the ids of everything forgotten here."""
    rows = db.execute(
        "SELECT document.rowid, outbox.id, forgotten_at FROM outbox LEFT JOIN document USING (id) ORDER BY seq DESC"
    ).fetchall()
    changed = [int(rowid) for rowid, _, forgotten in rows if rowid is not None and forgotten is None]
    return changed[:most], {str(one) for rowid, one, forgotten in rows if rowid is None or forgotten is not None}


def confirm(db: apsw.Connection, batch: Iterable[Waiting]) -> None:
    """Remove, in the caller's transaction, what the cluster now has; a document changed meanwhile has another row."""
    db.executemany("DELETE FROM outbox WHERE seq = ?", [(waiting["seq"],) for waiting in batch])


def refuse(db: apsw.Connection, waiting: Waiting, reason: str, *, now: int) -> None:
    """Set aside for a day, in the caller's transaction, what the cluster refuses."""
    db.execute(
        "UPDATE outbox SET refusal = ?, not_before = ? WHERE seq = ?",
        (reason[:_LONGEST_ERROR] or "refused", now + clock.DAY_MS, waiting["seq"]),
    )


def add(db: apsw.Connection, identifiers: Iterable[str], collection: str) -> None:
    """Queue documents, in the caller's transaction; those that wait already keep their place."""
    db.executemany(
        "INSERT INTO outbox (id, collection, gone, queued_at)"
        f" SELECT ?1, ?2, NOT EXISTS (SELECT 1 FROM document WHERE id = ?1), {_TIME}"
        " WHERE true ON CONFLICT (id) DO UPDATE SET not_before = 0",
        [(identifier, COLLECTIONS[collection]) for identifier in identifiers],
    )


def failed(db: apsw.Connection, error: str, *, now: int) -> int:
    """Record that the cluster could not be reached; returns the time of the next try (ms): after 1 s, 2, 4 … 300."""
    with sqlite.transaction(db):
        tries = int(state(db, "tries") or 0) + 1
        again_at = now + min(300_000, 1_000 << min(tries - 1, 20))
        set_state(db, tries=tries, error=error[:_LONGEST_ERROR], next_try=again_at)
    return again_at


def waiting(db: apsw.Connection) -> dict[str, Any]:
    """What waits, what is refused and why, and how the last try went, for `status` and `store sync`."""
    ((documents, oldest),) = db.execute(
        "SELECT count(*), min(queued_at) FROM outbox WHERE not_before <= ?", (clock.now_ms(),)
    )
    ((refused, refusal),) = db.execute("SELECT count(*), max(refusal) FROM outbox WHERE refusal <> ''")
    carried = int(state(db, "events") or 0)
    ((events, first),) = db.execute("SELECT count(*), min(timestamp) FROM event WHERE seq > ?", (carried,))
    times = {
        "oldest": min((at for at in (oldest, first) if at is not None), default=None),
        "nextTry": state(db, "next_try"),
        "syncedAt": state(db, "synced_at"),
    }
    return {
        "documents": documents,
        "events": events,
        "refused": refused,
        "refusal": refusal or "",
        "tries": int(state(db, "tries") or 0),
        "error": str(state(db, "error") or ""),
        **{name: None if at is None else clock.iso(int(at)) for name, at in times.items()},
    }


def problems(found: dict[str, Any] | None, backend: str) -> list[dict[str, str]]:
    """Problems with syncing; `found` is `waiting`, None if this home never had a cluster."""
    if found is None:
        if backend != "typesense":
            return []
        said = 'store.backend is "typesense", but nothing is sent to a cluster yet'
        return [{"code": "TYPESENSE_NOT_INITIALISED", "message": said, "fix": "run `joelclaw store init`"}]
    wrong = []
    if found["error"]:
        code, _, message = found["error"].partition(": ")
        said = f"{message} ({found['tries']} tries, the next at {found['nextTry']})"
        fix = "check the cluster, then run `joelclaw store sync`; nothing is lost meanwhile"
        wrong.append({"code": code, "message": said, "fix": fix})
    if found["refused"]:
        said = f"the cluster refuses {found['refused']} documents or events: {found['refusal']}"
        fix = "run `joelclaw store init`, then `joelclaw store push`"
        wrong.append({"code": "TYPESENSE_REFUSED", "message": said, "fix": fix})
    return wrong
