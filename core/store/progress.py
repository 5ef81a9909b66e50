"""How far transcripts were read, sessions observed, and turns indexed together. Times in ms. Hot path.

A segment is what was said in a row in a session, indexed as a whole, so that words from several turns find the
session. It ends after SEGMENT_CHARS; the last segment of a session grows. Triggers note in `segment_due` from where a
session has changed, and `renew_segments` indexes it again from there.

Functions that write belong inside the caller's transaction.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.store import sqlite
from core.store.rows import fetch_dicts, row_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.records import Episode

SEGMENT_CHARS = 4_000  # a LoCoMo session has 2,400 characters, a day with an agent ten times that
TURN_CHARS = 1_000  # of a turn that are indexed: the rest of a long text is seldom about the turns around it
RENEWED_AT_ONCE = 8  # sessions per transaction


def transcript_position(db: apsw.Connection, source: str) -> tuple[int, str, str] | None:
    """The bytes read of a transcript, a fingerprint of the first of them, and JSON that the next lines need."""
    row = db.execute("SELECT offset, head, carry FROM transcript WHERE source = ?", (source,)).fetchone()
    return (int(row[0]), str(row[1]), str(row[2])) if row else None


def save_transcript_position(db: apsw.Connection, source: str, offset: int, head: str, carry: str, at: int) -> None:
    """Store `transcript_position`."""
    db.execute("INSERT OR REPLACE INTO transcript VALUES (?, ?, ?, ?, ?)", (source, offset, head, carry, at))


def sources_naming(db: apsw.Connection, session: str) -> list[str]:
    """The transcripts with a session's id in their path, the newest first."""
    rows = db.execute("SELECT source FROM transcript WHERE instr(source, ?) ORDER BY updated_at DESC", (session,))
    return [str(row[0]) for row in rows]


def sources(db: apsw.Connection) -> set[str]:
    """The transcripts that were read."""
    return {source for (source,) in db.execute("SELECT source FROM transcript")}


def seen_files(db: apsw.Connection) -> dict[str, dict[str, Any]]:
    """The files that the archive has seen, by the fingerprint of their path."""
    seen: list[dict[str, Any]] = fetch_dicts(db, "SELECT * FROM seen_file", ())
    return {file["path"]: file for file in seen}


def note_seen(db: apsw.Connection, seen: Iterable[dict[str, Any]], gone: Iterable[str]) -> None:
    """Record the state of files, and delete the records of others."""
    db.executemany(
        "INSERT OR REPLACE INTO seen_file (path, stamp, asked, client, reason, seen_at)"
        " VALUES (:path, :stamp, :asked, :client, :reason, :seen_at)",
        list(seen),
    )
    db.executemany("DELETE FROM seen_file WHERE path = ?", [(path,) for path in gone])


def observed_position(db: apsw.Connection, session: str) -> tuple[int, str] | None:
    """The row of the last observed episode and a fingerprint of its text; None if none was observed."""
    row = db.execute("SELECT reached, tail FROM observed WHERE session_id = ?", (session,)).fetchone()
    return (int(row[0]), str(row[1])) if row else None


def save_observed_position(db: apsw.Connection, session: str, reached: int, tail: str, at: int) -> None:
    """Store `observed_position`, and forget failed replies."""
    db.execute("INSERT OR REPLACE INTO observed VALUES (?, ?, ?, ?)", (session, reached, tail, at))
    db.execute("DELETE FROM observed_failure WHERE session_id = ?", (session,))


def count_failed_reply(db: apsw.Connection, session: str) -> int:
    """Count an unreadable reply of the model; returns how many came in a row."""
    count = "INSERT INTO observed_failure VALUES (?, 1) ON CONFLICT DO UPDATE SET failures = failures + 1"
    return int(db.execute(f"{count} RETURNING failures", (session,)).get)


def episodes(db: apsw.Connection, session: str, after: int, most: int) -> list[Episode]:
    """The first `most` episodes of a session after a row, oldest first, without forgotten ones."""
    first, last = row_range("episodes")
    sql = f"SELECT rowid, id, text, project, created_at {_OF_SESSION} ORDER BY rowid LIMIT ?"
    return fetch_dicts(db, sql, (session, max(after, first), last, most))


def episode(db: apsw.Connection, session: str, rowid: int) -> Episode | None:
    """The episode in this row, unless it was forgotten."""
    return next((found for found in episodes(db, session, rowid - 1, 1) if found["rowid"] == rowid), None)


def unobserved(db: apsw.Connection, session: str, after: int) -> tuple[int, int]:
    """The number of a session's episodes after a row, and of their characters."""
    first, last = row_range("episodes")
    query = f"SELECT count(*), coalesce(sum(length(text)), 0) {_OF_SESSION}"
    ((count, characters),) = db.execute(query, (session, max(after, first), last))
    return count, characters


def renew_segments(db: apsw.Connection, session: str) -> bool:
    """Index what has changed in a session; returns whether anything had."""
    due = db.execute("SELECT first FROM segment_due WHERE session_id = ?", (session,)).fetchone()
    if due is None:
        return False
    unchanged = "SELECT first FROM segment WHERE session_id = ? AND first <= ? ORDER BY first DESC LIMIT 1"
    row = db.execute(unchanged, (session, due[0])).fetchone()
    first_episode, last_episode = row_range("episodes")
    start = row[0] if row else first_episode
    old = db.execute("SELECT rowid FROM segment WHERE session_id = ? AND first >= ?", (session, start)).fetchall()
    db.executemany("DELETE FROM segment_lexicon WHERE rowid = ?", old)
    db.execute("DELETE FROM segment WHERE session_id = ? AND first >= ?", (session, start))
    rows = db.execute(
        "SELECT rowid, substr(text, 1, ?) FROM document"
        " WHERE session_id = ? AND session_id <> '' AND rowid BETWEEN ? AND ? AND forgotten_at IS NULL ORDER BY rowid",
        (TURN_CHARS, session, start, last_episode),
    )
    first = length = 0
    turns: list[str] = []
    for rowid, text in rows:
        if not turns:
            first = rowid
        turns.append(text)
        length += len(text)
        if length >= SEGMENT_CHARS:
            _add_segment(db, session, first, turns)
            turns = []
            length = 0
    if turns:
        _add_segment(db, session, first, turns)
    db.execute("DELETE FROM segment_due WHERE session_id = ?", (session,))
    return True


def renew_due_segments(db: apsw.Connection) -> None:
    """Index the sessions that were not archived by this version, such as imported ones; opens transactions."""
    while True:
        with sqlite.transaction(db):
            query = "SELECT session_id FROM segment_due ORDER BY first DESC LIMIT ?"
            rows = db.execute(query, (RENEWED_AT_ONCE,)).fetchall()
            for (session,) in rows:
                renew_segments(db, str(session))
        if len(rows) < RENEWED_AT_ONCE:
            return


# The partial index on the session needs the second condition; +rowid keeps the planner from walking all episodes.
_OF_SESSION = (
    "FROM document WHERE session_id = ? AND session_id <> '' AND forgotten_at IS NULL AND +rowid > ? AND +rowid <= ?"
)


def _add_segment(db: apsw.Connection, session: str, first: int, turns: Sequence[str]) -> None:
    text = "\n".join(turns)
    db.execute("INSERT INTO segment (session_id, first) VALUES (?, ?)", (session, first))
    db.execute(
        "INSERT INTO segment_lexicon (rowid, text, parts) VALUES (?, ?, ?)",
        (db.last_insert_rowid(), text, words.parts(text)),
    )
