"""How far a session's episodes were observed, and where an observation comes from: kept in one transaction."""

from collections.abc import Sequence
from typing import TypedDict

import apsw

from core import json_text
from core.store import row_range


class Episode(TypedDict):
    """One archived turn; `created_at` in ms since the epoch."""

    rowid: int
    id: str
    text: str
    project: str
    created_at: int


_BASE, _LAST = row_range("episodes")
# As in `session_rows`: the partial index on the session, and no walk over all episodes.
_OF_SESSION = (
    "FROM document WHERE session_id = ? AND session_id <> '' AND forgotten_at IS NULL AND +rowid > ? AND +rowid <= ?"
)


def position(db: apsw.Connection, session: str) -> tuple[int, str] | None:
    """The row of the last observed episode and a fingerprint of its text; None if none was observed."""
    row = db.execute("SELECT reached, tail FROM observed WHERE session_id = ?", (session,)).fetchone()
    return (int(row[0]), str(row[1])) if row else None


def advance(db: apsw.Connection, session: str, reached: int, tail: str, at: int) -> None:
    """Store what `position` returns, inside the caller's transaction; `at` in ms since the epoch."""
    db.execute("INSERT OR REPLACE INTO observed VALUES (?, ?, ?, ?)", (session, reached, tail, at))
    db.execute("DELETE FROM observed_failure WHERE session_id = ?", (session,))


def failed(db: apsw.Connection, session: str) -> int:
    """Count an unreadable reply, inside the caller's transaction; returns how many came in a row."""
    count = "INSERT INTO observed_failure VALUES (?, 1) ON CONFLICT DO UPDATE SET failures = failures + 1"
    return int(db.execute(f"{count} RETURNING failures", (session,)).get)


def episodes(db: apsw.Connection, session: str, after: int, most: int) -> list[Episode]:
    """The first `most` episodes of a session after a row, oldest first, without forgotten ones."""
    query = f"SELECT rowid, id, text, project, created_at {_OF_SESSION} ORDER BY rowid LIMIT ?"
    return [
        {"rowid": rowid, "id": identifier, "text": text, "project": project, "created_at": at}
        for rowid, identifier, text, project, at in db.execute(query, (session, max(after, _BASE), _LAST, most))
    ]


def episode(db: apsw.Connection, session: str, rowid: int) -> Episode | None:
    """The episode of that row, unless it was forgotten."""
    return next((one for one in episodes(db, session, rowid - 1, 1) if one["rowid"] == rowid), None)


def behind(db: apsw.Connection, session: str, after: int) -> tuple[int, int]:
    """How many episodes a session has after a row, and their characters."""
    query = f"SELECT count(*), coalesce(sum(length(text)), 0) {_OF_SESSION}"
    ((count, characters),) = db.execute(query, (session, max(after, _BASE), _LAST))
    return count, characters


def add_range(db: apsw.Connection, session: str, episode_ids: Sequence[str], at: int) -> int:
    """Record which episodes one reply was about; returns the range's number, for `add_evidence`."""
    new = "INSERT INTO observed_range (session_id, episodes, observed_at) VALUES (?, ?, ?)"
    db.execute(new, (session, json_text.dumps(list(episode_ids)), at))
    return db.last_insert_rowid()


def add_evidence(db: apsw.Connection, document_id: str, observed_range: int) -> None:
    """Record that an observation comes from a range; a merged one comes from several."""
    db.execute("INSERT OR IGNORE INTO evidence VALUES (?, ?)", (document_id, observed_range))


def evidence(db: apsw.Connection, document_id: str) -> list[dict[str, object]]:
    """What an observation comes from, oldest first: session, ids of the episodes, and when it was observed (ms)."""
    rows = db.execute(
        "SELECT session_id, episodes, observed_at FROM evidence JOIN observed_range ON observed_range.id = from_range"
        " WHERE document = ? ORDER BY from_range",
        (document_id,),
    )
    return [{"session": session, "episodes": json_text.loads(listed), "at": at} for session, listed, at in rows]
