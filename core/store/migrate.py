"""Makes a store of this version: of nothing, of an older file, or in memory. Imported where there is need of it."""

from __future__ import annotations

from core import files
from core.errors import Failure
from core.store import layout
from core.store.faults import foreign
from core.store.migrations import STEPS
from core.store.sqlite import MARK, apsw

_CHANGES = (apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE)


def version_of(db: apsw.Connection) -> int:
    """How many steps a store has had."""
    return int(db.execute("PRAGMA user_version").get)


def too_new(what: str, version: int) -> Failure:
    """What is said of a store of a later version."""
    return Failure(
        "STORE_TOO_NEW",
        f"{what} has schema {version}; this joelclaw knows {layout.SCHEMA}",
        "upgrade joelclaw, or point JOELCLAW_HOME at another folder; nothing was changed",
    )


def in_file(db: apsw.Connection, where: str, busy_ms: int) -> None:
    """Bring a file up to date, or begin it; other processes wait.

    Raises:
        Failure: STORE_FOREIGN, STORE_TOO_NEW, or what SQLite says.
        files.LockTimeout: another process has been at it for too long.
    """
    # The switch to WAL wants the file for itself, and asks no busy handler.
    with files.FileLock(where + ".lock", wait_s=busy_ms / 1000):
        version = version_of(db)
        if version == layout.SCHEMA:
            return  # somebody else has done it meanwhile
        ours = "name = 'document'" if version else "true"  # of an older version the first step's table must be there
        if bool(db.execute(f"SELECT count(*) FROM sqlite_schema WHERE {ours}").get) != bool(version):
            raise foreign(where)
        if not version:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # room can be given back page by page (upkeep.space)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        try:
            version = version_of(db)
            if version > layout.SCHEMA:
                raise too_new(where, version)
            _take_steps(db)
            db.execute("COMMIT")
            files.touch_private(where + MARK)  # from now on it is known what was acknowledged: see upkeep.completeness
        except BaseException:
            if db.in_transaction:  # a full disk has rolled it back already
                db.execute("ROLLBACK")
            raise


def in_memory(source: apsw.Connection | None = None) -> apsw.Connection:
    """A store that no file holds: an empty one; or an old one that cannot be brought up to date where it lies.

    The copy is only to be read: what was written into it would be lost.
    """
    db = apsw.Connection(":memory:")
    if source is not None:
        with db.backup("main", source, "main") as running:
            running.step(-1)
    _take_steps(db)
    if source is not None:
        db.authorizer = _only_read
    return db


def _take_steps(db: apsw.Connection) -> None:
    for step in STEPS[version_of(db) :]:
        db.execute(step)
    db.execute(f"PRAGMA user_version = {layout.SCHEMA}")


def _only_read(action: int, _table: str | None, _column: str | None, database: str | None, _by: str | None) -> int:
    return apsw.SQLITE_DENY if action in _CHANGES and database == "main" else apsw.SQLITE_OK
