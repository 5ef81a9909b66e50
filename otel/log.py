"""The event log: appending events to the store, and dropping old ones. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING
from core.store import events as stored
from core.store import sqlite
from otel.event import search_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.records import Event

DUPLICATE = "duplicate-id"
NOISE = "debug_backpressure_guard"
NOISE_WINDOW_MS = 60_000


def append(db: apsw.Connection, events: Sequence[Event], *, debug_limit: int) -> int:
    """Store events, in the transaction that is open or in one of its own; returns how many were new and no noise.

    `debug_limit`: debug events kept of one source, component and action in any 60 s, unless they matter.
    """
    if not db.in_transaction:
        with sqlite.transaction(db):
            return append(db, events, debug_limit=debug_limit)
    stored_now = 0
    for event in events:
        try:
            stored_now += not _append(db, event, debug_limit)
        except (ValueError, TypeError, ArithmeticError, AttributeError):
            pass  # another program wrote it to the spool: what cannot be stored would keep back all others
    return stored_now


def append_one(db: apsw.Connection, event: Event, *, debug_limit: int) -> str:
    """Store one event in a transaction of its own; returns why it was not stored (`DUPLICATE`, `NOISE`), else ""."""
    with sqlite.transaction(db):
        return _append(db, event, debug_limit)


def _append(db: apsw.Connection, event: Event, debug_limit: int) -> str:
    if event["component"] == stored.HOOK:
        stored.record_hook(db, event)  # noise or not
    elif "injected" in event:
        stored.record_injection(db, event)
    if not _matters(event) and stored.debug_count(db, event, NOISE_WINDOW_MS) >= debug_limit:
        return DUPLICATE if stored.exists(db, event["id"]) else NOISE
    if not stored.insert(db, event, search_text(event)):
        return DUPLICATE
    stored.count_recalled(db, event)
    return ""


def _matters(event: Event) -> bool:
    """Whether an event is kept however often its like came: a compaction, an injection, a failure."""
    if not event["success"] or event["level"] != "debug":
        return True
    about = event["action"].replace("_", ".").split(".")
    return any(part == "compaction" or part.startswith("inject") for part in about) or bool(
        event["metadata"].get("injected")
    )
