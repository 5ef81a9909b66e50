"""Deletes what archived sessions did; reading the transcript again does not bring it back."""

import apsw

from core.store.sessions import call_rows, name_rows, place_rows, session_rows

_EMPTIED = "tool = '', file = '', command = '', error = '', passage = '', outcome = ?"


def forget(db: apsw.Connection, identifier: str) -> None:
    """Delete what a session did, inside the caller's transaction; what it does from now on is not kept."""
    drop(db, identifier)
    for table, column in (("call", "session_id"), ("compaction", "session_id"), ("session", "id")):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", (identifier,))
    db.execute(
        "INSERT INTO session (id, client, project, folder, updated_at, prompts, calls, plan)"
        " VALUES (?, '', '', '', ?, 0, 0, '[]')",
        (identifier, session_rows.FORGOTTEN),
    )


def drop(db: apsw.Connection, identifier: str) -> int:
    """Delete what a session did; returns how many calls. Tombstones stay, so that reading again brings nothing back."""
    values = (identifier, call_rows.FORGOTTEN_CALL)
    rows = db.execute("SELECT rowid FROM call WHERE session_id = ? AND outcome <> ?", values).fetchall()
    db.executemany("DELETE FROM call_lexicon WHERE rowid = ?", rows)
    db.execute("DELETE FROM name WHERE session_id = ?", (identifier,))
    place_rows.drop(db, identifier)
    db.execute("DELETE FROM compaction WHERE session_id = ? AND summary <> ?", (identifier, name_rows.PURGED_SUMMARY))
    purged = db.execute(
        "SELECT EXISTS (SELECT 1 FROM call WHERE session_id = ?1 AND outcome = ?2 UNION ALL SELECT 1 FROM compaction"
        " WHERE session_id = ?1 AND summary = ?3 UNION ALL SELECT 1 FROM session WHERE id = ?1 AND plan = ?4)",
        (*values, name_rows.PURGED_SUMMARY, session_rows.PURGED_PLAN),
    ).get
    if purged:
        emptied = f"UPDATE call SET {_EMPTIED} WHERE session_id = ? AND outcome <> ?"
        db.execute(emptied, (call_rows.FORGOTTEN_CALL, *values))
        db.execute("UPDATE session SET plan = '[]' WHERE id = ? AND plan <> ?", (identifier, session_rows.PURGED_PLAN))
    else:
        db.execute("DELETE FROM call WHERE session_id = ?", (identifier,))
        db.execute("DELETE FROM session WHERE id = ?", (identifier,))
    return len(rows)


def forget_call(db: apsw.Connection, identifier: str, number: int) -> bool:
    """Delete a call's text and the names that only it has; False if it had none. Its number stays."""
    row = db.execute(
        f"UPDATE call SET {_EMPTIED} WHERE session_id = ? AND number = ? AND outcome <> ? RETURNING rowid",
        (call_rows.FORGOTTEN_CALL, identifier, number, call_rows.FORGOTTEN_CALL),
    ).fetchone()
    if row is None:
        return False
    db.execute("DELETE FROM call_lexicon WHERE rowid = ?", row)
    db.execute("DELETE FROM name WHERE session_id = ? AND first = ? AND last = ?", (identifier, number, number))
    place_rows.drop_call(db, identifier, number)
    return True
