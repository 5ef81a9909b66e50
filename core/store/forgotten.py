"""Forgotten sessions and tool calls. Their rows are kept as JSON in a table that only this module and a purge read.

So no other query has to leave them out. They are put back by `bring_back`, and go with a purge.
What a purge has emptied stays empty. Functions that write belong inside the caller's transaction.
"""

from collections.abc import Iterable
from typing import Any

import apsw

from core import json_text
from core.store import calls, events, sessions
from core.store.sqlite import fetch_dicts, marks

TABLES = ("call", "compaction", "name", *events.OF_HOOKS)
"""The tables whose rows are kept as they are, like that of the session. Places and edits are kept with their paths."""

IS_EMPTY = (
    f"value = '{{}}' OR json_extract(value, '$.outcome') IS '{calls.FORGOTTEN}'"
    f" OR json_extract(value, '$.summary') IS '{sessions.PURGED_SUMMARY}'"
    f" OR json_extract(value, '$.plan') IS '{sessions.PURGED_PLAN}'"
)
"""Rows that a purge has emptied. They stay, so that reading a transcript again does not restore their content."""
EMPTY = (
    "UPDATE forgotten SET value = CASE kind WHEN 'call' THEN json_patch(value, json_object('tool', '', 'file', '',"
    f" 'command', '', 'error', '', 'passage', '', 'outcome', '{calls.FORGOTTEN}'))"
    f" WHEN 'compaction' THEN json_set(value, '$.summary', '{sessions.PURGED_SUMMARY}')"
    f" WHEN 'session' THEN json_set(value, '$.plan', '{sessions.PURGED_PLAN}') ELSE '{{}}' END WHERE id = ?"
)


def hide_session(db: apsw.Connection, session: str, memories: Iterable[str], *, now: int) -> None:
    """Hide a session's work and hooks. `memories`: the ids of documents that are hidden with it."""
    about = (*_about(db, session, now), 0)
    own = f"SELECT * FROM session WHERE id = ? AND updated_at <> {sessions.FORGOTTEN}"
    _keep(db, about, "session", fetch_dicts(db, own, (session,)))
    for table in TABLES:
        _keep(db, about, table, fetch_dicts(db, f"SELECT * FROM {table} WHERE session_id = ?", (session,)))
    _keep(db, about, "place", calls.places(db, session))
    _keep(db, about, "edit", calls.edits(db, session))
    _keep(db, about, "document", [{"id": identifier} for identifier in memories])
    sessions.forget(db, session)
    events.forget_hook_calls(db, session)


def hide_call(db: apsw.Connection, session: str, number: int, *, now: int) -> None:
    """Hide a call, and the names and places that only it has."""
    about = (*_about(db, session, now), number)
    for table, where in (("call", "number = ?2"), ("name", "first = ?2 AND last = ?2")):
        query = f"SELECT * FROM {table} WHERE session_id = ?1 AND {where}"
        _keep(db, about, table, fetch_dicts(db, query, (session, number)))
    for table, rows in (("place", calls.places(db, session)), ("edit", calls.edits(db, session))):
        _keep(db, about, table, [row for row in rows if row["number"] == number])
    calls.forget(db, session, number)


def bring_back(db: apsw.Connection, session: str, number: int = 0) -> list[str] | None:
    """Put back a session, or one of its calls; returns the ids of the documents that were hidden with it.

    None: nothing of it was kept.
    """
    query = "SELECT kind, value FROM forgotten WHERE session_id = ? AND number = ? AND value <> '{}' ORDER BY id"
    rows: dict[str, list[dict[str, Any]]] = {}
    for kind, value in db.execute(query, (session, number)).fetchall():
        rows.setdefault(str(kind), []).append(json_text.loads(str(value)))
    if not number:
        db.execute("DELETE FROM session WHERE id = ? AND updated_at = ?", (session, sessions.FORGOTTEN))
        db.execute("DELETE FROM seen_file")  # its transcripts are read again
    elif rows:
        remove = "DELETE FROM call WHERE session_id = ? AND number = ? AND outcome = ?"
        db.execute(remove, (session, number, calls.FORGOTTEN))
    for table in ("session", *TABLES):
        for row in rows.get(table, ()):
            if table == "call":
                del row["rowid"]
            values = f"({', '.join(row)}) VALUES ({marks(row)})"
            db.execute(f"INSERT OR IGNORE INTO {table} {values}", tuple(row.values()))
            if table == "call" and db.changes() and row["outcome"] != calls.FORGOTTEN:
                calls.index(db, row, db.last_insert_rowid())
    seen = {(place["file"], place["name"]) for place in calls.places(db, session)}
    places: list[Any] = [row for row in rows.get("place", ()) if (row["file"], row["name"]) not in seen]
    edits: list[Any] = rows.get("edit", [])
    calls.save_places(db, session, places, edits)
    db.execute("DELETE FROM forgotten WHERE session_id = ? AND number = ?", (session, number))
    return [str(row["id"]) for row in rows.get("document", ())] if rows else None


def whole_id(db: apsw.Connection, given: str) -> str:
    """The forgotten session with this id, or the only session whose id begins with it, "" for none."""
    if sessions.is_forgotten(db, given):
        return given
    query = "SELECT id FROM session WHERE updated_at = ? AND id >= ? AND id < ? ORDER BY id LIMIT 11"
    rows = db.execute(query, (sessions.FORGOTTEN, given, given + "\U0010ffff"))
    return sessions.only_one(given, [str(row[0]) for row in rows])


def has_kept(db: apsw.Connection, session: str) -> bool:
    """Whether anything of a forgotten session was kept, which `bring_back` puts back."""
    query = "SELECT count(*) FROM forgotten WHERE session_id = ? AND number = 0 AND value <> '{}'"
    return bool(db.execute(query, (session,)).get)


def hidden_calls(db: apsw.Connection, session: str) -> list[int]:
    """The numbers of a session's calls that were forgotten by themselves."""
    query = "SELECT DISTINCT number FROM forgotten WHERE session_id = ? AND number > 0"
    return [int(number) for (number,) in db.execute(query, (session,))]


def admit_again(db: apsw.Connection, session: str, source: str) -> None:
    """Let the transcript `source` bring back what was purged from a session: it is read again from its beginning."""
    db.execute("DELETE FROM call WHERE session_id = ? AND outcome = ?", (session, calls.FORGOTTEN))
    db.execute("DELETE FROM compaction WHERE session_id = ? AND summary = ?", (session, sessions.PURGED_SUMMARY))
    db.execute("UPDATE session SET plan = '[]' WHERE id = ? AND plan = ?", (session, sessions.PURGED_PLAN))
    db.execute("UPDATE transcript SET head = '' WHERE source = ?", (source,))


def expire_hooks(db: apsw.Connection, before: int) -> None:
    """Delete the kept hook calls and injected texts of sessions without activity since `before` (ms)."""
    kinds = events.OF_HOOKS
    db.execute(f"DELETE FROM forgotten WHERE at < ? AND kind IN ({marks(kinds)})", (before, *kinds))


def _about(db: apsw.Connection, session: str, now: int) -> tuple[str, str, int]:
    """The session's id, project and time."""
    known = sessions.by_id(db, session)
    return (session, known["project"], known["updated_at"]) if known else (session, "", now)


def _keep(db: apsw.Connection, about: tuple[str, str, int, int], kind: str, rows: Iterable[Any]) -> None:
    statement = "INSERT INTO forgotten (session_id, project, at, number, kind, value) VALUES (?, ?, ?, ?, ?, ?)"
    db.executemany(statement, [(*about, kind, json_text.dumps(row)) for row in rows])
