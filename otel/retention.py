"""Dropping old events."""

from __future__ import annotations

import time

from core.store import events as stored
from core.store import sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

BATCH = 2_000
_PAUSE_S = 0.01


def prune(db: apsw.Connection, before: int) -> tuple[int, int]:
    """Drop events older than `before` (ms since the epoch); returns how many were dropped and how many are left.

    In batches with pauses, so that a process that emits never waits for the whole of it.

    Raises:
        Failure: the store cannot be written; batches that were dropped stay dropped.
    """
    deleted = 0
    while True:
        with sqlite.transaction(db):
            gone = stored.delete_before(db, before, BATCH)
            kept = stored.count(db) if gone < BATCH else 0
        deleted += gone
        if gone < BATCH:
            return deleted, kept
        time.sleep(_PAUSE_S)
