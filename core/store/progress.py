"""How far transcripts were read, sessions observed, and turns indexed together. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, json_text, words
from core.store import sqlite
from core.store.rows import row_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.records import Episode


def transcript_position(db: apsw.Connection, source: str) -> tuple[int, str, str] | None:
    """The bytes read, a fingerprint of the first of them, and JSON that the next lines need."""
    row = db.execute("SELECT offset, head, carry FROM transcript WHERE source = ?", (source,)).fetchone()
    return (int(row[0]), str(row[1]), str(row[2])) if row else None


def save_transcript_position(db: apsw.Connection, source: str, offset: int, head: str, carry: str, at: int) -> None:
    """Store what `transcript_position` returns, inside the caller's transaction; `at` in ms since the epoch."""
    db.execute("INSERT OR REPLACE INTO transcript VALUES (?, ?, ?, ?, ?)", (source, offset, head, carry, at))


def sources_naming(db: apsw.Connection, session: str) -> list[str]:
    """The transcripts with a session's id in their path."""
    rows = db.execute("SELECT source FROM transcript WHERE instr(source, ?) ORDER BY updated_at DESC", (session,))
    return [str(row[0]) for row in rows]


def sources(db: apsw.Connection) -> set[str]:
    """The transcripts of which anything was read."""
    return {source for (source,) in db.execute("SELECT source FROM transcript")}


def seen_files(db: apsw.Connection) -> dict[str, dict[str, Any]]:
    """The files that the archive has seen, by the fingerprint of their path."""
    rows = db.execute("SELECT path, stamp, asked, client, reason, seen_at FROM seen_file")
    return {
        path: {"path": path, "stamp": stamp, "asked": asked, "client": client, "reason": reason, "seen_at": seen_at}
        for path, stamp, asked, client, reason, seen_at in rows
    }


def note_seen(db: apsw.Connection, seen: Iterable[dict[str, Any]], gone: Iterable[str]) -> None:
    """Record the state of files, and forget that others were seen, inside the caller's transaction."""
    columns = ("path", "stamp", "asked", "client", "reason", "seen_at")
    values = ", ".join(f":{name}" for name in columns)
    db.executemany(f"INSERT OR REPLACE INTO seen_file ({', '.join(columns)}) VALUES ({values})", list(seen))
    db.executemany("DELETE FROM seen_file WHERE path = ?", [(path,) for path in gone])


_BASE, _LAST = row_range("episodes")
# As in `session_rows`: the partial index on the session, and no walk over all episodes.
_OF_SESSION = (
    "FROM document WHERE session_id = ? AND session_id <> '' AND forgotten_at IS NULL AND +rowid > ? AND +rowid <= ?"
)


def observed_position(db: apsw.Connection, session: str) -> tuple[int, str] | None:
    """The row of the last observed episode and a fingerprint of its text; None if none was observed."""
    row = db.execute("SELECT reached, tail FROM observed WHERE session_id = ?", (session,)).fetchone()
    return (int(row[0]), str(row[1])) if row else None


def save_observed_position(db: apsw.Connection, session: str, reached: int, tail: str, at: int) -> None:
    """Store what `observed_position` returns, inside the caller's transaction; `at` in ms since the epoch."""
    db.execute("INSERT OR REPLACE INTO observed VALUES (?, ?, ?, ?)", (session, reached, tail, at))
    db.execute("DELETE FROM observed_failure WHERE session_id = ?", (session,))


def count_failed_reply(db: apsw.Connection, session: str) -> int:
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


def unobserved(db: apsw.Connection, session: str, after: int) -> tuple[int, int]:
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


SEGMENT_CHARS = 4_000
"""A new segment begins after this many characters: a LoCoMo session has 2,400, a day with an agent ten times that."""
_AT_ONCE = 8
_TURN_CHARS = 1_000  # of one turn; the rest of a long text is seldom what the turns around it are about


def renew_segments(db: apsw.Connection, session: str) -> bool:
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


def renew_due_segments(db: apsw.Connection) -> None:
    """Index sessions that no archiving indexed (of an older version, imported); a few in one transaction."""
    while True:
        with sqlite.transaction(db):
            rows = db.execute("SELECT session_id FROM segment_due ORDER BY first DESC LIMIT ?", (_AT_ONCE,)).fetchall()
            for (session,) in rows:
                renew_segments(db, str(session))
        if len(rows) < _AT_ONCE:
            return
