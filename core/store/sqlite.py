"""The store's SQLite file: opened, upgraded, written in transactions, and its rows as records. Hot path.

The file is in WAL mode, so readers never wait for a writer. `store.db-wal` is folded into the file by `fold_log`.
"""

from __future__ import annotations

import _collections_abc
import os
import sys
import time

from core import TYPE_CHECKING, files, json_text
from core.errors import Failure, explained, os_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Sized
    from typing import Any, TypeVar

    R = TypeVar("R")

# apsw imports collections.abc, which costs 2 ms (a fifth of a bare start) before Python 3.13, for classes that Python
# has already loaded as _collections_abc. The replacements are removed again, for a later `import collections`.
_replaced = [name for name in ("collections", "collections.abc") if name not in sys.modules]
sys.modules.update(dict.fromkeys(_replaced, _collections_abc))
try:
    import apsw as apsw
finally:
    for _name in _replaced:
        del sys.modules[_name]

SCHEMA = 20  # number of `migrations`

StoreError = apsw.Error
"""The base class of SQLite's errors; `as_failure` explains them."""


class Collection:
    """A kind of memory: its code, its name in a cluster (without the prefix), and the field of its text there."""

    __slots__ = ("code", "remote", "text_field")

    def __init__(self, code: int, remote: str, text_field: str) -> None:
        self.code = code
        self.remote = remote
        self.text_field = text_field


COLLECTIONS = {
    "observations": Collection(1, "memory_observations", "observation"),
    "episodes": Collection(2, "episodes", "text"),
    "knowledge": Collection(3, "system_knowledge", "text"),
}
"""The row number holds the code (code << 40 | n), so that a range of rows limits both indexes to a collection."""
NAME_OF = {collection.code: name for name, collection in COLLECTIONS.items()}
COLLECTION_SHIFT = 40
ALL = 1 << 62  # above every row number and time
LISTED = "(SELECT value FROM json_each(?))"  # a single parameter for any number of values
SMALL_INDEX = 64  # in fewer rows, FTS5's idf is 0 for a word that half of them have: BM25 says little
BY_HAND = "written by hand"  # the reason why the write gate allowed a text that its rules did not allow
LIVE_CALL = "abandoned = 0"  # not from before the user went back: see `core.store.branches`


def path() -> str:
    """The store's path."""
    return os.path.join(files.home(), files.STORE)


def open_writing(*, busy_ms: int, durable: bool) -> apsw.Connection:
    """The store for reading and writing, created and upgraded if necessary.

    A statement waits up to `busy_ms` for other processes; a `durable` commit waits for the disk. Raises Failure.
    """
    where = path()
    try:
        files.touch_private(where)
        db = _connect(where, busy_ms)
        db.execute("PRAGMA synchronous = " + ("FULL" if durable else "NORMAL"))
        if schema_of(db) != SCHEMA:
            _upgrade(db, where, busy_ms)
        files.touch_private(files.store_mark())
        return db
    except files.LockTimeout:
        raise Failure("STORE_BUSY", f"{where} is being set up by another process", "try again") from None
    except (apsw.Error, OSError) as error:
        raise as_failure(error) from None


def open_reading() -> apsw.Connection | None:
    """The store for reading, or None if there is none. Raises Failure.

    An old store is upgraded; while the home is examined (`files.is_read_only`), a copy of it in memory.
    """
    where = path()
    try:
        files.require_file(where)
        if not os.path.exists(where) or not os.stat(where).st_size:
            files.require_home()
            return None
        db = _connect_reading(where)
        version = schema_of(db)
        if version == SCHEMA:
            # a reader needs most pages once; SQLite's default costs a tenth of a bare start of Python
            db.execute("PRAGMA cache_size = 32")
            return db
        if version > SCHEMA:
            raise too_new(where, version)
        return open_in_memory(db) if files.is_read_only else open_writing(busy_ms=1000, durable=True)
    except (apsw.Error, OSError) as error:
        raise as_failure(error) from None


def lost_store(db: apsw.Connection | None) -> Failure | None:
    """STORE_LOST, with the ways to recover, if the store is missing or empty in a home with sessions, or was so.

    `db`: the store; None if there is none, or if it cannot be read.
    """
    message = f"{path()} is missing or empty, but this home has sessions"
    if not files.is_store_lost():
        if db is None or not db.execute("SELECT count(*) FROM upkeep WHERE name = 'lost'").get:
            return None
        message = f"{path()} was missing or empty, and has been created anew"
    fix = "`joelclaw restore FILE --force` restores a backup (the current data is set aside); then"
    fix += " `joelclaw memory archive --all` archives the transcripts that the clients still have"
    return Failure("STORE_LOST", message, fix)


def note_archived_again() -> None:
    """The transcripts that remain of a lost store's sessions are archived: it is not reported any more."""
    files.store_loss = None
    open_writing(busy_ms=1000, durable=False).execute("DELETE FROM upkeep WHERE name = 'lost'")


def open_unchanged(where: str) -> apsw.Connection:
    """A file that no process writes, without a lock, a log or any new file next to it."""
    from urllib.parse import quote

    return Connection(f"file:{quote(where)}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def open_or_empty() -> apsw.Connection:
    """The store to read from, or an empty store in memory if there is none yet."""
    db = open_reading()
    files.store_loss = lost_store(db)
    return db or open_in_memory()


def open_in_memory(source: apsw.Connection | None = None) -> apsw.Connection:
    """An empty store in memory; with a `source`, an upgraded copy of it."""
    db = Connection(":memory:")
    if source is not None:
        _refuse_foreign(source, path())
        with db.backup("main", source, "main") as running:
            running.step(-1)
    _take_steps(db)
    return db


def set_durability(db: apsw.Connection, durable: bool, *, busy_ms: int) -> None:
    """Change whether commits of an open store wait for the disk, and how long its statements wait for others."""
    db.set_busy_handler(_busy_handler(busy_ms))
    db.execute("PRAGMA synchronous = " + ("FULL" if durable else "NORMAL"))


class Connection(apsw.Connection):
    """A connection to a store."""

    has_vectors: bool | None = None  # sqlite-vec is loaded; None: not tried yet


def has_vectors(db: apsw.Connection) -> bool:
    """Whether the connection can compare vectors. The first call loads sqlite-vec, which a machine may lack."""
    if not isinstance(db, Connection):
        return _load_vectors(db)
    if db.has_vectors is None:
        db.has_vectors = _load_vectors(db)
    return db.has_vectors


def _load_vectors(db: apsw.Connection) -> bool:
    """Load the file of sqlite-vec: importing the package may import numpy, and `importlib.util` costs 4 ms."""
    names = ("vec0.so", "vec0.dylib", "vec0.dll")
    candidates = (os.path.join(folder, "sqlite_vec", name) for folder in sys.path for name in names)
    extension = next(filter(os.path.exists, candidates), None)
    if extension is None:
        return False
    try:
        db.enable_load_extension(True)
        db.load_extension(extension)
        db.enable_load_extension(False)
    except apsw.Error:
        return False
    return True


class reported:  # noqa: N801  # reads as a statement
    """`with reported():` raises errors of SQLite and of the home's files as Failures."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (apsw.Error, OSError)):
            raise as_failure(error) from None


class transaction:  # noqa: N801  # reads as a statement
    """`with transaction(db):` commits, or rolls back and raises Failure for SQLite's errors."""

    __slots__ = ("_db",)

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def __enter__(self) -> apsw.Connection:
        with reported():
            self._db.execute("BEGIN IMMEDIATE")  # waits for other writers here, not in the middle
        return self._db

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self._db.execute("COMMIT" if error is None else "ROLLBACK")
        except apsw.Error as failed:  # a full disk has rolled it back already
            error = error or failed
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        if error is None:
            fold_log(self._db)
        elif isinstance(error, apsw.Error):
            raise as_failure(error) from None


def log_bytes(where: str = "") -> int:
    """The size of the write-ahead log, 0 if there is none."""
    try:
        return os.stat((where or path()) + "-wal").st_size
    except OSError:
        return 0


def fold_log(db: apsw.Connection, *, over: int = 1_000_000) -> None:
    """Fold the write-ahead log into the file if it is larger than `over` bytes; never waits for other processes."""
    if log_bytes(db.filename) <= over:
        return
    try:
        db.set_busy_handler(None)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except apsw.Error:
        pass  # a later transaction tries again
    finally:
        db.set_busy_handler(_busy_handler(10_000))  # for later statements, those of an import or a follower


def schema_of(db: apsw.Connection) -> int:
    """The number of migrations that a store has had."""
    return int(db.execute("PRAGMA user_version").get)


def migrations() -> list[str]:
    """The SQL of each step to the present schema. A released file is never edited; a change of it adds a file."""
    folder = os.path.join(os.path.dirname(__file__), "migrations")
    steps = []
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".sql")):  # not an old __pycache__
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            steps.append("\n" + file.read())
    return steps


def too_new(what: str, version: int) -> Failure:
    """The Failure for a store of a later version."""
    return Failure(
        "STORE_TOO_NEW",
        f"{what} has schema {version}; this joelclaw knows {SCHEMA}",
        "upgrade joelclaw, or point JOELCLAW_HOME at another folder; nothing was changed",
    )


def as_failure(error: apsw.Error | OSError) -> Failure:
    """The Failure for an error of SQLite, or of the system at the home's files."""
    where, code = path(), "STORE_UNREADABLE"
    if isinstance(error, OSError):
        return os_failure(error, "STORE", files.home())
    if isinstance(error, apsw.FullError):
        code = "STORE_FULL"
    elif isinstance(error, (apsw.NotADBError, apsw.CorruptError)) or " blob" in str(error) or "chunks" in str(error):
        code = "STORE_DAMAGED"  # sqlite-vec has no code for damaged pages
    elif isinstance(error, (apsw.BusyError, apsw.LockedError)):
        code = "STORE_BUSY"
    elif isinstance(error, (apsw.ReadOnlyError, apsw.AuthError)):
        code = "STORE_READ_ONLY"
    elif isinstance(error, apsw.SQLError) and str(error).startswith("no such "):
        code = "STORE_FOREIGN"
    elif isinstance(error, (apsw.CantOpenError, apsw.PermissionsError)) and not os.access(files.home(), os.W_OK):
        code = "STORE_READ_ONLY" if os.path.isfile(where) else code
    elif isinstance(error, apsw.IOError) and not os.path.isdir(where):
        code = "STORE_IO"
    return explained(code, where, error)


def _connect(where: str, busy_ms: int) -> apsw.Connection:
    for suffix in ("", "-wal", "-shm", "-journal"):
        files.require_file(where + suffix)  # SQLite would wait for a pipe
    db = Connection(where, flags=apsw.SQLITE_OPEN_READWRITE)
    db.set_busy_handler(_busy_handler(busy_ms))  # before anything that may lock
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.wal_autocheckpoint(0)  # `fold_log` does it
    return db


def _connect_reading(where: str) -> apsw.Connection:
    if files.is_read_only and not os.path.exists(where + "-wal"):  # opening it would create a log
        return open_unchanged(where)
    try:
        db = _connect(where, 1000)
        schema_of(db)
        return db
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.IOError, apsw.FullError):
        return open_unchanged(where)  # a folder that is read-only or full has no room for the index of the log


def _busy_handler(busy_ms: int) -> Callable[[int], bool]:
    """Tries again every few ms: SQLite's handler tries less and less often, and some of 50 writers give up."""
    until = 0.0

    def wait(tries: int) -> bool:
        nonlocal until
        until = until if tries else time.monotonic() + busy_ms / 1000
        time.sleep(min(0.001 * (tries + 1), 0.01))
        return time.monotonic() < until

    return wait


def _upgrade(db: apsw.Connection, where: str, busy_ms: int) -> None:
    """Create the schema or bring it up to date; other processes wait. Raises Failure, apsw.Error, LockTimeout."""
    was_lost = files.is_store_lost()
    # The switch to WAL needs the file exclusively, and calls no busy handler.
    with files.FileLock(where + ".lock", wait_s=busy_ms / 1000):
        version = schema_of(db)
        if version == SCHEMA:
            return  # another process has done it
        if version > SCHEMA:
            raise too_new(where, version)
        _refuse_foreign(db, where)
        if not version:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # so that single free pages can be returned
        db.execute("PRAGMA journal_mode = WAL")
        with transaction(db):
            _take_steps(db)
            if was_lost and not version:
                db.execute("INSERT INTO upkeep VALUES ('lost', 1)")


def _take_steps(db: apsw.Connection) -> None:
    for step in migrations()[schema_of(db) :]:
        db.execute(step)
    db.execute(f"PRAGMA user_version = {SCHEMA}")


def _refuse_foreign(db: apsw.Connection, where: str) -> None:
    """Raise Failure STORE_FOREIGN for a database with tables of another program."""
    version = schema_of(db)
    ours = "name = 'document'" if version else "true"  # of an older version the first step's table must be there
    if bool(db.execute(f"SELECT count(*) FROM sqlite_schema WHERE {ours}").get) != bool(version):
        raise explained("STORE_FOREIGN", where)


# Rows: mapped by column name, numbered by collection; terms as FTS5 reads them


def fetch(db: apsw.Connection, sql: str, values: Sequence[Any], record: Callable[..., R]) -> list[R]:
    """The rows of a query; `record` is called with the columns by name."""
    cursor = db.execute(sql, values)
    names: list[str] = []
    records = []
    for row in cursor:
        names = names or [name for name, _ in cursor.get_description()]
        records.append(record(**dict(zip(names, row, strict=True))))
    return records


def fetch_dicts(db: apsw.Connection, sql: str, values: Sequence[Any], *, json_columns: Sequence[str] = ()) -> list[Any]:
    """The rows of a query as dictionaries, with the `json_columns` parsed."""
    rows: list[dict[str, Any]] = fetch(db, sql, values, dict)
    for row in rows:
        for name in json_columns:
            row[name] = json_text.loads(row[name])
    return rows


def fetch_one(db: apsw.Connection, sql: str, values: Sequence[Any], record: Callable[..., R]) -> R | None:
    """The first row of a query, or None."""
    return next(iter(fetch(db, f"{sql} LIMIT 1", values, record)), None)


def row_range(collection: str) -> tuple[int, int]:
    """The first and the last row number of a collection; the first is not used."""
    base = COLLECTIONS[collection].code << COLLECTION_SHIFT
    return base, base + (1 << COLLECTION_SHIFT) - 1


def marks(values: Sized) -> str:
    """A SQL parameter for each value: `?, ?, ?`."""
    return ", ".join("?" * len(values))


def quoted(term: str) -> str:
    """A word or phrase as FTS5 reads it: none of its characters is an operator."""
    return '"' + term.replace('"', " ").replace("\0", " ") + '"'


def has_phrase(db: apsw.Connection, phrases: Sequence[str]) -> bool:
    """Whether a memory other than an episode holds the words of one of these phrases, in their order."""
    match = " OR ".join(map(quoted, phrases))
    # two ranges, so that the index skips the episodes; with NOT BETWEEN it reads each of them
    exists = "EXISTS (SELECT 1 FROM lexicon WHERE lexicon MATCH ?1 AND rowid {})"
    query = f"SELECT {exists.format('< ?2')} OR {exists.format('> ?3')}"
    return bool(db.execute(query, (f"{{text}} : ({match})", *row_range("episodes"))).get)


def small_idf(count: int, size: int) -> float:
    """The weight, as in Lucene, of a word that `count` of `size` rows have: FTS5's is 0 in a small index."""
    from math import log  # opening a store does without it

    return log(1 + (max(size - count, 0) + 0.5) / (count + 0.5))
