"""How a command fails: a code for machines, a message for people, and what to do about it.

`ERRORS` explains the errors of the file system and of SQLite (`core.store.sqlite.as_failure`). Hot path.
"""

from __future__ import annotations

import errno

from core import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

FAILED = 1
USAGE = 2
OTHER_HOME = "check its permissions, or set JOELCLAW_HOME"

FULL = "the disk of {where} is full"
ERRORS = {
    "BACKUP_FULL": (FULL, "free some space on it, or name another file; nothing was left"),
    "BACKUP_UNWRITABLE": ("{where}: {why}", "name another file; nothing was left"),
    "PURGE_UNWRITABLE": ("{where}: {why}", "check its permissions, then run it again"),
    "RESTORE_FULL": (FULL, "free some space on it, or name another folder with --into; nothing was changed"),
    "RESTORE_UNWRITABLE": ("{where}: {why}", "name another folder with --into; nothing was changed"),
    "STATE_FULL": (FULL, "free some space; the previous state is intact"),
    "STATE_READ_ONLY": ("{where} cannot be used: {why}", OTHER_HOME),
    "STATE_UNREADABLE": ("{where}: {why}", "check the folder, or set JOELCLAW_HOME"),
    "STORE_BUSY": ("{where} is being written by another process", "try again"),
    "STORE_DAMAGED": (
        "{where} is not a readable database: {why}",
        "nothing was changed; restore a backup, or move it away (mv {where} {where}.damaged) and import an export",
    ),
    "STORE_FOREIGN": ("{where} is another program's database", "move it away, or set JOELCLAW_HOME to another folder"),
    "STORE_FULL": (FULL, "free some space and try again"),
    "STORE_IO": ("{where}: {why}", "check the disk's free space and health"),
    "STORE_READ_ONLY": ("{where} cannot be written: {why}", OTHER_HOME),
    "STORE_UNREADABLE": ("{where}: {why}", OTHER_HOME),
}
"""Code → message and fix. The codes of a family begin alike."""


class Failure(Exception):
    """A command cannot do its work: `message` says what is wrong, `fix` what the reader can do about it."""

    __slots__ = ("code", "exit_code", "fix", "message")

    def __init__(self, code: str, message: str, fix: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[type[Failure], tuple[str, str, str, int]]:
        return Failure, (self.code, self.message, self.fix, self.exit_code)


class NotAFile(OSError):
    """Something else is in place of a file: a folder, a named pipe, a device, or a link that leads nowhere."""


class reported:  # noqa: N801  # reads as a statement
    """`with reported("STATE", folder):` raises an OSError as a Failure of this family; `where`: if it names no file."""

    __slots__ = ("_family", "_where")

    def __init__(self, family: str, where: str) -> None:
        self._family = family
        self._where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise os_failure(error, self._family, self._where) from None


def usage(code: str, message: str, fix: str) -> Failure:
    """A Failure caused by the caller's arguments (exit 2)."""
    return Failure(code, message, fix, USAGE)


def wrong_value(name: str, given: object, expected: str, code: str) -> Failure:
    """A Failure for a value that is not what is `expected`, such as "text", "a number from 0 to 1" or "a, b or c"."""
    shown = repr(given)
    shown = shown if len(shown) <= 60 else shown[:57] + "...'"
    return usage(code, f"{name} must be {expected}, not {shown}", f"give {name} {expected}")


def either(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def explained(code: str, where: str, why: object = "") -> Failure:
    """The Failure with this code of `ERRORS`."""
    message, fix = ERRORS[code]
    return Failure(code, message.format(where=where, why=why).removesuffix(": "), fix.format(where=where))


def os_failure(error: OSError, family: str, where: str) -> Failure:
    """The Failure for an error of the file system. `family`: what its code begins with."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and f"{family}_FULL" in ERRORS:
        return explained(f"{family}_FULL", where)
    code = f"{family}_READ_ONLY" if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) else f"{family}_UNREADABLE"
    if code not in ERRORS:
        code = f"{family}_UNWRITABLE"
    failure = explained(code, error.filename or where, error.strerror or error)
    if isinstance(error, NotAFile):
        failure.fix = f"move {error.filename} away, and try again"
    return failure
