"""The copies of a client's file that are left beside it where we change it: the first and the last of each are kept."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from core import clock

_MARK = ".joelclaw-backup-"
_STAMP = re.compile(r"(\d+)(?:-(\d+))?")


def make(path: str, target: str, data: bytes) -> str:
    """A copy in the same folder, of the same mode; never over another file. Returns its path.

    Args:
        target: the file itself, where `path` is a link.
    """
    stem = f"{path}{_MARK}{clock.now_ms()}"
    taken = [_age(name)[1] for name in every(path) if name.startswith(stem)]  # the order is the age
    for number in count(max(taken, default=0) + 1):
        name = stem if number == 1 else f"{stem}-{number}"
        try:
            create(name, data, os.stat(target).st_mode & 0o7777)
        except FileExistsError:
            continue
        return name
    raise FileExistsError(errno.EEXIST, "too many backups", stem)


def create(path: str, data: bytes, mode: int) -> None:
    """Make a file that is on the disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except OSError:
        os.unlink(path)
        raise


def thin(path: str) -> None:
    """Delete the copies between the first, which is older than anything of ours, and the last."""
    for name in every(path)[1:-1]:
        with suppress(OSError):
            os.unlink(name)


def left(path: str) -> list[str]:
    """The copies of a file, the oldest first, once those are deleted that say what the file says."""
    now = _data(path)
    for name in every(path):
        if now is not None and _data(name) == now:
            with suppress(OSError):
                os.unlink(name)
    return every(path)


def every(path: str) -> list[str]:
    """All copies of a file, the oldest first."""
    folder, stem = os.path.dirname(path), os.path.basename(path) + _MARK
    try:
        with os.scandir(folder) as found:
            names = [
                one.path
                for one in found
                if one.name.startswith(stem)
                and _STAMP.fullmatch(one.name.removeprefix(stem))
                and one.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
    return sorted(names, key=_age)


def as_it_was(path: str, text: str, same: Callable[[str, str], bool]) -> str:
    """The newest copy that says the same as a text, and differs from it in white space alone; without one the text."""
    wanted = "".join(text.split())
    for name in reversed(every(path)):
        try:
            old = (_data(name) or b"").decode()
        except UnicodeDecodeError:
            continue
        if ("".join(old.split()) == wanted and same(old, text)) or (not old.strip() and wanted == "{}"):
            return old
    return text


def _age(name: str) -> tuple[int, int]:
    at, _, number = name.rpartition(_MARK)[2].partition("-")
    return int(at), int(number or 1)


def _data(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
