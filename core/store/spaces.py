"""Vector spaces besides the static one; a document's vectors are dropped when it changes or is forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from core.store.document_rows import STATIC_SPACE
from core.store.sqlite import apsw

Pending = tuple[int, int, str, str, str]
"""A document without a vector in a space, as it was read: row, creation, title, text, neighbours."""
_WITHOUT_VECTOR = (
    "FROM document WHERE forgotten_at IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM vector WHERE document = document.rowid AND space = ?)"
)


def code(db: apsw.Connection, name: str) -> int:
    """The number of a space in this store, 0 if it has none of that name."""
    return int(db.execute("SELECT code FROM vector_space WHERE name = ?", (name,)).get or 0)


def ensure(db: apsw.Connection, name: str, dimensions: int) -> int:
    """The number of a space, added if it is new; inside the caller's transaction."""
    # 1 is kept for the static space, which a store without sqlite-vec may not hold yet.
    if not code(db, name):
        new = "INSERT INTO vector_space SELECT max(coalesce(max(code), 0), ?) + 1, ?, ? FROM vector_space"
        db.execute(new, (STATIC_SPACE, name, dimensions))
    return code(db, name)


def pending(db: apsw.Connection, number: int, limit: int, *, after: Pending | None = None) -> list[Pending]:
    """At most `limit` documents without a vector in the space, newest first, after a page's last one."""
    where, parameters = _WITHOUT_VECTOR, [number]
    if after is not None:
        where, parameters = f"{where} AND (created_at, rowid) < (?, ?)", [number, after[1], after[0]]
    query = f"SELECT rowid, created_at, title, text, context {where} ORDER BY created_at DESC, rowid DESC LIMIT ?"
    return list(db.execute(query, (*parameters, limit)))


def missing(db: apsw.Connection, number: int) -> int:
    """How many documents have no vector in the space."""
    return int(db.execute(f"SELECT count(*) {_WITHOUT_VECTOR}", (number,)).get)


def add_vectors(db: apsw.Connection, number: int, made: Sequence[tuple[Pending, bytes]]) -> int:
    """Store vectors, inside the caller's transaction, except for texts that have changed; returns how many."""
    before = db.total_changes()
    db.executemany(
        "INSERT OR REPLACE INTO vector (document, space, value) SELECT rowid, ?, ? FROM document"
        " WHERE rowid = ? AND title = ? AND text = ? AND context = ? AND forgotten_at IS NULL",
        [(number, value, rowid, title, text, around) for (rowid, _, title, text, around), value in made if value],
    )
    return db.total_changes() - before
