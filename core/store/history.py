"""What is kept of sessions besides their transcripts: hook calls, injected texts, events. Times in ms."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from core import files, json_text
from core.records import Event, EventQuery
from core.store import apsw, marks, sqlite
from core.store.events import COLUMNS

_LAST = 1 << 62
_HOOK = "session_id, at, client, event, kind, ms, outcome, error, percent, tokens, context_window, chars"
_HOOK_NAMES = ("session", *_HOOK.replace("context_window", "window").split(", ")[1:])


@dataclass(frozen=True)
class Called:
    """Calls of a client's hook for one event. Times in ms; `count` and `faults` since a given time."""

    agent: str
    event: str
    last: int
    count: int
    faults: tuple[tuple[str, str], ...] = ()
    """Outcome (`failed`, `degraded` or `late`) and error of each that did not do all of its work, oldest first."""

    def errors(self, outcome: str) -> list[str]:
        """The errors of the calls with this outcome."""
        return [error for name, error in self.faults if name == outcome]


def hooks_by_event(db: apsw.Connection, since: int) -> list[Called]:
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


def copy_hooks(db: apsw.Connection, into: apsw.Connection) -> None:
    """Copy the calls of hooks to another store. Raises Failure: STORE_DAMAGED and its like."""
    try:
        for row in db.execute("SELECT * FROM hook_call"):
            into.execute(f"INSERT INTO hook_call VALUES ({marks(row)})", row)
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None


def traces(home: str) -> list[tuple[str, str, bool]]:
    """What hooks left in another home's store: action, error, and whether they injected a text; oldest first."""
    path = os.path.join(home, files.STORE)
    if not os.path.exists(path):
        return []
    query = (
        "SELECT action, coalesce(error, ''), coalesce(json_array_length(metadata, '$.injected'), 0) > 0 FROM event"
        " WHERE component = 'hook' ORDER BY seq"
    )
    try:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        rows = [(action, error, bool(injected)) for action, error, injected in db.execute(query)]
        db.close()
    except apsw.Error:
        return []
    return rows


def hooks_of(db: apsw.Connection, session: str = "", since: int = 0) -> list[dict[str, Any]]:
    """The hook calls of a session, or of all since a time, oldest first; outcome: ok, degraded, failed or late."""
    where, value = ("session_id = ?", session) if session else ("at >= ?", since)
    rows = db.execute(f"SELECT {_HOOK} FROM hook_call WHERE {where} ORDER BY at, id", (value,))
    found: list[Any] = [dict(zip(_HOOK_NAMES, row, strict=True)) for row in rows]
    return found


def extent(db: apsw.Connection, session: str) -> dict[str, Any] | None:
    """How many hook calls a session has, from when to when, and of which client; None if it has none."""
    query = "SELECT count(*), min(at), max(at), max(client) FROM hook_call WHERE session_id = ?"
    ((calls, first, last, client),) = db.execute(query, (session,))
    return {"calls": calls, "first": first, "last": last, "client": client} if calls else None


def sessions(db: apsw.Connection) -> list[str]:
    """The ids of all sessions with hook calls, in order."""
    rows = db.execute(
        "WITH RECURSIVE one(id) AS (SELECT min(session_id) FROM hook_call UNION ALL "
        "SELECT (SELECT min(session_id) FROM hook_call WHERE session_id > one.id) FROM one WHERE one.id IS NOT NULL) "
        "SELECT id FROM one WHERE id <> ''"
    )
    return [str(row[0]) for row in rows]


def delete_before(db: apsw.Connection, before: int, batch: int) -> int:
    """Drop at most `batch` hook calls, and as many texts, in the caller's transaction; returns how many."""
    hooks = "(session_id, id) IN (SELECT session_id, id FROM hook_call WHERE at < ? LIMIT ?)"
    db.execute(f"DELETE FROM hook_call WHERE {hooks}", (before, batch))
    dropped = db.changes()
    db.execute("DELETE FROM injection WHERE id IN (SELECT id FROM injection WHERE at < ? LIMIT ?)", (before, batch))
    return dropped + db.changes()


def forget(db: apsw.Connection, session: str) -> None:
    """Delete a session's hook calls and injected texts, inside the caller's transaction."""
    for table in ("hook_call", "injection"):
        db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session,))


def injected(db: apsw.Connection, session: str) -> list[dict[str, Any]]:
    """All texts injected into a session, oldest first; `ms` is the time it took to compose one."""
    rows: Any = db.execute(
        "SELECT id, at, kind, text, tokens, ms, memories FROM injection WHERE session_id = ? ORDER BY at, id",
        (session,),
    )
    return [
        {
            "id": identifier, "session": session, "at": at, "kind": kind, "text": text, "tokens": tokens, "ms": ms,
            "memories": json_text.loads(memories),
        }
        for identifier, at, kind, text, tokens, ms, memories in rows
    ]  # fmt: skip


def injections_by_kind(db: apsw.Connection, since: int) -> list[tuple[str, int, int, int]]:
    """The texts since a time: kind, how many, estimated tokens and memories, most first."""
    rows = db.execute(
        "SELECT kind, count(*), sum(tokens), sum(json_array_length(memories)) FROM injection WHERE at >= ?"
        " GROUP BY kind ORDER BY 2 DESC, 1",
        (since,),
    )
    return [(kind, int(number), int(tokens), int(memories)) for kind, number, tokens, memories in rows]


def events(db: apsw.Connection, session: str) -> list[dict[str, Any]]:
    """The events of a session above debug, oldest first."""
    rows: Any = db.execute(
        "SELECT id, timestamp, level, component, action, duration_ms, coalesce(error, ''), metadata FROM event"
        " WHERE session_id = ? AND level <> 'debug' ORDER BY timestamp, seq",
        (session,),
    )
    return [
        {
            "id": identifier, "at": at, "level": level, "component": component, "action": action, "ms": ms,
            "error": error, "metadata": json_text.loads(metadata),
        }
        for identifier, at, level, component, action, ms, error, metadata in rows
    ]  # fmt: skip


def event_counts(db: apsw.Connection, since: int) -> dict[str, int]:
    """How many events above debug level there were since a time, by action."""
    query = "SELECT action, count(*) FROM event WHERE timestamp >= ? AND level <> 'debug' GROUP BY 1"
    return {action: int(number) for action, number in db.execute(query, (since,))}


def errors(db: apsw.Connection, since: int) -> list[dict[str, Any]]:
    """Errors since a time, grouped, the latest first."""
    rows = db.execute(
        "SELECT max(timestamp), component, action, coalesce(error, ''), count(*), max(session_id) FROM event"
        " WHERE timestamp >= ? AND level IN ('error', 'fatal') GROUP BY 2, 3, 4 ORDER BY 1 DESC",
        (since,),
    )
    names = ("at", "component", "action", "error", "count", "sessionId")
    return [dict(zip(names, row, strict=True)) for row in rows]


def recalls(db: apsw.Connection, since: int) -> list[tuple[int, float | None]]:
    """Each command-line recall since a time: how many it returned, and its ms."""
    rows = db.execute(
        "SELECT json_extract(metadata, '$.returned'), duration_ms FROM event WHERE timestamp >= ?"
        " AND component = 'recall-cli' AND action = 'memory.recall.completed'",
        (since,),
    )
    return [(returned if isinstance(returned, int) else 0, ms) for returned, ms in rows]


def call_times(db: apsw.Connection, session: str) -> list[tuple[int, int, bool]]:
    """For each tool call of an archived session: its time (0 unknown), its prompt, whether it failed; in order."""
    query = "SELECT coalesce(at, 0), prompt, outcome = 'failed' FROM call WHERE session_id = ? ORDER BY number"
    return [(int(at), int(prompt), bool(failed)) for at, prompt, failed in db.execute(query, (session,))]


def memory_texts(db: apsw.Connection, identifiers: Iterable[str], characters: int) -> dict[str, str]:
    """The beginnings of memories by id, without those that are gone or forgotten."""
    asked = "SELECT value FROM json_each(?)"
    query = f"SELECT id, substr(text, 1, ?) FROM document WHERE id IN ({asked}) AND forgotten_at IS NULL"
    return dict(db.execute(query, (characters, json_text.dumps(list(identifiers)))))


def newest(db: apsw.Connection, query: EventQuery, limit: int, offset: int = 0) -> list[Event]:
    """Events that the query lets through, newest first."""
    where, values = _where(query)
    found = f"SELECT {COLUMNS} FROM event WHERE {where} ORDER BY timestamp DESC, seq DESC LIMIT ? OFFSET ?"
    return [_from_row(row) for row in db.execute(found, (*values, limit, offset))]


def last_seq(db: apsw.Connection) -> int:
    """The number of the event that was stored last, 0 where there is none; numbers rise and are never used twice."""
    return int(db.execute("SELECT coalesce(max(seq), 0) FROM event").get)


def behind(
    db: apsw.Connection, number: int, *, upto: int = _LAST, query: EventQuery | None = None, most: int = -1
) -> list[tuple[int, Event]]:
    """Events stored behind a number that the query lets through, each with its own number, in the order they came."""
    where, values = _where(query or {"since": -_LAST})
    found = f"SELECT {COLUMNS} FROM event WHERE seq > ? AND seq <= ? AND {where} ORDER BY seq LIMIT ?"
    return [(int(row[0]), _from_row(row)) for row in db.execute(found, (number, upto, *values, most))]


def tally(db: apsw.Connection, query: EventQuery) -> list[tuple[str, str, str, str, int]]:
    """How many events there are of each level, source, component and action the query lets through, in this order."""
    where, values = _where(query)
    counted = f"SELECT level, source, component, action, count(*) FROM event WHERE {where} GROUP BY 1, 2, 3, 4"
    return list(db.execute(counted, values))


def count_events(db: apsw.Connection) -> int:
    """How many events there are."""
    return int(db.execute("SELECT count(*) FROM event").get)


def delete_events(db: apsw.Connection, before: int, batch: int) -> int:
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
