"""Segments: what was said in a row in a session, indexed together, so that words of several turns find their session.

One is closed once it has `SEGMENT_CHARS`; the last of a session grows. Triggers note where a session has changed
(`segment_due`), and `renew` indexes its segments anew from there. Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.store import row_range, sqlite

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

SEGMENT_CHARS = 4_000
"""A new segment begins after this many characters: a LoCoMo session has 2,400, a day with an agent ten times that."""
_AT_ONCE = 8
_TURN_CHARS = 1_000  # of one turn; the rest of a long text is seldom what the turns around it are about


def renew(db: apsw.Connection, session: str) -> bool:
    """Index what has changed in a session, inside the caller's transaction; returns whether anything had."""
    row = db.execute("SELECT first FROM segment_due WHERE session_id = ?", (session,)).fetchone()
    if row is None:
        return False
    kept = db.execute(
        "SELECT first FROM segment WHERE session_id = ? AND first <= ? ORDER BY first DESC LIMIT 1", (session, row[0])
    ).fetchone()
    start = kept[0] if kept else row_range("episodes")[0]
    old = db.execute("SELECT rowid FROM segment WHERE session_id = ? AND first >= ?", (session, start)).fetchall()
    db.executemany("DELETE FROM segment_lexicon WHERE rowid = ?", old)
    db.execute("DELETE FROM segment WHERE session_id = ? AND first >= ?", (session, start))
    said = db.execute(
        "SELECT rowid, substr(text, 1, ?) FROM document"
        " WHERE session_id = ? AND session_id <> '' AND rowid BETWEEN ? AND ? AND forgotten_at IS NULL ORDER BY rowid",
        (_TURN_CHARS, session, start, row_range("episodes")[1]),
    )
    first, length = 0, 0
    turns: list[str] = []
    for rowid, text in said:
        if not turns:
            first = rowid
        turns.append(text)
        length += len(text)
        if length >= SEGMENT_CHARS:
            _add(db, session, first, turns)
            turns, length = [], 0
    if turns:
        _add(db, session, first, turns)
    db.execute("DELETE FROM segment_due WHERE session_id = ?", (session,))
    return True


def _add(db: apsw.Connection, session: str, first: int, turns: Sequence[str]) -> None:
    text = "\n".join(turns)
    db.execute("INSERT INTO segment (session_id, first) VALUES (?, ?)", (session, first))
    db.execute(
        "INSERT INTO segment_lexicon (rowid, text, parts) VALUES (?, ?, ?)",
        (db.last_insert_rowid(), text, words.parts(text)),
    )


def catch_up(db: apsw.Connection) -> None:
    """Index sessions that no archiving indexed (of an older version, imported); a few in one transaction."""
    while True:
        with sqlite.transaction(db):
            rows = db.execute("SELECT session_id FROM segment_due ORDER BY first DESC LIMIT ?", (_AT_ONCE,)).fetchall()
            for (session,) in rows:
                renew(db, str(session))
        if len(rows) < _AT_ONCE:
            return
