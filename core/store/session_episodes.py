"""What one session said, in order, as its archived turns hold it."""

from __future__ import annotations

from core.store.migrations import COLLECTION_SHIFT, COLLECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

_BASE = COLLECTIONS["episodes"] << COLLECTION_SHIFT
_RANGE = (_BASE, _BASE + (1 << COLLECTION_SHIFT) - 1)
# The partial index on the session needs the second condition; +rowid keeps the planner from walking all episodes.
_OF_SESSION = (
    "SELECT rowid, id, substr(text, 1, ?) FROM document WHERE session_id = ? AND session_id <> ''"
    " AND forgotten_at IS NULL AND +rowid BETWEEN ? AND ? ORDER BY rowid"
)


def texts(db: apsw.Connection, session: str, *, first: int, last: int, characters: int) -> list[tuple[str, str]]:
    """Ids and texts of the first and the last so many turns of a session, oldest first, each text cut."""
    found: dict[int, tuple[str, str]] = {}
    for order, most in (("ASC", first), ("DESC", last)):
        rows = db.execute(f"{_OF_SESSION} {order} LIMIT ?", (characters, session, *_RANGE, most))
        found.update((int(rowid), (str(identifier), str(text))) for rowid, identifier, text in rows)
    return [found[rowid] for rowid in sorted(found)]
