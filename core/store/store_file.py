"""The store's file: its size and health, free pages given back, deleted text wiped, copies."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from core import files
from core.errors import Failure, explained
from core.store import sqlite
from core.store.sqlite import apsw, fold_log, log_bytes, reported

WIPE = "wipe"  # the row of `upkeep` that says that deleted text is still in the file
MERGED_PAGES = 1_000  # per transaction of a merge: some 30 ms
PAUSE_S = 0.01  # between transactions, for other writers


@dataclass(frozen=True)
class Figures:
    """Bytes of the store, of its log and of its free pages; the newest time in it (ms), or None."""

    size: int
    log: int
    free: int
    newest: int | None


@dataclass(frozen=True)
class Examined:
    """An intact store file: its schema, and the number of rows by table."""

    schema: int
    counts: dict[str, int]


def faults(db: apsw.Connection) -> list[str]:
    """The first five faults that SQLite finds in the file; reads every page."""
    with reported():
        rows = [str(row[0]) for row in db.execute("PRAGMA quick_check(5)")]
    return [] if rows == ["ok"] else rows


def figures(db: apsw.Connection) -> Figures:
    """Sizes and the newest time."""
    newest = "SELECT max(timestamp) AS at FROM event UNION ALL SELECT max(created_at) FROM document"
    with reported():
        size, free = sizes(db)
        return Figures(size, log_bytes(), free, db.execute(f"SELECT max(at) FROM ({newest})").get)


def sizes(db: apsw.Connection) -> tuple[int, int]:
    """Bytes of the store, and of its free pages."""
    page = int(db.execute("PRAGMA page_size").get)
    return int(db.execute("PRAGMA page_count").get) * page, int(db.execute("PRAGMA freelist_count").get) * page


def owe(db: apsw.Connection) -> None:
    """Note, inside the caller's transaction, that deleted text is still in the file."""
    db.execute("INSERT OR REPLACE INTO upkeep VALUES (?, 1)", (WIPE,))


def is_owed(db: apsw.Connection) -> bool:
    """If a purge has deleted text that may still be in the file."""
    return bool(db.execute("SELECT count(*) FROM upkeep WHERE name = ?", (WIPE,)).get)


def wipe(db: apsw.Connection) -> None:
    """Remove deleted text from the indexes, the file and the log. Writers wait meanwhile, readers do not."""
    with reported():
        for name in ("lexicon", "call_lexicon", "segment_lexicon"):
            merge(db, name)
        rewrite(db)
        if not _retry(lambda: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0] == 0):
            message = "everything was deleted, but another process has the store open, and its log may still hold text"
            raise Failure("PURGE_UNFINISHED", message, "stop that process, then run joelclaw store prune")
        with sqlite.transaction(db):
            db.execute("DELETE FROM upkeep WHERE name = ?", (WIPE,))


def give_back(db: apsw.Connection) -> bool:
    """Return free pages at the end of the file to the disk, if it was created that way; whether it became smaller."""
    before, free = sizes(db)
    is_incremental = int(db.execute("PRAGMA auto_vacuum").get) == 2
    if not is_incremental:
        return False
    with reported():
        left = free
        while left:
            with sqlite.transaction(db):
                db.execute("PRAGMA incremental_vacuum(500)").fetchall()
            free, left = left, sizes(db)[1]
            if left >= free:
                break
            time.sleep(PAUSE_S)
        fold_log(db, over=0)
    return before > sizes(db)[0]


def rewrite(db: apsw.Connection) -> None:
    """Write the whole file anew without free pages; writers wait."""
    with reported():
        db.execute("PRAGMA auto_vacuum = INCREMENTAL").fetchall()
        if not _retry(lambda: db.execute("VACUUM").fetchall() is not None):
            db.execute("VACUUM").fetchall()
        fold_log(db, over=0)


def merge(db: apsw.Connection, name: str) -> None:
    """Merge all parts of a lexical index into one, without deleted text, in short transactions."""
    pages = -MERGED_PAGES  # the sign begins a merge of all parts
    while True:
        with sqlite.transaction(db):
            before = db.total_changes()
            db.execute(f"INSERT INTO {name} ({name}, rank) VALUES ('merge', ?)", (pages,))
            changed = db.total_changes() - before
        if changed < 2:  # nothing is left to merge, see the FTS5 manual
            return
        pages = MERGED_PAGES


def copy(target: str) -> bool:
    """Copy a consistent snapshot of the store to a new file, without its log; False if there is no store."""
    source = sqlite.open_reading()
    if source is None:
        return False
    source.authorizer = None  # of an old store in memory, which may only be read
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        source.execute("VACUUM INTO ?", (target,)).fetchall()
    except (apsw.FullError, apsw.IOError):
        files.remove(target, target + "-journal")
        raise explained("BACKUP_FULL", os.path.dirname(target)) from None
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    finally:
        source.close(True)
    return True


def examine(path: str) -> Examined:
    """Check every page of a store file that no process has open; nothing is written. Raises Failure."""
    try:
        db = sqlite.open_unchanged(path)
        try:
            schema = sqlite.schema_of(db)
            if schema > sqlite.SCHEMA:
                raise sqlite.too_new("the backup", schema)
            first = str(db.execute("PRAGMA integrity_check(1)").get)
            if first != "ok":
                raise apsw.CorruptError(first[:200])
            names = {str(name) for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            if not schema or "document" not in names:
                fix = "name a file that `joelclaw backup` wrote"
                raise Failure("STORE_FOREIGN", f"{path} is not a joelclaw store", fix)
            counted = names & {"document", "event", "session", "call", "compaction", "transcript", "vector"}
            counts = {name: int(db.execute(f"SELECT count(*) FROM {name}").get) for name in sorted(counted)}
            return Examined(schema, counts)
        finally:
            db.close()
    except apsw.Error as error:
        fix = "use another backup: this one is damaged"
        raise Failure("STORE_DAMAGED", f"{path} is damaged: {error}", fix) from None


def set_wal(path: str) -> None:
    """Put a restored file into WAL mode, which `VACUUM INTO` does not keep."""
    with reported():
        db = apsw.Connection(path)
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        db.close()


def _retry(work: Callable[[], bool], patience_s: float = 60.0) -> bool:
    """Work until it succeeds; False if other processes are in the way for as long as `patience_s`."""
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        try:
            if work():
                return True
        except (apsw.BusyError, apsw.LockedError):
            pass
        time.sleep(PAUSE_S)
    return False
