"""Gives the file's free room back to the disk, and wipes what was deleted from its pages and its log.

In pieces, so that a hook that writes waits for a few milliseconds; only `wipe` rewrites the whole file at once, since a
purge must not leave anything of the text. What a purge still owes is kept in the store until it is done.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from core.errors import Failure
from core.store import sqlite
from core.store.sqlite import apsw

if TYPE_CHECKING:
    from collections.abc import Callable

_OWED = "wipe"
_LEXICONS = ("lexicon", "call_lexicon", "segment_lexicon")
_MERGED_PAGES = 1_000
_PAGES_AT_ONCE = 500
_PAUSE_S = 0.01
_PATIENCE_S = 60.0
"""How long a wipe waits for readers that hold the log."""


def owe(db: apsw.Connection) -> None:
    """Note, inside the caller's transaction, that what was deleted is still in the file."""
    db.execute("INSERT OR REPLACE INTO upkeep VALUES (?, 1)", (_OWED,))


def is_owed(db: apsw.Connection) -> bool:
    """Whether a purge has deleted something that may still be in the file."""
    return bool(db.execute("SELECT count(*) FROM upkeep WHERE name = ?", (_OWED,)).get)


def sizes(db: apsw.Connection) -> tuple[int, int]:
    """Bytes of the store, and how many of them are free."""
    page = int(db.execute("PRAGMA page_size").get)
    return int(db.execute("PRAGMA page_count").get) * page, int(db.execute("PRAGMA freelist_count").get) * page


def wipe(db: apsw.Connection) -> None:
    """Take what was deleted out of the indexes, the file and the log. The store must be open for writing.

    Writers wait while the file is written anew; readers do not.

    Raises:
        Failure: PURGE_UNFINISHED, readers hold the log; or what the store says. What was deleted stays deleted, and
            the next `store prune` or purge goes on.
    """
    try:
        for name in _LEXICONS:
            _merge(db, name)
        db.execute("PRAGMA auto_vacuum = INCREMENTAL").fetchall()
        _patiently(lambda: db.execute("VACUUM").fetchall())
        _fold(db)
        with sqlite.transaction(db):
            db.execute("DELETE FROM upkeep WHERE name = ?", (_OWED,))
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None


def give_back(db: apsw.Connection, *, progress: Callable[[int], None] = lambda _: None) -> int:
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
            progress(left)
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
        db.execute("PRAGMA auto_vacuum = INCREMENTAL").fetchall()
        _patiently(lambda: db.execute("VACUUM").fetchall())
        sqlite.fold_log(db, over=0)
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    return before - sizes(db)[0]


def _merge(db: apsw.Connection, name: str) -> None:
    """Merge all parts of a lexical index into one, which leaves out what was deleted; in short transactions."""
    pages = -_MERGED_PAGES
    while True:
        with sqlite.transaction(db):
            before = db.total_changes()
            db.execute(f"INSERT INTO {name} ({name}, rank) VALUES ('merge', ?)", (pages,))
            changed = db.total_changes() - before
        if changed < 2:
            return
        pages = _MERGED_PAGES


def _patiently(work: Callable[[], object]) -> None:
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            work()
            return
        except apsw.BusyError:
            if time.monotonic() >= until:
                raise
            time.sleep(_PAUSE_S)


def _fold(db: apsw.Connection) -> None:
    """Bring the log into the file and cut it to nothing, however long a reader holds it, up to a minute."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
        except (apsw.BusyError, apsw.LockedError):
            busy = 1
        if not busy:
            return
        if time.monotonic() >= until:
            raise Failure(
                "PURGE_UNFINISHED",
                "everything was deleted, but another process reads the store, and its log may hold some of it",
                "end what reads it, then run joelclaw store prune",
            )
        time.sleep(_PAUSE_S)
