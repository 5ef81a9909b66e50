"""What the errors of SQLite and of the system mean to the user, and what to do about them."""

from __future__ import annotations

import errno
import os

from core import files
from core.errors import Failure
from core.store import sqlite
from core.store.sqlite import apsw

# How sqlite-vec tells of pages that are damaged: it has no code of its own for that.
_TORN = ("chunks iter error", "blob read error", "could not open vectors blob", "could not open validity blob")


def of_database(error: apsw.Error) -> Failure:
    """What an SQLite error means to the user, and what to do about it."""
    where = sqlite.path()
    torn = isinstance(error, apsw.SQLError) and any(words in str(error) for words in _TORN)
    if torn or isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
        return Failure(
            "STORE_DAMAGED",
            f"{where} is not a readable database: {error}",
            f"nothing was changed; move it away (mv {where} {where}.damaged), then import your last"
            " `joelclaw memory export`",
        )
    if isinstance(error, apsw.FullError):
        return Failure(
            "STORE_FULL", f"the disk of {where} is full", "free some space and try again; nothing was written"
        )
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Failure("STORE_BUSY", f"{where} is being written by another process", "try again")
    no_way_in = isinstance(error, (apsw.CantOpenError, apsw.PermissionsError)) and os.path.isfile(where)
    if isinstance(error, (apsw.ReadOnlyError, apsw.AuthError)) or (no_way_in and not os.access(files.home(), os.W_OK)):
        return Failure("STORE_READ_ONLY", f"{where} cannot be written", "check its permissions, or set JOELCLAW_HOME")
    if isinstance(error, apsw.SQLError) and str(error).startswith("no such "):
        return foreign(where)
    if isinstance(error, apsw.IOError) and not os.path.isdir(where):
        return Failure("STORE_IO", f"{where}: {error}", "check the disk's free space and health; nothing was written")
    return Failure("STORE_UNREADABLE", f"{where}: {error}", "check its permissions, or set JOELCLAW_HOME")


def foreign(where: str) -> Failure:
    """What is said of a database of another program."""
    return Failure(
        "STORE_FOREIGN",
        f"{where} is a database of another program",
        "nothing was changed; point JOELCLAW_HOME at another folder, or move the file away",
    )


def of_system(error: OSError) -> Failure:
    """What keeps a file of the home from being opened."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Failure(
            "STORE_FULL", f"the disk of {sqlite.path()} is full", "free some space and try again; nothing was written"
        )
    return Failure(
        "STORE_READ_ONLY",
        f"{files.home()} cannot be written: {error.strerror}",
        "check its permissions, or set JOELCLAW_HOME",
    )
