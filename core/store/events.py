"""Events: stored, searched, counted, and exported in order. Times in ms since the epoch. Hot path.

Functions that write belong inside the caller's transaction.
"""

from __future__ import annotations

from core import TYPE_CHECKING, json_text
from core.store import documents
from core.store.rows import Record, fetch, fetch_one, marks

if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.records import Event, EventQuery

HOOK = "hook"  # component of the events that hooks send about themselves
ALL = 1 << 62  # above every number and time
COLUMNS = (
    "id, timestamp, session_id AS sessionId, system_id AS systemId, level, source, component, action, duration_ms,"
    " success, error, metadata"
)


def insert(db: apsw.Connection, event: Event, search_text: str) -> bool:
    """Store an event, to be found by its lower-case `search_text`; False if its id is stored already."""
    db.execute(
        "INSERT INTO event (id, timestamp, session_id, system_id, level, source, component, action, duration_ms,"
        " success, error, metadata, search_text) VALUES (:id, :timestamp, :sessionId, :systemId, :level, :source,"
        " :component, :action, :duration_ms, :success, :error, :metadata, :search_text) ON CONFLICT (id) DO NOTHING",
        {
            "duration_ms": None, "error": None, **event, "success": int(event["success"]),
            "metadata": json_text.dumps(event["metadata"]), "search_text": search_text,
        },
    )  # fmt: skip
    return bool(db.changes())


def count_recalled(db: apsw.Connection, event: Event) -> None:
    """Count the memories that an event injected as recalled."""
    recalled = [identifier for identifier in event.get("recalled") or () if isinstance(identifier, str)]
    if recalled:
        documents.count_recall(db, recalled, event["timestamp"])


def exists(db: apsw.Connection, identifier: str) -> bool:
    """Whether an event has this id."""
    return db.execute("SELECT 1 FROM event WHERE id = ?", (identifier,)).fetchone() is not None


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


def count(db: apsw.Connection) -> int:
    """The number of events."""
    return int(db.execute("SELECT count(*) FROM event").get)


def count_after(db: apsw.Connection, number: int) -> int:
    """The number of events that were stored after this number."""
    return int(db.execute("SELECT count(*) FROM event WHERE seq > ?", (number,)).get)


def delete_older(db: apsw.Connection, before: int, batch: int) -> int:
    """Delete at most `batch` events older than `before` (ms); returns how many."""
    db.execute("DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE timestamp < ? LIMIT ?)", (before, batch))
    return db.changes()


class Cursor(Record):
    """How far events were exported to an OTLP destination. Times in ms since the epoch."""

    __slots__ = (
        "destination", "endpoint", "error", "exported", "exported_at", "failed_at", "failures", "next_try_at",
        "reached", "rejected", "signal", "totals",
    )  # fmt: skip

    destination: str
    """Fingerprint of the signal and the endpoint."""
    signal: str
    """`logs` or `traces`."""
    endpoint: str
    reached: int
    """Number of the last event that need not be sent again, 0 at the start."""
    exported: int
    rejected: int
    totals: str
    exported_at: int | None
    failures: int
    """Failed attempts since the last success."""
    error: str
    failed_at: int | None
    next_try_at: int


def new_cursor(destination: str, signal: str, endpoint: str) -> Cursor:
    """The cursor of a destination to which nothing was sent."""
    return Cursor(
        destination=destination, signal=signal, endpoint=endpoint, reached=0, exported=0, rejected=0, totals="",
        exported_at=None, failures=0, error="", failed_at=None, next_try_at=0,
    )  # fmt: skip


def read_cursor(db: apsw.Connection, destination: str) -> Cursor | None:
    """A destination's cursor; None if nothing was ever sent."""
    return fetch_one(db, "SELECT * FROM export_cursor WHERE destination = ?", (destination,), Cursor)


def cursors(db: apsw.Connection) -> list[Cursor]:
    """All cursors, by signal and endpoint."""
    return fetch(db, "SELECT * FROM export_cursor ORDER BY signal, endpoint", (), Cursor)


def save_cursor(db: apsw.Connection, cursor: Cursor) -> None:
    """Store a cursor, inside the caller's transaction."""
    names = Cursor.__slots__
    values = [getattr(cursor, name) for name in names]
    db.execute(f"INSERT OR REPLACE INTO export_cursor ({', '.join(names)}) VALUES ({marks(names)})", values)


def next_batch(db: apsw.Connection, after: int, upto: int, most: int, most_bytes: int) -> tuple[list[Event], int]:
    """The next events after number `after`, at most `most` or about `most_bytes`, and the number of the last."""
    kept: list[Event] = []
    size = 0
    for number, event in stored_after(db, after, upto=upto, most=most):
        size += 400 + len(event.get("error", "")) + len(json_text.dumps(event["metadata"]))
        if size > most_bytes and kept:
            break
        kept.append(event)
        after = number
    return kept, after


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
