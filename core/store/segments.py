"""Segments: consecutive turns of a session, indexed as a whole, so that words from several turns find the session.

The last segment of a session grows. Triggers note in `segment_due` the first turn that has changed, and
`renew` indexes it again from there. Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.store.sqlite import row_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw


def renew(db: apsw.Connection, session: str) -> bool:
    """Index the changes of a session; returns whether there were any."""
    segment_chars = 4_000  # a LoCoMo session has 2,400 characters, a day with an agent ten times that
    turn_chars = 1_000  # the rest of a long turn is seldom about the turns around it
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
        (turn_chars, session, start, last_episode),
    )
    first = length = 0
    turns: list[str] = []
    for rowid, text in rows:
        if not turns:
            first = rowid
        turns.append(text)
        length += len(text)
        if length >= segment_chars:
            _add_segment(db, session, first, turns)
            turns = []
            length = 0
    if turns:
        _add_segment(db, session, first, turns)
    db.execute("DELETE FROM segment_due WHERE session_id = ?", (session,))
    return True


def renew_due(db: apsw.Connection) -> None:
    """Index the sessions that were not archived by this version, such as imported ones; opens transactions."""
    from core.store import sqlite

    sessions_at_once = 8
    while True:
        with sqlite.transaction(db):
            query = "SELECT session_id FROM segment_due ORDER BY first DESC LIMIT ?"
            rows = db.execute(query, (sessions_at_once,)).fetchall()
            for (session,) in rows:
                renew(db, str(session))
        if len(rows) < sessions_at_once:
            return


def _add_segment(db: apsw.Connection, session: str, first: int, turns: Sequence[str]) -> None:
    text = "\n".join(turns)
    db.execute("INSERT INTO segment (session_id, first) VALUES (?, ?)", (session, first))
    db.execute(
        "INSERT INTO segment_lexicon (rowid, text, parts) VALUES (?, ?, ?)",
        (db.last_insert_rowid(), text, words.parts(text)),
    )
