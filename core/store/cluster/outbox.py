"""The queue of documents to push to a cluster. Triggers fill it in the transaction of each write.

An entry says only that a document changed. The push sends the current document.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from core import TYPE_CHECKING, clock, files
from core.store import sqlite
from core.store.rows import COLLECTION_SHIFT, NAME_OF

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    import apsw

    Entry = tuple[int, str, str]
    """The number of an entry, and the id and the collection of its document."""

MAX_ERROR_CHARS = 300
_NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"


def _trigger(event: str, row: str) -> str:
    """Queue the row at the end, unless `quiet` is on. `queued_at` remains that of the first unpushed change."""
    return (
        f"AFTER {event} ON document WHEN (SELECT value FROM outbox_state WHERE name = 'quiet') IS NULL BEGIN"
        f" INSERT OR REPLACE INTO outbox (id, collection, queued_at) SELECT {row}.id, {row}.rowid >>"
        f" {COLLECTION_SHIFT}, coalesce(min(queued_at), {_NOW}) FROM outbox WHERE id = {row}.id; END"
    )


_TRIGGERS = {
    "outbox_inserted": _trigger("INSERT", "NEW"),
    "outbox_updated": _trigger("UPDATE", "NEW"),
    "outbox_deleted": _trigger("DELETE", "OLD"),
}


def enabled(db: apsw.Connection) -> bool:
    """Whether writes are queued for a cluster."""
    return bool(db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'outbox_updated'").get)


def enable(db: apsw.Connection) -> None:
    """Queue every write from now on. The first time, queue all documents."""
    files.touch_private(lock_path())
    present = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'outbox_%'"))
    wanted = {name: f"CREATE TRIGGER {name} {body}" for name, body in _TRIGGERS.items()}
    if present == wanted:
        return
    with sqlite.transaction(db):  # triggers of an earlier version are replaced
        for name, statement in wanted.items():
            db.execute(f"DROP TRIGGER IF EXISTS {name}")
            db.execute(statement)
        if not present:
            _queue_documents(db)


def queue_everything(db: apsw.Connection) -> None:
    """Queue all documents and events again, for a cluster that has lost them."""
    with sqlite.transaction(db):
        _queue_documents(db)
        set_state(db, events=None)


def _queue_documents(db: apsw.Connection) -> None:
    db.execute(
        "INSERT INTO outbox (id, collection, queued_at)"
        f" SELECT id, rowid >> {COLLECTION_SHIFT}, {_NOW} FROM document WHERE forgotten_at IS NULL ORDER BY rowid"
        " ON CONFLICT (id) DO UPDATE SET not_before = 0, refusal = ''"
    )


def lock_path() -> str:
    """The lock of `store push`. If the file exists, this home has a cluster (`core.background`)."""
    return os.path.join(files.home(), "outbox.lock")


@contextmanager
def quiet(db: apsw.Connection) -> Iterator[None]:
    """Inside a transaction: do not queue the writes made meanwhile."""
    set_state(db, quiet=1)
    yield
    set_state(db, quiet=None)


def state(db: apsw.Connection, name: str) -> int:
    """A number kept with the outbox, 0 if there is none."""
    row = db.execute("SELECT value FROM outbox_state WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


def set_state(db: apsw.Connection, **values: str | float | None) -> None:
    """Store values in the caller's transaction; None removes a value."""
    for name, value in values.items():
        db.execute("DELETE FROM outbox_state WHERE name = ?", (name,))
        if value is not None:
            db.execute("INSERT INTO outbox_state VALUES (?, ?)", (name, value))


def next_entries(db: apsw.Connection, limit: int) -> list[Entry]:
    """The first entries that are due, in the order of the last changes."""
    rows = db.execute(
        "SELECT seq, id, collection FROM outbox WHERE not_before <= ? ORDER BY seq LIMIT ?", (clock.now_ms(), limit)
    )
    return [(number, document_id, NAME_OF[code]) for number, document_id, code in rows]


def pending(db: apsw.Connection, limit: int) -> tuple[list[int], set[str]]:
    """The rows of the newest unpushed changes, and the ids of all unpushed deletions."""
    rows = db.execute(
        "SELECT document.rowid, outbox.id, forgotten_at FROM outbox LEFT JOIN document USING (id) ORDER BY seq DESC"
    ).fetchall()
    changed = [int(rowid) for rowid, _, forgotten_at in rows if rowid is not None and forgotten_at is None]
    deleted = {str(name) for rowid, name, forgotten_at in rows if rowid is None or forgotten_at is not None}
    return changed[:limit], deleted


def confirm(db: apsw.Connection, numbers: Iterable[int]) -> None:
    """Remove pushed entries, in the caller's transaction. A document that changed meanwhile has a new entry."""
    db.executemany("DELETE FROM outbox WHERE seq = ?", [(number,) for number in numbers])


def set_aside(db: apsw.Connection, number: int, reason: str) -> None:
    """Push an entry that the cluster refuses no sooner than in a day; in the caller's transaction."""
    db.execute(
        "UPDATE outbox SET refusal = ?, not_before = ? WHERE seq = ?",
        (reason[:MAX_ERROR_CHARS] or "refused", clock.now_ms() + clock.DAY_MS, number),
    )


def record_failure(db: apsw.Connection, error: str) -> int:
    """Record that a push failed. Returns when to try again, in ms since the epoch: after 1, 2, 4 … 300 seconds."""
    with sqlite.transaction(db):
        tries = state(db, "tries") + 1
        retry_at = clock.now_ms() + min(300_000, 1_000 << min(tries - 1, 20))
        set_state(db, tries=tries, error=error[:MAX_ERROR_CHARS], next_try=retry_at)
    return retry_at


def record_success(db: apsw.Connection) -> None:
    """Record that everything was pushed without a fault."""
    with sqlite.transaction(db):
        set_state(db, tries=None, error=None, next_try=None, synced_at=clock.now_ms())


def waiting(db: apsw.Connection) -> dict[str, Any]:
    """Pending and refused documents and events, and the result of the last push, as `status` prints them."""
    ((documents, oldest),) = db.execute(
        "SELECT count(*), min(queued_at) FROM outbox WHERE not_before <= ?", (clock.now_ms(),)
    )
    ((refused, refusal),) = db.execute("SELECT count(*), max(refusal) FROM outbox WHERE refusal <> ''")
    ((events, first_event),) = db.execute(
        "SELECT count(*), min(timestamp) FROM event WHERE seq > ?", (state(db, "events"),)
    )
    error = db.execute("SELECT value FROM outbox_state WHERE name = 'error'").fetchone()
    times = {
        "oldest": min((at for at in (oldest, first_event) if at is not None), default=0),
        "nextTry": state(db, "next_try"),
        "syncedAt": state(db, "synced_at"),
    }
    return {
        "documents": documents,
        "events": events,
        "refused": refused,
        "refusal": refusal or "",
        "tries": state(db, "tries"),
        "error": str(error[0]) if error else "",
        **{name: clock.iso(at) if at else None for name, at in times.items()},
    }


def problems(outbox: dict[str, Any] | None, backend: str) -> list[dict[str, str]]:
    """Code, message and fix of each problem. `outbox` is the result of `waiting`, None if this home has no cluster."""
    if outbox is None:
        if backend != "typesense":
            return []
        message = 'store.backend is "typesense", but nothing is sent to a cluster yet'
        return [{"code": "TYPESENSE_NOT_INITIALISED", "message": message, "fix": "run `joelclaw store init`"}]
    problems = []
    if outbox["error"]:
        code, _, message = outbox["error"].partition(": ")
        message = f"{message} ({outbox['tries']} tries, the next at {outbox['nextTry']})"
        fix = "check the cluster, then run `joelclaw store push`; nothing is lost meanwhile"
        problems.append({"code": code, "message": message, "fix": fix})
    if outbox["refused"]:
        message = f"the cluster refuses {outbox['refused']} documents or events: {outbox['refusal']}"
        fix = "run `joelclaw store init`, then `joelclaw store push`"
        problems.append({"code": "TYPESENSE_REFUSED", "message": message, "fix": fix})
    return problems
