"""Hook calls: whose, when, how long, how full the context was; written by `core.store.events.record_hook`.

`hook.completed` is a debug event, and of those the log keeps twelve a minute; who counts hooks counts these rows.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.records import Extent, HookCall

_COLUMNS = "session_id, at, client, event, kind, ms, outcome, error, percent, tokens, context_window, chars"


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
    """Client, event and ms of each call since a time (ms since the epoch) that took a known time, the quickest first
    of each."""
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
    return int(
        db.execute(
            "SELECT count(DISTINCT session_id) FROM hook_call WHERE at >= ? AND outcome IN ('ok', 'degraded')", (since,)
        ).get
    )


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
