"""Archived transcripts: how far each was read, how its file was then, and what the turns of one session said.

How far is kept in the transaction that stores the episodes, so that neither is without the other.
"""

from __future__ import annotations

from core.errors import Failure
from core.store.layout import row_range
from core.store.sessions.calls import FORGOTTEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    import apsw

    class SeenFile(TypedDict):
        """A file as the archive saw it: see the table `seen_file` in `core.store.migrations`."""

        path: str
        stamp: str
        asked: str
        client: str
        reason: str
        seen_at: int


SHORTEST_BEGINNING = 8
"""Characters of a session's id that may stand for it: as many as are shown of a UUID."""
_MOST_LISTED = 5
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


def said(db: apsw.Connection, session: str, *, until: int, last: int) -> list[tuple[str, str]]:
    """Ids and whole texts of the last so many turns of a session up to `until` (ms since the epoch), oldest first."""
    rows = db.execute(
        "SELECT id, text FROM document WHERE session_id = ? AND session_id <> '' AND forgotten_at IS NULL"
        " AND +rowid BETWEEN ? AND ? AND created_at <= ? ORDER BY rowid DESC LIMIT ?",
        (session, *row_range("episodes"), until, last),
    )
    return [(str(identifier), str(text)) for identifier, text in rows][::-1]


def told(db: apsw.Connection, session: str, last: int) -> list[tuple[str, int]]:
    """Texts and times (ms since the epoch) of the last so many turns of a session, oldest first."""
    rows = db.execute(
        "SELECT text, created_at FROM document WHERE session_id = ? AND session_id <> '' AND forgotten_at IS NULL"
        " AND +rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?",
        (session, *row_range("episodes"), last),
    )
    return [(str(text), int(at)) for text, at in rows][::-1]


def began(db: apsw.Connection, session: str) -> int | None:
    """When the first archived turn of a session was said, in ms since the epoch; None where none is archived."""
    at = db.execute(
        "SELECT min(created_at) FROM document WHERE session_id = ? AND session_id <> '' AND forgotten_at IS NULL"
        " AND +rowid BETWEEN ? AND ?",
        (session, *row_range("episodes")),
    ).get
    return None if at is None else int(at)


def sessions_beginning(db: apsw.Connection, start: str, most: int) -> list[str]:
    """The first ids of archived sessions, in order, that begin so; also of those whose calls are not archived.

    Not those that were forgotten.
    """
    end = start + "\U0010ffff"
    rows = db.execute(
        "SELECT DISTINCT session_id FROM document WHERE session_id >= ? AND session_id < ? AND session_id <> ''"
        " AND +rowid BETWEEN ? AND ? UNION SELECT id FROM session WHERE id >= ? AND id < ?"
        " EXCEPT SELECT id FROM session WHERE updated_at = ? ORDER BY 1 LIMIT ?",
        (start, end, *row_range("episodes"), start, end, FORGOTTEN, most),
    )
    return [str(row[0]) for row in rows]


def whole_id(db: apsw.Connection, given: str, *, least: int = SHORTEST_BEGINNING) -> str:
    """The id of the session that is meant: this one, or the only archived one that begins so; "" where there is none.

    Args:
        least: characters that a beginning must have.

    Raises:
        Failure: SESSION_AMBIGUOUS, naming the sessions that begin so.
    """
    rows = db.execute(
        "SELECT 1 FROM session WHERE id = ? AND updated_at <> ? UNION ALL"
        " SELECT 1 FROM document WHERE session_id = ? AND session_id <> '' AND forgotten_at IS NULL LIMIT 1",
        (given, FORGOTTEN, given),
    )
    if rows.get:
        return given
    if len(given) < least:
        return ""
    found = sessions_beginning(db, given, _MOST_LISTED + 1)
    if len(found) > 1:
        shown = ", ".join(found[:_MOST_LISTED]) + (" and more" if len(found) > _MOST_LISTED else "")
        raise Failure("SESSION_AMBIGUOUS", f"several sessions begin with {given}: {shown}", "give more of the id")
    return found[0] if found else ""


def sources_naming(db: apsw.Connection, session: str) -> list[str]:
    """The transcripts whose path has the id of a session in it."""
    rows = db.execute("SELECT source FROM transcript WHERE instr(source, ?) ORDER BY updated_at DESC", (session,))
    return [str(row[0]) for row in rows]


def seen_files(db: apsw.Connection) -> dict[str, SeenFile]:
    """The files that the archive has seen, by the fingerprint of their path."""
    if not db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'seen_file'").get:
        return {}  # an older store that cannot be written
    rows = db.execute("SELECT path, stamp, asked, client, reason, seen_at FROM seen_file")
    return {
        path: {"path": path, "stamp": stamp, "asked": asked, "client": client, "reason": reason, "seen_at": seen_at}
        for path, stamp, asked, client, reason, seen_at in rows
    }


def note_seen(db: apsw.Connection, seen: Iterable[SeenFile]) -> None:
    """Keep how files were seen, inside the caller's transaction."""
    db.executemany(
        "INSERT OR REPLACE INTO seen_file (path, stamp, asked, client, reason, seen_at) VALUES (?, ?, ?, ?, ?, ?)",
        [(one["path"], one["stamp"], one["asked"], one["client"], one["reason"], one["seen_at"]) for one in seen],
    )


def forget_seen(db: apsw.Connection, paths: Iterable[str]) -> None:
    """Forget that files were seen, inside the caller's transaction."""
    db.executemany("DELETE FROM seen_file WHERE path = ?", [(path,) for path in paths])
