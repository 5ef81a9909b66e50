"""Opens the store for reading and writing, and commits: an acknowledged event is marked, a failure explained."""

from __future__ import annotations

import os
import sys

from core import files
from core.errors import Failure
from core.store import MARK, SCHEMA, acknowledged, apsw, connect, fold_log, log_bytes, open_unchanged, patience
from core.store import path as path

StoreError = apsw.Error
"""What SQLite raises; `as_failure` explains it."""
_MARK_DIGITS = 20
_PAGES_KEPT = 32  # while reading: each is read about once, and memory for all took a tenth of a bare start of Python
_NOT_WRITABLE = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)


def open_writing(*, busy_ms: int, durable: bool) -> apsw.Connection:
    """The store for reading and writing, created and upgraded if need be; a `durable` commit waits for the disk."""
    where = path()
    try:
        _is_there(where)
        files.touch_private(where)
        db = connect(where, busy_ms)
        db.execute("PRAGMA synchronous = " + ("FULL" if durable else "NORMAL"))
        if db.execute("PRAGMA user_version").get != SCHEMA:
            from core.store import migrate

            migrate.in_file(db, where, busy_ms)
        return db
    except files.LockTimeout:
        raise Failure("STORE_BUSY", f"{where} is being set up by another process", "try again") from None
    except (apsw.Error, OSError) as error:
        raise as_failure(error) from None


def open_reading() -> apsw.Connection | None:
    """The store for reading, None if there is none; raises Failure as `open_writing`."""
    where = path()
    try:
        if not _is_there(where):
            return None
        try:
            alone = files.only_look and not os.path.exists(where + "-wal")  # opening would make a log
            db = open_unchanged(where) if alone else connect(where, 1000)
            version = int(db.execute("PRAGMA user_version").get)
        except (*_NOT_WRITABLE, apsw.IOError, apsw.FullError) as error:
            # A full disk has no room for the index of the log; unless the log is empty, it may not be passed by then.
            if not isinstance(error, _NOT_WRITABLE) and log_bytes(where):
                raise
            db = open_unchanged(where)
            version = int(db.execute("PRAGMA user_version").get)
        if version == SCHEMA:
            db.execute(f"PRAGMA cache_size = {_PAGES_KEPT}")
            return db
        from core.store import migrate

        if version > SCHEMA:
            raise migrate.too_new(where, version)
        if files.only_look:
            return migrate.in_memory(db)
        try:
            return open_writing(busy_ms=1000, durable=True)
        except Failure as failure:
            if not version or failure.code not in ("STORE_READ_ONLY", "STORE_FULL", "STORE_BUSY"):
                raise
            return migrate.in_memory(db)
    except (apsw.Error, OSError) as error:
        raise as_failure(error) from None


def _is_there(where: str) -> bool:
    """Whether there is a store. One of ours has a log and a mark: one without a log may be but a part, a mark alone is
    of one that is lost. Raises OSError."""
    try:
        there = os.stat(where).st_size > 0
    except FileNotFoundError:
        there = False
    if os.path.lexists(where + ("-wal" if there else MARK)) != there:
        from core.store.upkeep import completeness

        (completeness.came_alone if there else completeness.is_lost)(where)
    return there


def load_vectors(db: apsw.Connection) -> bool:
    """Load sqlite-vec into the connection; False if this machine lacks it.

    By its file: importing the package imports numpy where that is installed, and `importlib.util` costs 4 ms.
    """
    names = ("vec0.so", "vec0.dylib", "vec0.dll")
    places = (os.path.join(folder, "sqlite_vec", name) for folder in sys.path for name in names)
    extension = next(filter(os.path.exists, places), None)
    if extension is None:
        return False
    try:
        db.enable_load_extension(True)
        db.load_extension(extension)
        db.enable_load_extension(False)
    except apsw.Error:
        return False
    return True


class transaction:  # noqa: N801  # reads as the statement it is
    """`with transaction(db):` commits, or rolls back and raises Failure for SQLite's errors."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def __enter__(self) -> apsw.Connection:
        _last_event[0], self._changes = 0, self._db.total_changes()
        try:
            self._db.execute("BEGIN IMMEDIATE")  # it waits here, not in the middle
        except apsw.Error as error:
            raise as_failure(error) from None
        return self._db

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                if not _last_event[0] and self._db.total_changes() != self._changes:
                    _last_event[0] = _next_change(self._db)
                self._db.execute("COMMIT")
                if _last_event[0]:
                    _acknowledge(self._db, _last_event[0])
                fold_log(self._db)
                return
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except apsw.Error as failed:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise as_failure(failed) from None
        if isinstance(error, apsw.Error):
            raise as_failure(error) from None


_last_event = [0]
"""The number of the last event, or other change, that the open transaction stores."""


def note_event(number: int) -> None:
    """Say, inside a transaction, which event it stores: its commit is marked with it."""
    _last_event[0] = number


def _next_change(db: apsw.Connection) -> int:
    """Number a commit of no event, as an event would be."""
    number = db.execute("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'event' RETURNING seq").get
    return int(number or db.execute("INSERT INTO sqlite_sequence VALUES ('event', 1) RETURNING seq").get)


def _acknowledge(db: apsw.Connection, number: int) -> None:
    """Record that changes up to this number are stored (`core.store.upkeep.completeness`); 15 µs, fails silently."""
    if not db.filename:  # a store in memory; its mark would lie in the current folder
        return
    try:
        mark = os.open(acknowledged(db.filename), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            known = os.pread(mark, _MARK_DIGITS, 0)
            before = int(known) if known.isdigit() else 0
            if number < before:  # another process was faster, or the store is older than the mark
                from core.store.upkeep import completeness

                number = completeness.look(db, before)
            if number != before:
                os.pwrite(mark, b"%020d" % number, 0)
        finally:
            os.close(mark)
    except (OSError, apsw.Error):
        pass


def be_durable(db: apsw.Connection, durable: bool, *, busy_ms: int) -> None:
    """Change how an open store commits and waits: see `open_writing`."""
    db.set_busy_handler(patience(busy_ms))
    db.execute("PRAGMA synchronous = " + ("FULL" if durable else "NORMAL"))


def as_failure(error: apsw.Error | OSError) -> Failure:
    """The Failure for an error of SQLite or of the system."""
    from core.store import migrate

    return migrate.as_failure(error)
