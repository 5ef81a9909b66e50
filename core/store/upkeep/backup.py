"""Copies the store while others write to it, and looks at such a copy before it is trusted."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from core.errors import Failure
from core.store import layout, migrate, sqlite
from core.store.sqlite import apsw
from core.store.upkeep import completeness

_PAGES_AT_ONCE = 2_000
_COUNTED = ("document", "event", "session", "call", "compaction", "transcript", "vector")


@dataclass(frozen=True)
class Examined:
    """A store file that is whole: its schema, the number of its last event, and how many rows it has of what."""

    schema: int
    last_event: int
    counts: dict[str, int]


def copy(target: str, progress: Callable[[int], None] = lambda _: None) -> bool:
    """Copy the store as it is at one moment to a new file, on the disk when this returns; False where there is none.

    All of the copy is read in one transaction: nobody waits for it, and it never begins again because somebody wrote.

    Args:
        target: the file to make; nothing is left of it where this fails.
        progress: told how many pages are left.

    Raises:
        Failure: what the store or the disk of `target` says.
    """
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
                    running.step(_PAGES_AT_ONCE)
                    progress(running.remaining)
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
    """Look at every page of a store file that nobody has open; it is only read, and nothing is made beside it.

    Raises:
        Failure: STORE_DAMAGED; STORE_FOREIGN, it is no store; STORE_TOO_NEW.
    """
    try:
        db = sqlite.open_unchanged(path)
        try:
            schema = migrate.version_of(db)
            if schema > layout.SCHEMA:
                raise migrate.too_new("the backup", schema)
            first = str(db.execute("PRAGMA integrity_check(1)").get)
            if first != "ok":
                raise _damaged(path, first[:200])
            names = {str(name) for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            if not schema or "document" not in names:
                raise Failure("STORE_FOREIGN", f"{path} is no store of joelclaw", "name a backup of `joelclaw backup`")
            counted = [name for name in _COUNTED if name in names]
            counts = {name: int(db.execute(f"SELECT count(*) FROM {name}").get) for name in counted}
            return Examined(schema, completeness.last_event(db), counts)
        finally:
            db.close()
    except apsw.Error as error:
        raise _damaged(path, str(error)) from None


def _damaged(path: str, why: str) -> Failure:
    return Failure("STORE_DAMAGED", f"{path} is not a whole store: {why}", "take another backup: this one is no good")
