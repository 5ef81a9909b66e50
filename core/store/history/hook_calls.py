"""Hook calls: whose, when, how long, how full the context was; written by `core.store.events.record_hook`.

`hook.completed` is a debug event, and of those the log keeps twelve a minute; who counts hooks counts these rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from core.records import Extent, HookCall
from core.store import sqlite
from core.store.sqlite import apsw

_COLUMNS = "session_id, at, client, event, kind, ms, outcome, error, percent, tokens, context_window, chars"


@dataclass(frozen=True)
class Called:
    """Calls of a client's hook for one event. Times in ms; `count`, `failed` and `late` since a time that was given."""

    agent: str
    event: str
    last: int
    count: int
    failed: int
    late: int
    error: str = ""
    """The last error since then; "" without one."""


def by_event(db: apsw.Connection, since: int) -> list[Called]:
    """The calls of each client's hooks by event, counted from a time on (ms since the epoch).

    Raises:
        Failure: STORE_DAMAGED and its like.
    """
    try:
        errors: dict[tuple[Any, ...], Any] = {
            (client, event): error
            for client, event, error in db.execute(
                "SELECT client, event, error FROM hook_call WHERE outcome <> 'ok' AND at >= ? ORDER BY at, id", (since,)
            )
        }
        rows: Any = db.execute(
            "SELECT client, event, max(at), sum(at >= ?1), sum(at >= ?1 AND outcome IN ('failed', 'degraded')),"
            " sum(at >= ?1 AND outcome = 'late') FROM hook_call GROUP BY 1, 2 ORDER BY 1, 3 DESC",
            (since,),
        )
        return [Called(*row, errors.get(tuple(row[:2]), "")) for row in rows]  # type: ignore[call-arg]
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None


def traces(home: str) -> list[tuple[str, str, bool]]:
    """What hooks left in the store of another home: action, error, and whether they handed out a text; oldest first.

    Empty where there is no store that can be read.
    """
    path = os.path.join(home, sqlite.FILE_NAME)
    if not os.path.exists(path):
        return []
    try:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        rows = db.execute(
            "SELECT action, error, json_array_length(metadata, '$.injected') FROM event WHERE component = 'hook'"
            " ORDER BY seq"
        ).fetchall()
        db.close()
    except apsw.Error:
        return []
    return [(str(action), str(error or ""), bool(injected)) for action, error, injected in rows]


def of_session(db: apsw.Connection, session: str) -> list[HookCall]:
    """All calls of a session, oldest first."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM hook_call WHERE session_id = ? ORDER BY at, id", (session,))
    return [_call(row) for row in rows]


def extent(db: apsw.Connection, session: str) -> Extent | None:
    """How many calls of a session there are, from when to when, and of which client; None for none."""
    row = db.execute(
        "SELECT count(*), min(at), max(at), max(client) FROM hook_call WHERE session_id = ?", (session,)
    ).fetchone()
    return {"calls": row[0], "first": row[1], "last": row[2], "client": row[3]} if row and row[0] else None


def sessions_beginning(db: apsw.Connection, start: str, most: int) -> list[str]:
    """The first ids of sessions with calls that begin so, in order."""
    rows = db.execute(
        "SELECT DISTINCT session_id FROM hook_call WHERE session_id >= ? AND session_id < ? ORDER BY 1 LIMIT ?",
        (start, start + "\U0010ffff", most),
    )
    return [str(row[0]) for row in rows]


def sessions(db: apsw.Connection) -> list[str]:
    """The ids of all sessions with calls, in order. Each is looked up behind the one before: the calls are not read."""
    rows = db.execute(
        "WITH RECURSIVE one(id) AS (SELECT min(session_id) FROM hook_call UNION ALL "
        "SELECT (SELECT min(session_id) FROM hook_call WHERE session_id > one.id) FROM one WHERE one.id IS NOT NULL) "
        "SELECT id FROM one WHERE id <> ''"
    )
    return [str(row[0]) for row in rows]


def times(db: apsw.Connection, since: int) -> list[tuple[str, str, float]]:
    """Client, event and ms of each call since a time (ms since the epoch) that took a known time, quickest first."""
    rows = db.execute(
        "SELECT client, event, ms FROM hook_call WHERE at >= ? AND ms IS NOT NULL ORDER BY client, event, ms", (since,)
    )
    return [(client, event, float(ms)) for client, event, ms in rows]


def outcomes(db: apsw.Connection, since: int) -> list[tuple[str, str, str, int]]:
    """Client, event, what became of it and how many calls since a time (ms since the epoch)."""
    rows = db.execute(
        "SELECT client, event, outcome, count(*) FROM hook_call WHERE at >= ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        (since,),
    )
    return [(client, event, outcome, int(number)) for client, event, outcome, number in rows]


def sessions_since(db: apsw.Connection, since: int) -> int:
    """How many sessions had calls that were answered since a time (ms since the epoch)."""
    answered = "SELECT count(DISTINCT session_id) FROM hook_call WHERE at >= ? AND outcome IN ('ok', 'degraded')"
    return int(db.execute(answered, (since,)).get)


def delete_before(db: apsw.Connection, before: int, batch: int) -> int:
    """Drop at most `batch` calls older than `before` (ms), inside the caller's transaction; returns how many."""
    db.execute(
        "DELETE FROM hook_call WHERE (session_id, id) IN (SELECT session_id, id FROM hook_call WHERE at < ? LIMIT ?)",
        (before, batch),
    )
    return db.changes()


def forget(db: apsw.Connection, session: str) -> None:
    """Delete the calls of a session, inside the caller's transaction."""
    db.execute("DELETE FROM hook_call WHERE session_id = ?", (session,))


def _call(row: tuple[Any, ...]) -> HookCall:
    session, at, client, event, kind, ms, outcome, error, percent, tokens, window, chars = row
    return {
        "session": session, "at": at, "client": client, "event": event, "kind": kind, "ms": ms, "outcome": outcome,
        "error": error, "percent": percent, "tokens": tokens, "window": window, "chars": chars,
    }  # fmt: skip
