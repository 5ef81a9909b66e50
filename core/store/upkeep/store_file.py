"""The store's file: whether it is whole, what room it takes; gives free room back, and wipes what was deleted.

In pieces, so that a hook that writes waits for a few milliseconds; only `wipe` rewrites the whole file at once, since a
purge must not leave anything of the text. What a purge still owes is kept in the store until it is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from core.errors import Failure
from core.store import sqlite
from core.store.sqlite import apsw

_MOST_FAULTS = 5
_OWED = "wipe"
_LEXICONS = ("lexicon", "call_lexicon", "segment_lexicon")
_MERGED_PAGES = 1_000
_PAGES_AT_ONCE = 500
_PAUSE_S = 0.01
_PATIENCE_S = 60.0
"""How long a wipe waits for readers that hold the log."""


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
        size, free = sizes(db)
        newest = "SELECT max((SELECT max(timestamp) FROM event), (SELECT max(created_at) FROM document))"
        either = "SELECT coalesce((SELECT max(timestamp) FROM event), (SELECT max(created_at) FROM document))"
        return Figures(size, sqlite.log_bytes(), free, db.execute(newest).get or db.execute(either).get)
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None


def empty_log(db: apsw.Connection) -> int:
    """Bring the write-ahead log into the file; returns how many bytes of it are left, where others are reading it."""
    sqlite.fold_log(db, over=0)
    return sqlite.log_bytes()


def sizes(db: apsw.Connection) -> tuple[int, int]:
    """Bytes of the store, and how many of them are free."""
    page = int(db.execute("PRAGMA page_size").get)
    return int(db.execute("PRAGMA page_count").get) * page, int(db.execute("PRAGMA freelist_count").get) * page


def owe(db: apsw.Connection) -> None:
    """Note, inside the caller's transaction, that what was deleted is still in the file."""
    db.execute("INSERT OR REPLACE INTO upkeep VALUES (?, 1)", (_OWED,))


def is_owed(db: apsw.Connection) -> bool:
    """Whether a purge has deleted something that may still be in the file."""
    return bool(db.execute("SELECT count(*) FROM upkeep WHERE name = ?", (_OWED,)).get)


def wipe(db: apsw.Connection) -> None:
    """Take what was deleted out of the indexes, the file and the log. The store must be open for writing.

    Writers wait while the file is written anew; readers do not.

    Raises:
        Failure: PURGE_UNFINISHED, readers hold the log; or what the store says. What was deleted stays deleted, and
            the next `store prune` or purge goes on.
    """
    try:
        for name in _LEXICONS:
            merge(db, name)
        _vacuum(db)
        if not _patiently(lambda: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0] == 0):
            raise Failure(
                "PURGE_UNFINISHED",
                "everything was deleted, but another process reads the store, and its log may hold some of it",
                "end what reads it, then run joelclaw store prune",
            )
        with sqlite.transaction(db):
            db.execute("DELETE FROM upkeep WHERE name = ?", (_OWED,))
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None


def give_back(db: apsw.Connection) -> int:
    """Return free pages at the end of the file to the disk, where the file was made so; how many bytes.

    Raises:
        Failure: the store cannot be written.
    """
    before, free = sizes(db)
    if not free or int(db.execute("PRAGMA auto_vacuum").get) != 2:  # 2: pages can be given back one by one
        return 0
    try:
        while True:
            with sqlite.transaction(db):
                db.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
            left = sizes(db)[1]
            if not left or left >= free:
                break
            free = left
            time.sleep(_PAUSE_S)
        sqlite.fold_log(db, over=0)
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    return before - sizes(db)[0]


def rewrite(db: apsw.Connection) -> int:
    """Write the whole file anew without its free pages, and so that later ones can be given back; how many bytes.

    Writers wait meanwhile.

    Raises:
        Failure: the store cannot be written, or the disk has no room for a second copy; nothing was changed.
    """
    before = sizes(db)[0]
    try:
        _vacuum(db)
        sqlite.fold_log(db, over=0)
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    return before - sizes(db)[0]


def merge(db: apsw.Connection, name: str) -> None:
    """Merge all parts of a lexical index into one: it is searched faster, and leaves out what was deleted.

    In short transactions: some 30 ms, which a hook's write waits at most.

    Raises:
        Failure: the store cannot be written; everything is found all the same.
    """
    pages = -_MERGED_PAGES  # the sign begins a merge of all parts
    while True:
        with sqlite.transaction(db):
            before = db.total_changes()
            db.execute(f"INSERT INTO {name} ({name}, rank) VALUES ('merge', ?)", (pages,))
            changed = db.total_changes() - before
        if changed < 2:  # SQLite's sign that there is nothing left to merge
            return
        pages = _MERGED_PAGES


def _vacuum(db: apsw.Connection) -> None:
    db.execute("PRAGMA auto_vacuum = INCREMENTAL").fetchall()
    if not _patiently(lambda: db.execute("VACUUM").fetchall() is not None):
        db.execute("VACUUM").fetchall()


def _patiently(work: Callable[[], bool]) -> bool:
    """Whether work that others may keep from its file was done, within a minute."""
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        try:
            if work():
                return True
        except (apsw.BusyError, apsw.LockedError):
            pass
        time.sleep(_PAUSE_S)
    return False
