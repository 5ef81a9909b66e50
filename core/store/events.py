"""Adds, finds, counts, follows and drops the events of the SQLite store. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, json_text
from core.store import marks, sqlite

if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.records import Event, EventQuery

_COLUMNS = (
    "seq, id, timestamp, session_id, system_id, level, source, component, action, duration_ms, success, error, metadata"
)
_LAST = 1 << 62
HOOK = "hook"  # the component of the events that hooks send about themselves
_INJECTED_CHARS = 12_000  # of a text that is kept; none of ours is longer
_OUTCOMES = {"hook.completed": "ok", "hook.degraded": "degraded", "hook.failed": "failed", "hook.timeout": "late"}


def insert(db: apsw.Connection, event: Event, search_text: str) -> bool:
    """Add an event, found by its lower-case `search_text`, in the caller's transaction; False where its id is there."""
    db.execute(
        f"INSERT INTO event ({_COLUMNS[5:]}, search_text) VALUES ({marks(range(13))}) ON CONFLICT (id) DO NOTHING",
        (
            event["id"], event["timestamp"], event["sessionId"], event["systemId"], event["level"], event["source"],
            event["component"], event["action"], event.get("duration_ms"), int(event["success"]), event.get("error"),
            json_text.dumps(event["metadata"]), search_text,
        ),
    )  # fmt: skip
    if not db.changes():
        return False
    sqlite.note_event(db.last_insert_rowid())
    return True


def record_hook(db: apsw.Connection, event: Event) -> None:
    """Keep the call that an event of the component `HOOK` tells of, once, inside the caller's transaction."""
    outcome = _OUTCOMES.get(event["action"])
    if outcome is None:
        return
    about, more = event["metadata"], event.get("hook")
    if not isinstance(more, dict):  # a line of the spool that another version wrote
        more = {}
    db.execute(
        "INSERT OR IGNORE INTO hook_call (session_id, at, client, event, kind, ms, outcome, error, percent, tokens,"
        f" context_window, chars, id) VALUES ({marks(range(13))})",
        (
            event["sessionId"], event["timestamp"], _plain(about, "agent", str, ""), _plain(about, "event", str, ""),
            _plain(more, "kind", str, ""), event.get("duration_ms"), outcome, event.get("error", ""),
            _plain(more, "percent", (int, float), None), _plain(more, "tokens", int, None),
            _plain(more, "window", int, None), _plain(about, "contentChars", int, 0), event["id"],
        ),
    )  # fmt: skip


def record_injection(db: apsw.Connection, event: Event) -> None:
    """Keep the text that an event carries, inside the caller's transaction; one that is kept already stays."""
    given, about = event.get("injected"), event["metadata"]
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        return  # a line of the spool that another program wrote
    db.execute(
        "INSERT OR IGNORE INTO injection (id, session_id, at, kind, text, tokens, ms, memories)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            event["id"], event["sessionId"], event["timestamp"], str(given.get("kind", "")),
            given["text"][:_INJECTED_CHARS], _plain(about, "estimatedTokens", int, 0), event.get("duration_ms"),
            json_text.dumps(_plain(about, "memoryIds", list, [])),
        ),
    )  # fmt: skip


def _plain(about: dict[str, Any], name: str, kind: type | tuple[type, ...], otherwise: object) -> Any:
    value = about.get(name)
    return value if isinstance(value, kind) else otherwise


def exists(db: apsw.Connection, identifier: str) -> bool:
    """Whether an event has this id."""
    return db.execute("SELECT 1 FROM event WHERE id = ?", (identifier,)).fetchone() is not None


def debug_count(db: apsw.Connection, event: Event, window_ms: int) -> int:
    """How many debug events of the same source, component and action lie within `window_ms` before or after this."""
    at = event["timestamp"]
    query = (
        "SELECT count(*) FROM event WHERE level = 'debug' AND source = ? AND component = ? AND action = ?"
        " AND timestamp > ? AND timestamp < ?"
    )
    values = (event["source"], event["component"], event["action"], at - window_ms, at + window_ms)
    return int(db.execute(query, values).get)


def newest(db: apsw.Connection, query: EventQuery, limit: int, offset: int = 0) -> list[Event]:
    """Events that the query lets through, newest first."""
    where, values = _where(query)
    found = f"SELECT {_COLUMNS} FROM event WHERE {where} ORDER BY timestamp DESC, seq DESC LIMIT ? OFFSET ?"
    return [_from_row(row) for row in db.execute(found, (*values, limit, offset))]


def last_seq(db: apsw.Connection) -> int:
    """The number of the event that was stored last, 0 where there is none; numbers rise and are never used twice."""
    return int(db.execute("SELECT coalesce(max(seq), 0) FROM event").get)


def behind(
    db: apsw.Connection, number: int, *, upto: int = _LAST, query: EventQuery | None = None, most: int = -1
) -> list[tuple[int, Event]]:
    """Events stored behind a number that the query lets through, each with its own number, in the order they came."""
    where, values = _where(query or {"since": -_LAST})
    found = f"SELECT {_COLUMNS} FROM event WHERE seq > ? AND seq <= ? AND {where} ORDER BY seq LIMIT ?"
    return [(int(row[0]), _from_row(row)) for row in db.execute(found, (number, upto, *values, most))]


def tally(db: apsw.Connection, query: EventQuery) -> list[tuple[str, str, str, str, int]]:
    """How many events there are of each level, source, component and action the query lets through, in this order."""
    where, values = _where(query)
    counted = f"SELECT level, source, component, action, count(*) FROM event WHERE {where} GROUP BY 1, 2, 3, 4"
    return list(db.execute(counted, values))


def count(db: apsw.Connection) -> int:
    """How many events there are."""
    return int(db.execute("SELECT count(*) FROM event").get)


def delete_before(db: apsw.Connection, before: int, batch: int) -> int:
    """Drop at most `batch` events older than `before` (ms), inside the caller's transaction; returns how many."""
    db.execute("DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE timestamp < ? LIMIT ?)", (before, batch))
    return db.changes()


def _from_row(row: tuple[Any, ...]) -> Event:
    _, identifier, at, session, system, level, source, component, action, ms, success, error, metadata = row
    event: Event = {
        "id": identifier, "timestamp": at, "sessionId": session, "systemId": system, "level": level, "source": source,
        "component": component, "action": action, "success": bool(success), "metadata": json_text.loads(metadata),
    }  # fmt: skip
    if ms is not None:
        event["duration_ms"] = int(ms) if ms == int(ms) else ms
    if error is not None:
        event["error"] = error
    return event


def _where(query: EventQuery) -> tuple[str, tuple[Any, ...]]:
    conditions = ["timestamp >= ?"]
    values: list[Any] = [query["since"]]
    for column, names in (
        ("level", query.get("levels", ())),
        ("source", query.get("sources", ())),
        ("component", query.get("components", ())),
        ("action", query.get("actions", ())),
        ("session_id", [query["session"]] if query.get("session") else []),
        ("system_id", [query["system"]] if query.get("system") else []),
    ):
        if names:
            conditions.append(f"{column} IN ({marks(names)})")
            values.extend(names)
    success = query.get("success")
    if success is not None:
        conditions.append("success = ?")
        values.append(int(success))
    if hidden := query.get("hidden", ()):
        conditions.append(f"action NOT IN ({marks(hidden)})")
        values.extend(hidden)
    if any_of := query.get("any_of", ()):
        holds = " OR ".join(" AND ".join("instr(search_text, ?) > 0" for _ in words) for words in any_of)
        conditions.append(f"NOT ({holds})" if query.get("inverted") else f"({holds})")
        values.extend(word for words in any_of for word in words)
    return " AND ".join(conditions), tuple(values)
