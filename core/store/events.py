"""Adds events to the SQLite store; `history` finds them. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, json_text
from core.store import document_rows, marks

if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.records import Event

COLUMNS = (
    "seq, id, timestamp, session_id, system_id, level, source, component, action, duration_ms, success, error, metadata"
)
HOOK = "hook"  # the component of the events that hooks send about themselves
_INJECTED_CHARS = 12_000  # of a text that is kept; none of ours is longer
_OUTCOMES = {"hook.completed": "ok", "hook.degraded": "degraded", "hook.failed": "failed", "hook.timeout": "late"}


def insert(db: apsw.Connection, event: Event, search_text: str) -> bool:
    """Add an event, found by its lower-case `search_text`, in the caller's transaction; False where its id is there."""
    db.execute(
        f"INSERT INTO event ({COLUMNS[5:]}, search_text) VALUES ({marks(range(13))}) ON CONFLICT (id) DO NOTHING",
        (
            event["id"], event["timestamp"], event["sessionId"], event["systemId"], event["level"], event["source"],
            event["component"], event["action"], event.get("duration_ms"), int(event["success"]), event.get("error"),
            json_text.dumps(event["metadata"]), search_text,
        ),
    )  # fmt: skip
    return bool(db.changes())


def record_hook(db: apsw.Connection, event: Event) -> None:
    """Keep the call that an event of the component `HOOK` tells of, once, inside the caller's transaction."""
    outcome = _OUTCOMES.get(event["action"])
    if outcome is None:
        return
    about, more = event["metadata"], event.get("hook")
    if not isinstance(more, dict):  # a line of the spool that another version wrote
        more = {}
    if outcome == "late":  # takes the place of one that says there was an answer: it could not be given any more
        db.execute("DELETE FROM event WHERE id = ? AND component = 'hook' AND action <> 'hook.timeout'", (event["id"],))
    db.execute(
        f"INSERT OR {'REPLACE' if outcome == 'late' else 'IGNORE'} INTO hook_call (session_id, at, client, event, kind,"
        f" ms, outcome, error, percent, tokens, context_window, chars, id) VALUES ({marks(range(13))})",
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


def count_recalled(db: apsw.Connection, event: Event) -> None:
    """Count the memories that an event handed out as recalled, inside the caller's transaction."""
    handed = [one for one in event.get("recalled") or () if isinstance(one, str)]
    if handed:
        document_rows.count_recall(db, handed, event["timestamp"])


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
