"""Appending events to the store."""

from __future__ import annotations

from core.store import events as stored
from core.store import sqlite
from otel import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.store.interface import Event

DUPLICATE = "duplicate-id"
NOISE = "debug-noise"
NOISE_WINDOW_MS = 60_000


def append(db: apsw.Connection, events: Sequence[Event], *, debug_limit: int) -> int:
    """Store events, in the transaction that is open or in one of its own; returns how many were new and no noise.

    Args:
        debug_limit: debug events kept of one source, component and action in any 60 s (12 in the mirrored CLI).

    Raises:
        Failure: the store cannot be written; then none of them is stored.
    """
    if db.in_transaction:
        return sum(not _append(db, event, debug_limit) for event in events)
    with sqlite.transaction(db):
        return sum(not _append(db, event, debug_limit) for event in events)


def append_one(db: apsw.Connection, event: Event, *, debug_limit: int) -> str:
    """Store one event in a transaction of its own; returns why it was not stored (`DUPLICATE`, `NOISE`), else "".

    Raises:
        Failure: the store cannot be written.
    """
    with sqlite.transaction(db):
        return _append(db, event, debug_limit)


def _append(db: apsw.Connection, event: Event, debug_limit: int) -> str:
    if event["level"] == "debug" and stored.debug_count(db, event, NOISE_WINDOW_MS) >= debug_limit:
        return DUPLICATE if stored.exists(db, event["id"]) else NOISE
    return "" if stored.insert(db, event, record.search_text(event)) else DUPLICATE
