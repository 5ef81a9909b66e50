"""What the store knows of one session besides its hooks: its events, what was said, its calls by time, its memories."""

from __future__ import annotations

from core import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    import apsw

    from core.records import Told

_MOST_PARAMETERS = 500


def events(db: apsw.Connection, session: str) -> list[Told]:
    """The events of a session above debug, oldest first."""
    rows = db.execute(
        "SELECT id, timestamp, level, component, action, duration_ms, error, metadata FROM event"
        " WHERE session_id = ? AND level <> 'debug' ORDER BY timestamp, seq",
        (session,),
    )
    return [_told(row) for row in rows]


def call_times(db: apsw.Connection, session: str) -> list[tuple[int, int, bool]]:
    """When each tool call of an archived session was (ms since the epoch, 0 unknown), in which prompt, whether it
    failed; in order."""
    rows = db.execute(
        "SELECT coalesce(at, 0), prompt, outcome = 'failed' FROM call WHERE session_id = ? ORDER BY number", (session,)
    )
    return [(int(at), int(prompt), bool(failed)) for at, prompt, failed in rows]


def memory_texts(db: apsw.Connection, identifiers: Iterable[str], characters: int) -> dict[str, str]:
    """The beginnings of memories by their ids; those that are gone or forgotten are left out."""
    asked = list(dict.fromkeys(identifiers))
    found: dict[str, str] = {}
    for start in range(0, len(asked), _MOST_PARAMETERS):
        part = asked[start : start + _MOST_PARAMETERS]
        rows = db.execute(
            f"SELECT id, substr(text, 1, ?) FROM document WHERE id IN ({', '.join('?' * len(part))})"
            " AND forgotten_at IS NULL",
            (characters, *part),
        )
        found.update((str(identifier), str(text)) for identifier, text in rows)
    return found


def counts(db: apsw.Connection, since: int) -> list[tuple[str, str, int]]:
    """Component, action and how many of the events above debug since a time (ms since the epoch)."""
    rows = db.execute(
        "SELECT component, action, count(*) FROM event WHERE timestamp >= ? AND level <> 'debug' GROUP BY 1, 2",
        (since,),
    )
    return [(component, action, int(number)) for component, action, number in rows]


def errors(db: apsw.Connection, since: int, most: int) -> list[dict[str, Any]]:
    """What went wrong since a time (ms since the epoch), what is alike together: the latest first, at most so many."""
    rows = db.execute(
        "SELECT max(timestamp), component, action, coalesce(error, ''), count(*), max(session_id) FROM event"
        " WHERE timestamp >= ? AND level IN ('error', 'fatal') GROUP BY 2, 3, 4 ORDER BY 1 DESC LIMIT ?",
        (since, most),
    )
    names = ("at", "component", "action", "error", "count", "sessionId")
    return [dict(zip(names, row, strict=True)) for row in rows]


def error_count(db: apsw.Connection, since: int) -> int:
    """How many errors there were since a time (ms since the epoch)."""
    return int(
        db.execute("SELECT count(*) FROM event WHERE timestamp >= ? AND level IN ('error', 'fatal')", (since,)).get
    )


def recalls(db: apsw.Connection, since: int) -> list[tuple[int, float | None]]:
    """Of each recall of the command line since a time (ms since the epoch): what it returned, and its ms."""
    rows = db.execute(
        "SELECT json_extract(metadata, '$.returned'), duration_ms FROM event WHERE timestamp >= ?"
        " AND component = 'recall-cli' AND action = 'memory.recall.completed'",
        (since,),
    )
    return [(returned if isinstance(returned, int) else 0, ms) for returned, ms in rows]


def _told(row: tuple[Any, ...]) -> Told:
    identifier, at, level, component, action, ms, error, metadata = row
    try:
        about = json_text.loads(metadata)
    except json_text.InvalidJSON:
        about = {}
    return {
        "id": identifier, "at": at, "level": level, "component": component, "action": action, "ms": ms,
        "error": error or "", "metadata": about if isinstance(about, dict) else {},
    }  # fmt: skip
