"""Makes a store of this version, from nothing, from an older file, or in memory; says why one cannot be used."""

import errno
import os

from core import files
from core.errors import Failure
from core.store import SCHEMA, apsw, path

_CHANGES = (apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE)
# How sqlite-vec tells of pages that are damaged: it has no code of its own for that.
_TORN = ("chunks iter error", "blob read error", "could not open vectors blob", "could not open validity blob")
_OTHER_HOME = "check its permissions, or set JOELCLAW_HOME"


def too_new(what: str, version: int) -> Failure:
    """The Failure for a store of a later version."""
    return Failure(
        "STORE_TOO_NEW",
        f"{what} has schema {version}; this joelclaw knows {SCHEMA}",
        "upgrade joelclaw, or point JOELCLAW_HOME at another folder; nothing was changed",
    )


def in_file(db: apsw.Connection, where: str, busy_ms: int) -> None:
    """Upgrade a file, or create it; other processes wait. Raises Failure, apsw.Error, files.LockTimeout."""
    # The switch to WAL wants the file for itself, and asks no busy handler.
    with files.FileLock(where + ".lock", wait_s=busy_ms / 1000):
        version = version_of(db)
        if version == SCHEMA:
            return  # somebody else has done it meanwhile
        _refuse_foreign(db, where)
        if not version:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # room can be given back page by page (upkeep.space)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        try:
            version = version_of(db)
            if version > SCHEMA:
                raise too_new(where, version)
            _take_steps(db)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:  # a full disk has rolled it back already
                db.execute("ROLLBACK")
            raise


def in_memory(source: apsw.Connection | None = None) -> apsw.Connection:
    """An empty store in memory; or a read-only view of an old one that cannot be upgraded."""
    db = apsw.Connection(":memory:")
    if source is not None:
        _refuse_foreign(source, path())
        with db.backup("main", source, "main") as running:
            running.step(-1)
    _take_steps(db)
    if source is not None:
        db.authorizer = _only_read
    return db


def version_of(db: apsw.Connection) -> int:
    """How many migrations a store has had."""
    return int(db.execute("PRAGMA user_version").get)


def _refuse_foreign(db: apsw.Connection, where: str) -> None:
    version = version_of(db)
    ours = "name = 'document'" if version else "true"  # of an older version the first step's table must be there
    if bool(db.execute(f"SELECT count(*) FROM sqlite_schema WHERE {ours}").get) != bool(version):
        raise _foreign(where)


def _take_steps(db: apsw.Connection) -> None:
    from core.store.migrations import STEPS

    for step in STEPS[version_of(db) :]:
        db.execute(step)
    db.execute(f"PRAGMA user_version = {SCHEMA}")


def _only_read(action: int, _table: str | None, _column: str | None, database: str | None, _by: str | None) -> int:
    return apsw.SQLITE_DENY if action in _CHANGES and database == "main" else apsw.SQLITE_OK


def as_failure(error: apsw.Error | OSError) -> Failure:
    """The Failure for an error of SQLite, or of the system at the home's files."""
    where = path()
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if full or isinstance(error, apsw.FullError):
        fix = "free some space and try again; nothing was written"
        return Failure("STORE_FULL", f"the disk of {where} is full", fix)
    if isinstance(error, OSError):
        return Failure("STORE_READ_ONLY", f"{files.home()} cannot be written: {error.strerror}", _OTHER_HOME)
    torn = isinstance(error, apsw.SQLError) and any(words in str(error) for words in _TORN)
    if torn or isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
        return Failure(
            "STORE_DAMAGED",
            f"{where} is not a readable database: {error}",
            f"nothing was changed; move it away (mv {where} {where}.damaged), then import your last"
            " `joelclaw memory export`",
        )
    if isinstance(error, (apsw.BusyError, apsw.IOError)):
        try:  # SQLite tells locks that do not work as another's
            with files.FileLock(where + ".lock", 0):
                pass
        except (OSError, files.LockTimeout):
            pass
        except Failure as failure:
            return failure
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Failure("STORE_BUSY", f"{where} is being written by another process", "try again")
    no_way_in = isinstance(error, (apsw.CantOpenError, apsw.PermissionsError)) and os.path.isfile(where)
    if isinstance(error, (apsw.ReadOnlyError, apsw.AuthError)) or (no_way_in and not os.access(files.home(), os.W_OK)):
        return Failure("STORE_READ_ONLY", f"{where} cannot be written", _OTHER_HOME)
    if isinstance(error, apsw.SQLError) and str(error).startswith("no such "):
        return _foreign(where)
    if isinstance(error, apsw.IOError) and not os.path.isdir(where):
        return Failure("STORE_IO", f"{where}: {error}", "check the disk's free space and health; nothing was written")
    return Failure("STORE_UNREADABLE", f"{where}: {error}", _OTHER_HOME)


def _foreign(where: str) -> Failure:
    return Failure(
        "STORE_FOREIGN",
        f"{where} is another program's database",
        "nothing was changed; point JOELCLAW_HOME at another folder, or move the file away",
    )
