"""What is in the home: which names are ours, permissions that are corrected, leftovers of killed writers."""

from __future__ import annotations

import os
import stat
import time

from core.files import OTHERS, STORE, SWITCHES, corrected, home, is_open_to_others

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What we put into a home, without `.lock`: it may hold other things too (`tests/core/test_home_names.py`).
_OURS = frozenset(
    "cache config.toml install installs knowledge.json outbox sessions spool trusted.json workspace".split()
) | {SWITCHES, "backups.json"}
_STALE_S = 3600
"""No writer takes this long: an older temporary file was left by a killed one."""


def is_in_home(path: str) -> bool:
    """Whether a path is in the home: a user's own output must not be written among our files."""
    real, ours = os.path.realpath(path), os.path.realpath(home())
    return real == ours or real.startswith(ours + os.sep)


def is_in_homes(name: str) -> bool:
    """Whether an entry of the home is ours, including locks, damaged files and leftovers."""
    if _is_temporary(name):
        name = name.rsplit(".", 2)[0].rstrip("0123456789").removesuffix(".")
    return name.partition(".damaged-")[0].removesuffix(".lock") in _OURS or name.startswith(STORE)


def put_right(root: str, seen: str) -> None:
    """Remove group and other permissions from the home and what is ours in it; links are left alone."""
    is_reachable = is_open_to_others(root)
    closed = _close(root, seen)
    if is_open_to_others(seen):
        return
    closed += close_all(root)
    if is_reachable:
        corrected.extend(closed)


def close_all(root: str) -> list[str]:
    """Remove them from all that is ours in a home; returns of which paths in it."""
    return [closed for path in entries(root) for closed in _close(root, path)]


def entries(root: str, onerror: Callable[[OSError], None] | None = None) -> Iterator[str]:
    """The home, and the folders and files in it that are ours; no link is followed."""
    yield root
    for folder, folders, names in os.walk(root, onerror=onerror):
        if folder == root:
            folders[:], names = ([one for one in some if is_in_homes(one)] for some in (folders, names))
        yield from (os.path.join(folder, one) for one in sorted((*folders, *names)))


def _close(root: str, path: str) -> list[str]:
    """Its path in the home, if there were permissions to remove."""
    try:
        mode = os.lstat(path).st_mode
        if mode & OTHERS and not stat.S_ISLNK(mode):
            os.chmod(path, stat.S_IMODE(mode) & ~OTHERS)
            return [os.path.relpath(path, root)]
    except OSError:  # somebody else's, or gone by now
        pass
    return []


def sweep_temporary() -> int:
    """Remove what killed writers left in the home more than an hour ago; returns how many files."""
    return _remove(stale_temporary())


def stale_temporary() -> list[str]:
    """What killed writers left in the home more than an hour ago."""
    root = home()
    return [path for name in ("", "sessions", "cache", "installs") for path in _stale(os.path.join(root, name))]


def sweep_beside(path: str) -> int:
    """Remove what killed writers left beside this file more than an hour ago; returns how many files."""
    return _remove(_stale(os.path.dirname(path), os.path.basename(path) + "."))


def _remove(paths: list[str]) -> int:
    swept = 0
    for path in paths:
        try:
            os.unlink(path)
            swept += 1
        except OSError:  # another sweeps, too
            pass
    return swept


def _stale(folder: str, prefix: str = "") -> list[str]:
    found = []
    try:
        for entry in os.scandir(folder):
            is_ours = entry.name.startswith(prefix) and _is_temporary(entry.name)
            if not is_ours or not entry.is_file(follow_symlinks=False):
                continue
            if entry.stat(follow_symlinks=False).st_mtime < time.time() - _STALE_S:
                found.append(entry.path)
    except OSError:  # no such folder; or another sweeps, too
        pass
    return found


def _is_temporary(name: str) -> bool:
    """Whether a name ends like our temporary files: `.PID.tmp`, `.PID.NANOSECONDS.tmp`."""
    return name.endswith(".tmp") and name.split(".")[-2].isdigit()
