"""The store's file: whether it is intact, its size; frees space, wipes what was deleted, copies it."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from core.errors import Failure
from core.store import sqlite
from core.store.sqlite import SCHEMA, apsw, fold_log, log_bytes, open_unchanged

_MOST_FAULTS = 5
_OWED = "wipe"
_LEXICONS = ("lexicon", "call_lexicon", "segment_lexicon")
_MERGED_PAGES = 1_000
_PAGES_AT_ONCE, _COPIED_AT_ONCE = 500, 2_000
_PAUSE_S = 0.01
_PATIENCE_S = 60.0
"""How long a wipe waits for readers that hold the log."""
_COUNTED = ("document", "event", "session", "call", "compaction", "transcript", "vector")


@dataclass(frozen=True)
class Figures:
    """Of a store: bytes of the file, of its log, and of pages that hold nothing; its newest time in ms, or None."""

    size: int
    log: int
    free: int
    newest: int | None


@dataclass(frozen=True)
class Examined:
    """A store file that is whole: its schema, and the number of rows of each table."""

    schema: int
    counts: dict[str, int]


@contextmanager
def _as_failures() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None


def faults(db: apsw.Connection) -> list[str]:
    """What SQLite finds to be wrong with the file, the first five; each page is read."""
    with _as_failures():
        rows = [str(row[0]) for row in db.execute(f"PRAGMA quick_check({_MOST_FAULTS})")]
    return [] if rows == ["ok"] else rows


def figures(db: apsw.Connection) -> Figures:
    """Sizes and the newest time."""
    newest = "SELECT max(timestamp) AS at FROM event UNION ALL SELECT max(created_at) FROM document"
    with _as_failures():
        size, free = sizes(db)
        return Figures(size, log_bytes(), free, db.execute(f"SELECT max(at) FROM ({newest})").get)


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
    """Take what was deleted out of the indexes, the file and the log. Writers wait meanwhile, readers do not."""
    with _as_failures():
        for name in _LEXICONS:
            merge(db, name)
        _vacuum(db)
        if not _patiently(lambda: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0] == 0):
            what = (
                "everything was deleted, but another process has the store open, and its log may still hold some of it"
            )
            raise Failure("PURGE_UNFINISHED", what, "stop that process, then run joelclaw store prune")
        with sqlite.transaction(db):
            db.execute("DELETE FROM upkeep WHERE name = ?", (_OWED,))


def give_back(db: apsw.Connection) -> bool:
    """Return free pages at the end of the file to the disk, where the file was made so; whether it became smaller."""
    before, free = sizes(db)
    if int(db.execute("PRAGMA auto_vacuum").get) != 2:  # 2: pages can be given back one by one
        return False
    with _as_failures():
        left = free
        while left:
            with sqlite.transaction(db):
                db.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
            free, left = left, sizes(db)[1]
            if left >= free:
                break
            time.sleep(_PAUSE_S)
        fold_log(db, over=0)
    return before > sizes(db)[0]


def rewrite(db: apsw.Connection) -> None:
    """Write the whole file anew without its free pages, so that later ones can be given back; writers wait."""
    with _as_failures():
        _vacuum(db)
        fold_log(db, over=0)


def merge(db: apsw.Connection, name: str) -> None:
    """Merge all parts of a lexical index into one, without what was deleted, in transactions of some 30 ms."""
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
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        try:
            if work():
                return True
        except (apsw.BusyError, apsw.LockedError):
            pass
        time.sleep(_PAUSE_S)
    return False


def copy(target: str) -> bool:
    """Copy the store as it is at one moment to a new file, on the disk when this returns; False where there is none."""
    source = sqlite.open_reading()
    if source is None:
        return False
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        made = apsw.Connection(target)
        try:
            made.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").fetchall()
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # the snapshot begins with the first read
            with made.backup("main", source, "main") as running:
                while not running.done:
                    running.step(_COPIED_AT_ONCE)
        finally:
            made.close()
            source.close(True)
        os.fsync(descriptor)
    except BaseException as error:
        os.unlink(target)
        if isinstance(error, (apsw.FullError, apsw.IOError)):
            message = f"{os.path.dirname(target)} takes no more: {error}"
            raise Failure("BACKUP_FULL", message, "free some space there, or name another folder") from None
        if isinstance(error, apsw.Error):
            raise sqlite.as_failure(error) from None
        raise
    finally:
        os.close(descriptor)
    return True


def examine(path: str) -> Examined:
    """Look at every page of a store file that nobody has open; it is only read, and nothing is made beside it."""
    try:
        db = open_unchanged(path)
        try:
            schema = sqlite.schema_of(db)
            if schema > SCHEMA:
                raise sqlite.too_new("the backup", schema)
            first = str(db.execute("PRAGMA integrity_check(1)").get)
            if first != "ok":
                raise apsw.CorruptError(first[:200])
            names = {str(name) for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            if not schema or "document" not in names:
                raise Failure(
                    "STORE_FOREIGN", f"{path} is not a joelclaw store", "name a file that `joelclaw backup` wrote"
                )
            counted = [name for name in _COUNTED if name in names]
            counts = {name: int(db.execute(f"SELECT count(*) FROM {name}").get) for name in counted}
            return Examined(schema, counts)
        finally:
            db.close()
    except apsw.Error as error:
        fix = "use another backup: this one is damaged"
        raise Failure("STORE_DAMAGED", f"{path} is damaged: {error}", fix) from None
