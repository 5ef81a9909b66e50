"""Opens the SQLite file in WAL mode: readers never wait for a writer, and closing costs no `fsync`."""

from __future__ import annotations

import _collections_abc
import os
import sys
import time

from core import TYPE_CHECKING, files
from core.errors import Failure
from core.store import SCHEMA

# apsw imports collections.abc, which costs 3 ms, for what Python has loaded already as _collections_abc (from 3.13 on,
# Python makes that link itself). The stand-ins are taken away again, for a later `import collections`.
_missing = [name for name in ("collections", "collections.abc") if name not in sys.modules]
for _name in _missing:
    sys.modules[_name] = _collections_abc
try:
    import apsw as apsw
finally:
    for _name in _missing:
        del sys.modules[_name]

if TYPE_CHECKING:
    from collections.abc import Callable

FILE_NAME = "store.db"
MARK = ".mark"  # behind the store's name: the file with the number of the last event that was acknowledged
StoreError = apsw.Error
"""What SQLite raises; `as_failure` explains it."""
_QUICK_TRIES = 10
_LOG_BYTES = 1_000_000
_FOLDED_BUSY_MS = 10_000  # how long the statements behind a folding wait: those of an import, or a follower
_MARK_DIGITS = 20
_NOT_WRITABLE = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)


def path() -> str:
    """The store's path."""
    return os.path.join(files.home(), FILE_NAME)


def open_writing(*, busy_ms: int, durable: bool) -> apsw.Connection:
    """The store for reading and writing, created and upgraded if need be; a `durable` commit waits for the disk."""
    where = path()
    try:
        _is_there(where)
        files.touch_private(where)
        db = _connect(where, busy_ms)
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
    except OSError as error:
        raise as_failure(error) from None
    try:
        try:
            alone = files.only_look and not os.path.exists(where + "-wal")  # opening would make a log
            db = open_unchanged(where) if alone else _connect(where, 1000)
            version = int(db.execute("PRAGMA user_version").get)
        except (*_NOT_WRITABLE, apsw.IOError, apsw.FullError) as error:
            # A full disk has no room for the index of the log; unless the log is empty, it may not be passed by then.
            if not isinstance(error, _NOT_WRITABLE) and log_bytes(where):
                raise
            db = open_unchanged(where)
            version = int(db.execute("PRAGMA user_version").get)
        if version == SCHEMA:
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
    except apsw.Error as error:
        raise as_failure(error) from None


def open_unchanged(where: str) -> apsw.Connection:
    """A file that nobody writes, as it is: no lock, no log, no file beside it."""
    from urllib.parse import quote

    return apsw.Connection(f"file:{quote(where)}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


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


def log_bytes(where: str = "") -> int:
    """The size of the write-ahead log."""
    try:
        return os.stat((where or path()) + "-wal").st_size
    except OSError:
        return 0


def _connect(where: str, busy_ms: int) -> apsw.Connection:
    db = apsw.Connection(where, flags=apsw.SQLITE_OPEN_READWRITE)
    db.set_busy_handler(_patience(busy_ms))  # before anything that may lock
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.wal_autocheckpoint(0)  # see fold_log
    return db


def _patience(busy_ms: int) -> Callable[[int], bool]:
    """Ask more often the longer the wait: SQLite's handler asks less and less often, and of fifty some give up."""
    began = 0.0

    def wait(tries: int) -> bool:
        nonlocal began
        now = time.monotonic()
        if tries == 0:
            began = now
        waited = now - began
        if waited * 1000 >= busy_ms:
            return False
        time.sleep(0.001 * (tries + 1) if tries < _QUICK_TRIES else max(0.005, 0.04 - 0.007 * waited))
        return True

    return wait


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
        _last_event[0] = 0
        try:
            self._db.execute("BEGIN IMMEDIATE")  # it waits here, not in the middle
        except apsw.Error as error:
            raise as_failure(error) from None
        return self._db

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
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
"""The number of the last event that the open transaction stores."""


def note_event(number: int) -> None:
    """Say, inside a transaction, which event it stores: its commit is marked with it."""
    _last_event[0] = number


def _acknowledge(db: apsw.Connection, number: int) -> None:
    """Record that events up to this number are stored (`core.store.upkeep.completeness`); 15 µs, fails silently."""
    if not db.filename:  # a store in memory; its mark would lie in the current folder
        return
    try:
        mark = os.open(db.filename + MARK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
    db.set_busy_handler(_patience(busy_ms))
    db.execute("PRAGMA synchronous = " + ("FULL" if durable else "NORMAL"))


def fold_log(db: apsw.Connection, *, over: int = _LOG_BYTES) -> None:
    """Fold the write-ahead log into the file once it exceeds `over` bytes; never waits for others."""
    if log_bytes(db.filename) <= over:
        return
    try:
        db.set_busy_handler(None)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except apsw.Error:
        pass  # the next one will
    finally:
        db.set_busy_handler(_patience(_FOLDED_BUSY_MS))


def as_failure(error: apsw.Error | OSError) -> Failure:
    """The Failure for an error of SQLite or of the system."""
    from core.store import migrate

    return migrate.as_failure(error)
