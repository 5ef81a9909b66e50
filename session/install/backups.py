"""The copies of a client's file that are left beside it where we change it: the first and the last of each are kept."""

from __future__ import annotations

import errno
import os
import re

from core import clock

_MARK = ".joelclaw-backup-"
_STAMP = re.compile(r"(\d+)(?:-(\d+))?")


def make(path: str, target: str, data: bytes) -> str:
    """A copy in the same folder, of the same mode; never over another file. Returns its path.

    Args:
        target: the file itself, where `path` is a link.

    Raises:
        OSError: it cannot be written.
    """
    now = clock.now_ms()
    stem = f"{path}{_MARK}{now}"
    first = max((count for at, count, _ in _stamped(path) if at == now), default=0) + 1  # the order is the age
    for count in range(first, first + 1000):
        name = stem if count == 1 else f"{stem}-{count}"
        try:
            create(name, data, os.stat(target).st_mode & 0o7777)
        except FileExistsError:
            continue
        return name
    raise FileExistsError(errno.EEXIST, "too many backups", stem)


def create(path: str, data: bytes, mode: int) -> None:
    """Make a file that is on the disk when this returns.

    Raises:
        OSError: it is there already, or cannot be written; nothing is left of it then.
    """
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
    for name in _every(path)[1:-1]:
        _delete(name)


def left(path: str) -> list[str]:
    """The copies of a file, the oldest first, once those are deleted that say what the file says."""
    try:
        with open(path, "rb") as file:
            now = file.read()
    except OSError:
        return _every(path)
    for name in _every(path):
        try:
            with open(name, "rb") as file:
                same = file.read() == now
        except OSError:
            continue
        if same:
            _delete(name)
    return _every(path)


def _every(path: str) -> list[str]:
    """All copies of a file, the oldest first."""
    return [name for _, _, name in sorted(_stamped(path))]


def _stamped(path: str) -> list[tuple[int, int, str]]:
    """All copies of a file: ms since the epoch, which one of that moment, path."""
    folder, stem = os.path.dirname(path), os.path.basename(path) + _MARK
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                stamp = _STAMP.fullmatch(entry.name.removeprefix(stem)) if entry.name.startswith(stem) else None
                if stamp and entry.is_file(follow_symlinks=False):
                    found.append((int(stamp[1]), int(stamp[2] or 1), entry.path))
    except OSError:
        return []
    return found


def _delete(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:  # it is no harm where it is
        pass
