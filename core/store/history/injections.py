"""The texts that sessions were given, word for word, beside the events that tell of them. Hot path."""

from __future__ import annotations

from core import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.records import Event, Injected

NOTES = ("compaction-recovery", "gateway-recovery")
"""The kinds of what a session is told after a compaction."""
MOST_CHARS = 12_000
"""Of a text; none of ours is longer."""
_COLUMNS = "id, session_id, at, kind, text, tokens, ms, memories"


def record(db: apsw.Connection, event: Event) -> None:
    """Keep the text that an event carries, inside the caller's transaction; one that is kept already stays."""
    given = event.get("injected")
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        return  # a line of the spool that another program wrote
    about = event["metadata"]
    tokens, ms = about.get("estimatedTokens"), event.get("duration_ms")
    memories = about.get("memoryIds")
    db.execute(
        f"INSERT OR IGNORE INTO injection ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            event["id"], event["sessionId"], event["timestamp"], str(given.get("kind", "")),
            given["text"][:MOST_CHARS], tokens if isinstance(tokens, int) else 0, ms,
            json_text.dumps(memories if isinstance(memories, list) else []),
        ),
    )  # fmt: skip


def of_session(db: apsw.Connection, session: str) -> list[Injected]:
    """All texts that a session was given, oldest first."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM injection WHERE session_id = ? ORDER BY at, id", (session,))
    return [_injected(row) for row in rows]


def notes_with(db: apsw.Connection, text: str, most: int) -> list[str]:
    """The sessions of those of the newest `most` recovery notes that hold a text, the newest first."""
    marks = ", ".join("?" * len(NOTES))
    rows = db.execute(
        "SELECT session_id FROM (SELECT session_id, text FROM injection"
        f" WHERE kind IN ({marks}) ORDER BY at DESC, id DESC LIMIT ?) WHERE instr(text, ?)",
        (*NOTES, most, text),
    )
    return [session for (session,) in rows]


def by_kind(db: apsw.Connection, since: int) -> list[tuple[str, int, int, int]]:
    """Kind, how many, estimated tokens and memories of the texts since a time (ms since the epoch), most first."""
    rows = db.execute(
        "SELECT kind, count(*), sum(tokens), sum(json_array_length(memories)) FROM injection WHERE at >= ?"
        " GROUP BY kind ORDER BY 2 DESC, 1",
        (since,),
    )
    return [(kind, int(number), int(tokens), int(memories)) for kind, number, tokens, memories in rows]


def delete_before(db: apsw.Connection, before: int, batch: int) -> int:
    """Drop at most `batch` texts older than `before` (ms), inside the caller's transaction; returns how many."""
    db.execute("DELETE FROM injection WHERE id IN (SELECT id FROM injection WHERE at < ? LIMIT ?)", (before, batch))
    return db.changes()


def forget(db: apsw.Connection, session: str) -> None:
    """Delete the texts that a session was given, inside the caller's transaction."""
    db.execute("DELETE FROM injection WHERE session_id = ?", (session,))


def _injected(row: tuple[Any, ...]) -> Injected:
    identifier, session, at, kind, text, tokens, ms, memories = row
    try:
        known = json_text.loads(memories)
    except json_text.InvalidJSON:
        known = []
    return {
        "id": identifier, "session": session, "at": at, "kind": kind, "text": text, "tokens": tokens, "ms": ms,
        "memories": [one for one in known if isinstance(one, str)] if isinstance(known, list) else [],
    }  # fmt: skip
