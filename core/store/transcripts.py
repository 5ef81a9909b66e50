"""Archived transcripts: how far each was read, and what the turns of one session said.

How far is kept in the transaction that stores the episodes, so that neither is without the other.
"""

from __future__ import annotations

from core.store.migrations import row_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

# The partial index on the session needs the second condition; +rowid keeps the planner from walking all episodes.
_OF_SESSION = (
    "SELECT rowid, id, substr(text, 1, ?) FROM document WHERE session_id = ? AND session_id <> ''"
    " AND forgotten_at IS NULL AND +rowid BETWEEN ? AND ?"
)


def position(db: apsw.Connection, source: str) -> tuple[int, str, str] | None:
    """How far a transcript was read, None where nothing was read of it.

    The bytes that were read, a fingerprint of the first of them, and JSON of what the next lines need to know of those
    before.
    """
    row = db.execute("SELECT offset, head, carry FROM transcript WHERE source = ?", (source,)).fetchone()
    return (int(row[0]), str(row[1]), str(row[2])) if row else None


def advance(db: apsw.Connection, source: str, offset: int, head: str, carry: str, at: int) -> None:
    """Store what `position` returns, inside the caller's transaction; `at` in ms since the epoch."""
    db.execute("INSERT OR REPLACE INTO transcript VALUES (?, ?, ?, ?, ?)", (source, offset, head, carry, at))


def turns(db: apsw.Connection, session: str, *, first: int, last: int, characters: int) -> list[tuple[str, str]]:
    """Ids and texts of the first and the last so many turns of a session, oldest first, each text cut."""
    found: dict[int, tuple[str, str]] = {}
    for order, most in (("ASC", first), ("DESC", last)):
        rows = db.execute(
            f"{_OF_SESSION} ORDER BY rowid {order} LIMIT ?", (characters, session, *row_range("episodes"), most)
        )
        found.update((int(rowid), (str(identifier), str(text))) for rowid, identifier, text in rows)
    return [found[rowid] for rowid in sorted(found)]


def prompts(db: apsw.Connection, session: str, *, last: int, characters: int) -> list[str]:
    """What the user said in the last so many prompts of a session, oldest first, each text cut."""
    rows = db.execute(
        f"{_OF_SESSION} AND text LIKE 'user: %' ORDER BY rowid DESC LIMIT ?",
        (characters, session, *row_range("episodes"), last),
    )
    return [str(text) for _, _, text in rows][::-1]
