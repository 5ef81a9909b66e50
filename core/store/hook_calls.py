"""Hook calls and the texts that they injected. Times in ms since the epoch.

Functions that write belong inside the caller's transaction.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files, json_text
from core.store import sqlite
from core.store.rows import Record, fetch_dicts, marks
from core.store.sqlite import apsw

if TYPE_CHECKING:
    from typing import Any

    from core.records import Event


class Called(Record):
    """Calls of a client's hook for one event. Times in ms; `count` and `faults` since a given time."""

    __slots__ = ("agent", "count", "event", "faults", "last")

    def __init__(self, agent: str, event: str, last: int, count: int, faults: tuple[tuple[str, str], ...] = ()) -> None:
        self.agent = agent
        self.event = event
        self.last = last
        self.count = count
        self.faults = faults
        """Outcome (`failed`, `degraded` or `late`) and error of each call with a fault, oldest first."""

    def errors(self, outcome: str) -> list[str]:
        """The errors of the calls with this outcome."""
        return [error for name, error in self.faults if name == outcome]


def by_event(db: apsw.Connection, since: int) -> list[Called]:
    """The calls of each client's hooks by event, counted from a time on."""
    faults: dict[tuple[str, str], list[tuple[str, str]]] = {}
    query = "SELECT client, event, outcome, error FROM hook_call WHERE outcome <> 'ok' AND at >= ? ORDER BY at, id"
    for client, event, outcome, error in db.execute(query, (since,)):
        faults.setdefault((client, event), []).append((outcome, error))
    query = "SELECT client, event, max(at), sum(at >= ?) FROM hook_call GROUP BY 1, 2 ORDER BY 1, 3 DESC"
    return [
        Called(client, event, last, count, tuple(faults.get((client, event), ())))
        for client, event, last, count in db.execute(query, (since,))
    ]


def copy(db: apsw.Connection, into: apsw.Connection) -> None:
    """Copy the hook calls to another store. Raises Failure STORE_…."""
    with sqlite.reported():
        for row in db.execute("SELECT * FROM hook_call"):
            into.execute(f"INSERT INTO hook_call VALUES ({marks(row)})", row)


def traces(home: str) -> list[tuple[str, str]]:
    """The hook events in another home's store, oldest first: action and error."""
    path = os.path.join(home, files.STORE)
    if not os.path.exists(path):
        return []
    query = "SELECT action, coalesce(error, '') FROM event WHERE component = 'hook' ORDER BY seq"
    try:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        rows = [(str(action), str(error)) for action, error in db.execute(query)]
        db.close()
    except apsw.Error:
        return []
    return rows


def of_session(db: apsw.Connection, session: str = "", since: int = 0) -> list[dict[str, Any]]:
    """The hook calls of a session, or of all since a time, oldest first; outcome: ok, degraded, failed or late."""
    sql = (
        "SELECT session_id AS session, at, client, event, kind, ms, outcome, error, percent, tokens,"
        " context_window AS window, chars FROM hook_call WHERE"
    )
    where = "session_id = ?" if session else "at >= ?"
    return fetch_dicts(db, f"{sql} {where} ORDER BY at, id", (session or since,))


def extent(db: apsw.Connection, session: str) -> dict[str, Any] | None:
    """How many hook calls a session has, from when to when, and of which client; None if it has none."""
    query = "SELECT count(*), min(at), max(at), max(client) FROM hook_call WHERE session_id = ?"
    ((calls, first, last, client),) = db.execute(query, (session,))
    return {"calls": calls, "first": first, "last": last, "client": client} if calls else None


def sessions(db: apsw.Connection) -> list[str]:
    """The ids of all sessions with hook calls, in order."""
    rows = db.execute(
        "WITH RECURSIVE known(id) AS (SELECT min(session_id) FROM hook_call UNION ALL"
        " SELECT (SELECT min(session_id) FROM hook_call WHERE session_id > known.id) FROM known"
        " WHERE known.id IS NOT NULL) SELECT id FROM known WHERE id <> ''"
    )
    return [str(row[0]) for row in rows]


def delete_before(db: apsw.Connection, before: int, batch: int) -> int:
    """Delete at most `batch` hook calls and as many texts older than `before`; returns how many."""
    hooks = "(session_id, id) IN (SELECT session_id, id FROM hook_call WHERE at < ? LIMIT ?)"
    db.execute(f"DELETE FROM hook_call WHERE {hooks}", (before, batch))
    dropped = db.changes()
    db.execute("DELETE FROM injection WHERE id IN (SELECT id FROM injection WHERE at < ? LIMIT ?)", (before, batch))
    return dropped + db.changes()


def forget(db: apsw.Connection, session: str) -> None:
    """Delete a session's hook calls and injected texts."""
    for table in ("hook_call", "injection"):
        db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session,))


def injections(db: apsw.Connection, session: str) -> list[dict[str, Any]]:
    """The texts injected into a session, oldest first; `ms` is the time it took to compose the text."""
    sql = (
        "SELECT id, session_id AS session, at, kind, text, tokens, ms, memories FROM injection WHERE session_id = ?"
        " ORDER BY at, id"
    )
    return fetch_dicts(db, sql, (session,), json_columns=["memories"])


def record_hook(db: apsw.Connection, event: Event) -> None:
    """Store the hook call that an event reports, once."""
    outcomes = {"hook.completed": "ok", "hook.degraded": "degraded", "hook.failed": "failed", "hook.timeout": "late"}
    outcome = outcomes.get(event["action"])
    if outcome is None:
        return
    about = event["metadata"]
    more = event.get("hook")
    if not isinstance(more, dict):  # a line of the spool that another version wrote
        more = {}
    if outcome == "late":  # replaces an event that reports an answer, which could not be given any more
        db.execute("DELETE FROM event WHERE id = ? AND component = 'hook' AND action <> 'hook.timeout'", (event["id"],))
    db.execute(
        f"INSERT OR {'REPLACE' if outcome == 'late' else 'IGNORE'} INTO hook_call (session_id, at, client, event, kind,"
        f" ms, outcome, error, percent, tokens, context_window, chars, id) VALUES ({marks(range(13))})",
        (
            event["sessionId"], event["timestamp"], _typed(about, "agent", str, ""), _typed(about, "event", str, ""),
            _typed(more, "kind", str, ""), event.get("duration_ms"), outcome, event.get("error", ""),
            _typed(more, "percent", (int, float), None), _typed(more, "tokens", int, None),
            _typed(more, "window", int, None), _typed(about, "contentChars", int, 0), event["id"],
        ),
    )  # fmt: skip


def record_injection(db: apsw.Connection, event: Event) -> None:
    """Store the injected text that an event carries, unless it is stored already."""
    given = event.get("injected")
    about = event["metadata"]
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        return  # a line of the spool that another program wrote
    db.execute(
        "INSERT OR IGNORE INTO injection (id, session_id, at, kind, text, tokens, ms, memories)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            event["id"], event["sessionId"], event["timestamp"], str(given.get("kind", "")),
            given["text"][:12_000], _typed(about, "estimatedTokens", int, 0), event.get("duration_ms"),
            json_text.dumps(_typed(about, "memoryIds", list, [])),
        ),
    )  # fmt: skip


def _typed(about: dict[str, Any], name: str, kind: type | tuple[type, ...], otherwise: object) -> Any:
    value = about.get(name)
    return value if isinstance(value, kind) else otherwise
