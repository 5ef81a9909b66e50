"""How far each transcript was read: kept in the transaction that stores its episodes, so that neither is without the
other."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw


def position(db: apsw.Connection, source: str) -> tuple[int, str, str] | None:
    """Where the reading of a transcript stands, None where nothing was read of it.

    The bytes that were taken in, a fingerprint of the first of them, and JSON of what the next lines need to know of
    those before.
    """
    row = db.execute("SELECT offset, head, carry FROM transcript WHERE source = ?", (source,)).fetchone()
    return (int(row[0]), str(row[1]), str(row[2])) if row else None


def advance(db: apsw.Connection, source: str, offset: int, head: str, carry: str, at: int) -> None:
    """Keep what `position` returns, inside the caller's transaction; `at` in ms since the epoch."""
    db.execute("INSERT OR REPLACE INTO transcript VALUES (?, ?, ?, ?, ?)", (source, offset, head, carry, at))
