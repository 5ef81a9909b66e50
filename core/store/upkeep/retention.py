"""Drops what is old or too much: events, hooks, injected texts, and archived sessions; in short transactions.

What was noted on purpose (observations) and synced files are never dropped. Nor is what was forgotten or purged: its
row keeps it from coming back. Each raises Failure where the store cannot be written.
"""

from __future__ import annotations

import apsw

from core.store import document_rows, documents, sqlite
from core.store.history import hook_calls, injections
from core.store.layout import row_range
from core.store.replication import outbox
from core.store.sessions import call_rows, forgotten, segments, session_rows

EVENTS_AT_ONCE = 1_000
EPISODES_AT_ONCE = 100
# What an event takes: its texts, its other columns, and its entries in three indexes.
_EVENT_BYTES = "length(metadata) + length(search_text) + coalesce(length(error), 0) + 400"
_FIRST, _LAST = row_range("episodes")
# +rowid: by the index of times, of which the first few hundred are wanted, not of the whole collection. Not what still
# waits for a cluster: other machines would never get it.
_OLD_EPISODES = (
    f"FROM document WHERE +rowid BETWEEN {_FIRST} AND {_LAST} AND forgotten_at IS NULL AND created_at < ?"
    " AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.id = document.id)"
)


def count_events(db: apsw.Connection, before: int) -> tuple[int, int]:
    """How many events are older than `before` (ms), and how many there are."""
    older = db.execute("SELECT count(*) FROM event WHERE timestamp < ?", (before,)).get
    return int(older), int(db.execute("SELECT count(*) FROM event").get)


def event_bytes(db: apsw.Connection) -> int:
    """About what the events take in the file."""
    return int(db.execute(f"SELECT coalesce(sum({_EVENT_BYTES}), 0) FROM event").get)


def surplus_events(db: apsw.Connection, limit: int, since: int = 0) -> list[int]:
    """The numbers of the events to drop so that the rest takes at most `limit` bytes: debug first, then the oldest.

    Args:
        since: older ones are not looked at: they go anyway.
    """
    rows = db.execute(f"SELECT seq, {_EVENT_BYTES}, level, timestamp FROM event WHERE timestamp >= ?", (since,))
    found = sorted((level != "debug", at, seq, size) for seq, size, level, at in rows)
    over = sum(size for *_, size in found) - limit
    surplus: list[int] = []
    for *_, seq, size in found:
        if over <= 0:
            break
        surplus.append(seq)
        over -= size
    return surplus


def drop_events(db: apsw.Connection, numbers: list[int]) -> int:
    """Drop these events, in one transaction; returns how many there were."""
    with sqlite.transaction(db):
        before = db.total_changes()
        db.executemany("DELETE FROM event WHERE seq = ?", [(seq,) for seq in numbers])
        return db.total_changes() - before


def oldest_events(db: apsw.Connection, *, debug: bool) -> list[int]:
    """Numbers of the next events to drop where the store is too large."""
    level = "level = 'debug'" if debug else "true"
    rows = db.execute(f"SELECT seq FROM event WHERE {level} ORDER BY timestamp LIMIT ?", (EVENTS_AT_ONCE,))
    return [int(seq) for (seq,) in rows]


def first_event(db: apsw.Connection) -> int | None:
    """When the oldest event was (ms)."""
    found: int | None = db.execute("SELECT min(timestamp) FROM event").get
    return found


def drop_history(db: apsw.Connection, before: int) -> int:
    """Drop hook calls and injected texts older than `before` (ms), some at once; returns how many."""
    with sqlite.transaction(db):
        return sum(kind.delete_before(db, before, EVENTS_AT_ONCE) for kind in (hook_calls, injections))


def count_episodes(db: apsw.Connection, before: int) -> int:
    """How many episodes are older than `before` (ms)."""
    return int(db.execute(f"SELECT count(*) {_OLD_EPISODES}", (before,)).get)


def drop_episodes(db: apsw.Connection, before: int, *, vectors: bool) -> int:
    """Drop the oldest episodes before a time (ms), some at once; returns how many, 0 where none is left.

    From this file alone: a cluster, and the machines that share it, keep theirs.

    Args:
        vectors: whether sqlite-vec is loaded.
    """
    with sqlite.transaction(db):
        signatures = vectors and document_rows.has_signatures(db)
        # by time: rows are numbered as they were read, and who archives all sessions at once reads the newest first
        query = f"SELECT rowid, session_id {_OLD_EPISODES} ORDER BY created_at, rowid LIMIT ?"
        rows = [(int(row), str(session)) for row, session in list(db.execute(query, (before, EPISODES_AT_ONCE)))]
        with outbox.quiet(db):
            for rowid, _ in rows:
                documents.remove(db, rowid, signatures=signatures)
        for session in {session for _, session in rows if session}:
            segments.renew(db, session)
    return len(rows)


def first_episode(db: apsw.Connection, before: int) -> int | None:
    """When the oldest episode before a time was that can be dropped (both in ms)."""
    found: int | None = db.execute(f"SELECT created_at {_OLD_EPISODES} ORDER BY created_at LIMIT 1", (before,)).get
    return found


def old_sessions(db: apsw.Connection, before: int) -> list[tuple[int, str]]:
    """When each archived session that did nothing since `before` was last active (ms), and its id; the oldest first."""
    rows = db.execute(
        "SELECT updated_at, id FROM session WHERE updated_at < ? AND updated_at <> ? ORDER BY updated_at, id",
        (before, session_rows.FORGOTTEN),
    )
    return [(int(at), str(identifier)) for at, identifier in rows]


def count_calls(db: apsw.Connection, before: int) -> int:
    """How many tool calls those sessions have that did nothing since `before` (ms)."""
    return int(
        db.execute(
            "SELECT count(*) FROM session JOIN call ON session_id = id"
            " WHERE updated_at < ? AND updated_at <> ? AND outcome <> ?",
            (before, session_rows.FORGOTTEN, call_rows.FORGOTTEN_CALL),
        ).get
    )


def drop_session(db: apsw.Connection, session: str) -> int:
    """Drop what a session did, in one transaction; returns how many calls that were."""
    with sqlite.transaction(db):
        return forgotten.drop(db, session)
