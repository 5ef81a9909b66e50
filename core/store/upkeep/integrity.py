"""Whether the store's file is whole, what room it takes, and whether its times can be: for `joelclaw doctor`."""

from __future__ import annotations

import os
from dataclasses import dataclass

from core.store import sqlite
from core.store.sqlite import apsw

_MOST_FAULTS = 5


@dataclass(frozen=True)
class Figures:
    """Of a store: bytes of the file, of its log, and of pages that hold nothing; its newest time in ms, or None."""

    size: int
    log: int
    free: int
    newest: int | None


def faults(db: apsw.Connection) -> list[str]:
    """What SQLite finds to be wrong with the file, the first five; each page is read.

    Raises:
        Failure: STORE_DAMAGED and its like, where it cannot even look.
    """
    try:
        rows = [str(row[0]) for row in db.execute(f"PRAGMA quick_check({_MOST_FAULTS})")]
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    return [] if rows == ["ok"] else rows


def figures(db: apsw.Connection) -> Figures:
    """Sizes and the newest time.

    Raises:
        Failure: STORE_DAMAGED and its like.
    """
    try:
        page, pages, free = (
            int(db.execute(f"PRAGMA {name}").get) for name in ("page_size", "page_count", "freelist_count")
        )
        times = [
            db.execute("SELECT max(timestamp) FROM event").get,
            db.execute("SELECT max(created_at) FROM document").get,
        ]
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    known = [int(one) for one in times if one is not None]
    return Figures(page * pages, log_bytes(), page * free, max(known) if known else None)


def log_bytes() -> int:
    """The size of the write-ahead log."""
    try:
        return os.stat(sqlite.path() + "-wal").st_size
    except OSError:
        return 0


def empty_log(db: apsw.Connection) -> int:
    """Bring the write-ahead log into the file; returns how many bytes of it are left, where others are reading it."""
    sqlite.fold_log(db, over=0)
    return log_bytes()
