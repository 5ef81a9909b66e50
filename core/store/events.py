"""Events: stored, searched, counted, and exported in order; the hook calls and injected texts that events carry.

Times are in ms since the epoch. Hot path. Functions that write belong inside the caller's transaction.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files, json_text
from core.store import documents, sqlite
from core.store.sqlite import ALL, apsw, fetch, fetch_dicts, marks

if TYPE_CHECKING:
    from typing import Any

    from core.records import Event, EventQuery

HOOK = "hook"  # component of the events that hooks send about themselves
COLUMNS = (
    "id, timestamp, session_id AS sessionId, system_id AS systemId, level, source, component, action, duration_ms,"
    " success, error, metadata"
)


def insert(db: apsw.Connection, event: Event, search_text: str) -> bool:
    """Store an event, to be found by its lower-case `search_text`; False if its id is stored already.

    The memories that it injected count as recalled.
    """
    db.execute(
        "INSERT INTO event (id, timestamp, session_id, system_id, level, source, component, action, duration_ms,"
        " success, error, metadata, search_text) VALUES (:id, :timestamp, :sessionId, :systemId, :level, :source,"
        " :component, :action, :duration_ms, :success, :error, :metadata, :search_text) ON CONFLICT (id) DO NOTHING",
        {
            "duration_ms": None, "error": None, **event, "success": int(event["success"]),
            "metadata": json_text.dumps(event["metadata"]), "search_text": search_text,
        },
    )  # fmt: skip
    is_new = bool(db.changes())
    if is_new and (recalled := event.get("recalled")):
        documents.count_recall(db, recalled, event["timestamp"])
    return is_new


def debug_count(db: apsw.Connection, event: Event, window_ms: int) -> int:
    """The number of debug events of the same kind less than `window_ms` before or after this event."""
    at = event["timestamp"]
    query = (
        "SELECT count(*) FROM event WHERE level = 'debug' AND source = ? AND component = ? AND action = ?"
        " AND timestamp > ? AND timestamp < ?"
    )
    values = (event["source"], event["component"], event["action"], at - window_ms, at + window_ms)
    return int(db.execute(query, values).get)


def newest(db: apsw.Connection, query: EventQuery, limit: int, offset: int = 0) -> list[Event]:
    """The events that match, newest first."""
    where, values = _where(query)
    sql = f"SELECT {COLUMNS} FROM event WHERE {where} ORDER BY timestamp DESC, seq DESC LIMIT ? OFFSET ?"
    return fetch(db, sql, (*values, limit, offset), _event)


def last_seq(db: apsw.Connection) -> int:
    """The number of the event that was stored last, 0 if there is none; numbers rise and are never used twice."""
    return int(db.execute("SELECT coalesce(max(seq), 0) FROM event").get)


def stored_after(
    db: apsw.Connection, number: int, *, upto: int = ALL, query: EventQuery | None = None, most: int = -1
) -> list[tuple[int, Event]]:
    """The matching events stored after a number, each with its own number, in the order they were stored."""
    where, values = _where(query or {"since": -ALL})
    sql = f"SELECT seq, {COLUMNS} FROM event WHERE seq > ? AND seq <= ? AND {where} ORDER BY seq LIMIT ?"
    return fetch(db, sql, (number, upto, *values, most), lambda seq, **columns: (int(seq), _event(**columns)))


def tally(db: apsw.Connection, query: EventQuery) -> list[tuple[str, str, str, str, int]]:
    """The number of matching events by level, source, component and action, in this order."""
    where, values = _where(query)
    counted = f"SELECT level, source, component, action, count(*) FROM event WHERE {where} GROUP BY 1, 2, 3, 4"
    return list(db.execute(counted, values))


def count_after(db: apsw.Connection, number: int) -> int:
    """The number of events that were stored after this number."""
    return int(db.execute("SELECT count(*) FROM event WHERE seq > ?", (number,)).get)


def delete_older(db: apsw.Connection, before: int) -> int:
    """Delete events older than `before` (ms); returns how many."""
    db.execute("DELETE FROM event WHERE timestamp < ?", (before,))
    return db.changes()


def cursors(db: apsw.Connection) -> list[dict[str, Any]]:
    """How far events were exported to each OTLP destination (`otel.export.Cursor`), by signal and endpoint."""
    return fetch_dicts(db, "SELECT * FROM export_cursor ORDER BY signal, endpoint", ())


def save_cursor(db: apsw.Connection, cursor: dict[str, Any]) -> None:
    """Store a cursor, inside the caller's transaction."""
    columns = f"({', '.join(cursor)}) VALUES ({marks(cursor)})"
    db.execute(f"INSERT OR REPLACE INTO export_cursor {columns}", tuple(cursor.values()))


def of_session(db: apsw.Connection, session: str) -> list[dict[str, Any]]:
    """The events of a session above debug level, oldest first."""
    sql = (
        "SELECT id, timestamp AS at, level, component, action, duration_ms AS ms, coalesce(error, '') AS error,"
        " metadata FROM event WHERE session_id = ? AND level <> 'debug' ORDER BY timestamp, seq"
    )
    return fetch_dicts(db, sql, (session,), json_columns=["metadata"])


def hooks_by_event(db: apsw.Connection, since: int) -> list[dict[str, Any]]:
    """For each client and event: when its hook was called last (`at`), and how often since a time (`calls`).

    `faults`: outcome (`failed`, `degraded` or `late`) and error of the calls since then that were not ok, oldest first.
    """
    sql = (
        "SELECT client, event, max(at) AS at, sum(at >= ?1) AS calls, json_group_array(json_array(outcome, error))"
        " FILTER (WHERE outcome <> 'ok' AND at >= ?1) AS faults FROM (SELECT * FROM hook_call ORDER BY at, id)"
        " GROUP BY 1, 2 ORDER BY 1, 3 DESC"
    )
    return fetch_dicts(db, sql, (since,), json_columns=["faults"])


def copy_hook_calls(db: apsw.Connection, into: apsw.Connection) -> None:
    """Copy the hook calls to another store. Raises Failure STORE_…."""
    with sqlite.reported():
        for row in db.execute("SELECT * FROM hook_call"):
            into.execute(f"INSERT INTO hook_call VALUES ({marks(row)})", row)


def hook_traces(home: str) -> list[tuple[str, str]]:
    """The hook events in another home's store, oldest first: action and error."""
    query = "SELECT action, coalesce(error, '') FROM event WHERE component = 'hook' ORDER BY seq"
    try:
        db = apsw.Connection(os.path.join(home, files.STORE), flags=apsw.SQLITE_OPEN_READWRITE)
        return list(db.execute(query))
    except apsw.Error:  # there is none
        return []


def hook_calls(db: apsw.Connection, session: str) -> list[dict[str, Any]]:
    """The hook calls of a session, oldest first; outcome: ok, degraded, failed or late."""
    sql = (
        "SELECT session_id AS session, at, client, event, kind, ms, outcome, error, percent, tokens,"
        " context_window AS window, chars FROM hook_call WHERE session_id = ? ORDER BY at, id"
    )
    return fetch_dicts(db, sql, (session,))


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
    about, more = event["metadata"], event.get("hook") or {}
    db.execute(
        "INSERT OR IGNORE INTO hook_call (session_id, at, client, event, kind, ms, outcome, error, percent, tokens,"
        f" context_window, chars, id) VALUES ({marks(range(13))})",
        (
            event["sessionId"], event["timestamp"], about.get("agent") or "", about.get("event") or "",
            more.get("kind") or "", event.get("duration_ms"), outcome, event.get("error", ""), more.get("percent"),
            more.get("tokens"), more.get("window"), about.get("contentChars") or 0, event["id"],
        ),
    )  # fmt: skip


def record_injection(db: apsw.Connection, event: Event) -> None:
    """Store the injected text that an event carries, unless it is stored already."""
    given, about = event["injected"], event["metadata"]
    db.execute(
        "INSERT OR IGNORE INTO injection (id, session_id, at, kind, text, tokens, ms, memories)"
        f" VALUES ({marks(range(8))})",
        (
            event["id"], event["sessionId"], event["timestamp"], given["kind"], given["text"][:12_000],
            about.get("estimatedTokens") or 0, event.get("duration_ms"), json_text.dumps(about.get("memoryIds") or []),
        ),
    )  # fmt: skip


def _event(**columns: Any) -> Event:
    ms = columns["duration_ms"]
    if ms is None:
        del columns["duration_ms"]
    elif ms == int(ms):
        columns["duration_ms"] = int(ms)
    if columns["error"] is None:
        del columns["error"]
    columns["success"] = bool(columns["success"])
    columns["metadata"] = json_text.loads(columns["metadata"])
    return columns  # type: ignore[return-value]  # the columns are the keys of the TypedDict


def _where(query: EventQuery) -> tuple[str, tuple[Any, ...]]:
    conditions = ["timestamp >= ?"]
    values: list[Any] = [query["since"]]
    for column, negated, names in (
        ("level", "", query.get("levels")),
        ("source", "", query.get("sources")),
        ("component", "", query.get("components")),
        ("action", "", query.get("actions")),
        ("session_id", "", [query["session"]] if query.get("session") else []),
        ("system_id", "", [query["system"]] if query.get("system") else []),
        ("action", "NOT", query.get("hidden")),
        ("component", "NOT", query.get("hidden_components")),
    ):
        if names:
            conditions.append(f"{column} {negated} IN ({marks(names)})")
            values.extend(names)
    sessions, client = query.get("sessions"), query.get("client", "")
    if sessions is not None:
        of_session = f"session_id IN {sqlite.LISTED}"
        named = "CASE component WHEN 'hook' THEN nullif(metadata ->> 'agent', '') END"
        conditions.append(f"coalesce({named} = ?, {of_session})" if client else of_session)
        values += [*([client] if client else []), json_text.dumps(list(sessions))]
    success = query.get("success")
    if success is not None:
        conditions.append("success = ?")
        values.append(int(success))
    if any_of := query.get("any_of", ()):
        holds = " OR ".join(" AND ".join("instr(search_text, ?) > 0" for _ in words) for words in any_of)
        conditions.append(f"NOT ({holds})" if query.get("inverted") else f"({holds})")
        values.extend(word for words in any_of for word in words)
    return " AND ".join(conditions), tuple(values)
