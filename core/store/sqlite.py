"""Opens the store for reading and writing, and commits; SQLite's errors become Failures."""

from __future__ import annotations

import os
import sys

from core import files
from core.errors import Failure
from core.store import SCHEMA, apsw, connect, fold_log, log_bytes, open_unchanged, patience
from core.store import path as path

StoreError = apsw.Error
"""What SQLite raises; `as_failure` explains it."""
_PAGES_KEPT = 32  # while reading: each is read about once, and memory for all took a tenth of a bare start of Python
_NOT_WRITABLE = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)


def open_writing(*, busy_ms: int, durable: bool) -> apsw.Connection:
    """The store for reading and writing, created and upgraded if need be; a `durable` commit waits for the disk."""
    where = path()
    try:
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
        if not _has_content(where):
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


def _has_content(where: str) -> bool:
    """Whether the store's file exists and is not empty. Raises OSError."""
    try:
        return os.stat(where).st_size > 0
    except FileNotFoundError:
        return False


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
        try:
            self._db.execute("BEGIN IMMEDIATE")  # it waits here, not in the middle
        except apsw.Error as error:
            raise as_failure(error) from None
        return self._db

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                self._db.execute("COMMIT")
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


def be_durable(db: apsw.Connection, durable: bool, *, busy_ms: int) -> None:
    """Change how an open store commits and waits: see `open_writing`."""
    db.set_busy_handler(patience(busy_ms))
    db.execute("PRAGMA synchronous = " + ("FULL" if durable else "NORMAL"))


def as_failure(error: apsw.Error | OSError) -> Failure:
    """The Failure for an error of SQLite or of the system."""
    from core.store import migrate

    return migrate.as_failure(error)
