"""Finds sessions by the beginning of their id, as a person types it."""

from __future__ import annotations

from core.errors import Failure
from core.store import row_range
from core.store.sessions.session_rows import FORGOTTEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

SHORTEST_BEGINNING = 8  # characters of a session's id that may stand for it: as many as are shown of a UUID
_MOST_LISTED = 5


def forgotten_beginning(db: apsw.Connection, start: str) -> str:
    """The first forgotten session whose id begins like this, "" if none does."""
    query = "SELECT id FROM session WHERE id >= ? AND id < ? AND updated_at = ? ORDER BY id LIMIT 1"
    return str(db.execute(query, (start, start + "\U0010ffff", FORGOTTEN)).get or "")


def sessions_beginning(db: apsw.Connection, start: str, most: int) -> list[str]:
    """The first archived sessions whose id begins like this, in order, without forgotten ones."""
    end = start + "\U0010ffff"
    rows = db.execute(
        "SELECT DISTINCT session_id FROM document WHERE session_id >= ? AND session_id < ? AND session_id <> ''"
        " AND +rowid BETWEEN ? AND ? UNION SELECT id FROM session WHERE id >= ? AND id < ?"
        " EXCEPT SELECT id FROM session WHERE updated_at = ? ORDER BY 1 LIMIT ?",
        (start, end, *row_range("episodes"), start, end, FORGOTTEN, most),
    )
    return [str(row[0]) for row in rows]


def whole_id(db: apsw.Connection, given: str, *, least: int = SHORTEST_BEGINNING) -> str:
    """The given id, or the only archived one that begins with it (of `least` characters); "" if there is none."""
    known = (
        "SELECT 1 FROM session WHERE id = ?1 AND updated_at <> ?2 UNION ALL"
        " SELECT 1 FROM document WHERE session_id = ?1 AND session_id <> '' AND forgotten_at IS NULL LIMIT 1"
    )
    if db.execute(known, (given, FORGOTTEN)).get:
        return given
    if len(given) < least:
        return ""
    found = sessions_beginning(db, given, _MOST_LISTED + 1)
    if len(found) > 1:
        shown = ", ".join(found[:_MOST_LISTED]) + (" and more" if len(found) > _MOST_LISTED else "")
        raise Failure("SESSION_AMBIGUOUS", f"several sessions begin with {given}: {shown}", "give a longer id")
    return found[0] if found else ""
