"""The SQLite store: all SQL of the product. Here: its collections, the schema's version, and how a file is opened.

It is in WAL mode: readers never wait for a writer, and closing costs no `fsync`.
"""

from __future__ import annotations

import _collections_abc
import os
import sys
import time

from core import TYPE_CHECKING, files

if TYPE_CHECKING:
    from collections.abc import Callable, Sized

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

SCHEMA = 14  # how many steps of `core.store.migrations` a store of this version has had
COLLECTIONS = {"observations": 1, "episodes": 2, "knowledge": 3}
"""The row number holds the collection (code << 40 | n), so that a range of rows limits both indexes to it."""
NAME_OF = {code: name for name, code in COLLECTIONS.items()}
COLLECTION_SHIFT = 40
BY_HAND = "written by hand"  # the reason why the write gate allowed what its rules did not
_QUICK_TRIES = 10
_LOG_BYTES = 1_000_000
_FOLDED_BUSY_MS = 10_000  # how long the statements behind a folding wait: those of an import, or a follower


def path() -> str:
    """The store's path."""
    return os.path.join(files.home(), files.STORE)


def row_range(collection: str) -> tuple[int, int]:
    """The first and the last row number of a collection; the first is left free."""
    base = COLLECTIONS[collection] << COLLECTION_SHIFT
    return base, base + (1 << COLLECTION_SHIFT) - 1


def marks(values: Sized) -> str:
    """A SQL parameter for each value: `?, ?, ?`."""
    return ", ".join("?" * len(values))


def open_unchanged(where: str) -> apsw.Connection:
    """A file that nobody writes, as it is: no lock, no log, no file beside it."""
    from urllib.parse import quote

    return apsw.Connection(f"file:{quote(where)}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def log_bytes(where: str = "") -> int:
    """The size of the write-ahead log."""
    try:
        return os.stat((where or path()) + "-wal").st_size
    except OSError:
        return 0


def connect(where: str, busy_ms: int) -> apsw.Connection:
    """A store for reading and writing; a statement waits so long, in ms, for other processes."""
    db = apsw.Connection(where, flags=apsw.SQLITE_OPEN_READWRITE)
    db.set_busy_handler(patience(busy_ms))  # before anything that may lock
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.wal_autocheckpoint(0)  # see fold_log
    return db


def patience(busy_ms: int) -> Callable[[int], bool]:
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
        db.set_busy_handler(patience(_FOLDED_BUSY_MS))
