"""Copies the store while others write to it, and looks at such a copy before it is trusted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import Failure
from core.store import layout, migrate, sqlite
from core.store.sqlite import apsw

if TYPE_CHECKING:
    from collections.abc import Callable

_PAGES_AT_ONCE = 2_000


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
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
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
            if source.in_transaction:
                source.execute("ROLLBACK")
            source.close()
        _sync(target)
    except (apsw.FullError, apsw.IOError) as error:
        os.unlink(target)
        raise _full(target, error) from None
    except apsw.Error as error:
        os.unlink(target)
        raise sqlite.as_failure(error) from None
    except BaseException:
        os.unlink(target)
        raise
    return True


def examine(path: str) -> Examined:
    """Look at every page of a store file that nobody has open; it is only read, and nothing is made beside it.

    Raises:
        Failure: STORE_DAMAGED; STORE_FOREIGN, it is no store; STORE_TOO_NEW.
    """
    damaged = Failure("STORE_DAMAGED", f"{path} is not a whole store", "take another backup: this one is no good")
    try:
        db = sqlite.open_unchanged(path)
        try:
            schema = int(db.execute("PRAGMA user_version").get)
            if schema > layout.SCHEMA:
                raise migrate.too_new("the backup", schema)
            first = str(db.execute("PRAGMA integrity_check(1)").get)
            if first != "ok":
                damaged.message += f": {first[:200]}"
                raise damaged
            if not schema or not db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'document'").get:
                raise Failure("STORE_FOREIGN", f"{path} is no store of joelclaw", "name a backup of `joelclaw backup`")
            return Examined(schema, _last_event(db), _counts(db))
        finally:
            db.close()
    except apsw.Error as error:
        damaged.message += f": {error}"
        raise damaged from None


def _last_event(db: apsw.Connection) -> int:
    return int(db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'event'").get)


def _counts(db: apsw.Connection) -> dict[str, int]:
    """How many rows each table has that is ours and not part of an index."""
    kept = ("document", "event", "session", "call", "compaction", "transcript", "vector")
    names = {str(name) for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return {name: int(db.execute(f"SELECT count(*) FROM {name}").get) for name in kept if name in names}


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _full(path: str, error: Exception) -> Failure:
    folder = os.path.dirname(path)
    return Failure("BACKUP_FULL", f"{folder} takes no more: {error}", "free some space there, or name another folder")
