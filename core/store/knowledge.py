"""The sections of synced files in the store: lists them, removes some, and makes all of them durable."""

from __future__ import annotations

from core.store import documents
from core.store.layout import row_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

COLLECTION = "knowledge"
SOURCE = "knowledge-sync"
"""The `source` of a synced section; what was imported into the collection is not the sync's to remove."""
_BASE, _LAST = row_range(COLLECTION)


def rows_by_file(db: apsw.Connection) -> dict[str, list[int]]:
    """The rows of every synced section that was not forgotten, by the path of its file."""
    found: dict[str, list[int]] = {}
    for path, rowid in db.execute(
        "SELECT path, rowid FROM document WHERE rowid BETWEEN ? AND ? AND forgotten_at IS NULL AND source = ?",
        (_BASE, _LAST, SOURCE),
    ):
        found.setdefault(path, []).append(rowid)
    return found


def any_below(db: apsw.Connection, folder: str) -> bool:
    """Whether a file below the folder has a section that can be recalled."""
    start = folder.rstrip("/") + "/"
    return bool(
        db.execute(
            "SELECT EXISTS (SELECT 1 FROM document WHERE rowid BETWEEN ? AND ? AND forgotten_at IS NULL"
            " AND substr(path, 1, ?) = ?)",
            (_BASE, _LAST, len(start), start),
        ).get
    )


def remove(db: apsw.Connection, rowids: Sequence[int], at: int, *, signatures: bool) -> int:
    """Take sections out for good, inside the caller's transaction; returns how many there were.

    A forgotten one stays a tombstone: its file may come back, and it should not.

    Args:
        at: now, in ms.
        signatures: whether sqlite-vec is loaded.
    """
    removed = 0
    for rowid in rowids:
        if db.execute("SELECT forgotten_at FROM document WHERE rowid = ?", (rowid,)).get is not None:
            continue
        documents.forget(db, rowid, at, signatures=signatures)  # out of the indexes
        db.execute("DELETE FROM document WHERE rowid = ?", (rowid,))
        removed += db.changes()
    return removed


def make_durable(db: apsw.Connection) -> None:
    """Make all that was committed so far survive a power cut, inside one transaction of its own.

    A commit that waits for the disk waits for the whole log; so there must be something to commit.
    """
    version = int(db.execute("PRAGMA user_version").get)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"PRAGMA user_version = {version}")
    db.execute("COMMIT")
