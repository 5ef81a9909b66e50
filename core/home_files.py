"""The files of the home: which names are ours, permissions that are closed, leftovers of killed writers."""

from __future__ import annotations

import os
import stat
import time

from core import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The names that we create in a home, without `.lock`; it may hold other files too. 0.2.0 wrote "acknowledged".
_OURS = frozenset(
    "backups.json cache config.toml install installs knowledge.json outbox sessions spool switches.json trusted.json"
    " workspace acknowledged".split()
)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def is_in_home(path: str, home: str) -> bool:
    """Whether a path is in the home: a user's own output must not be written among our files."""
    real, ours = os.path.realpath(path), os.path.realpath(home)
    return real == ours or real.startswith(ours + os.sep)


def is_in_homes(name: str) -> bool:
    """Whether an entry of the home is ours, including locks, damaged files and leftovers."""
    if _is_temporary(name):
        name = name.rsplit(".", 2)[0].rstrip("0123456789").removesuffix(".")
    return name.partition(".damaged-")[0].removesuffix(".lock") in _OURS or name.startswith("store.db")


def put_right(root: str, seen: str) -> list[str]:
    """Close the home and our files in it to others, except links; returns the paths that others could reach."""
    if not os.path.isdir(root):
        return []
    is_reachable = os.stat(root).st_mode & _OTHERS
    closed = _close(root, seen)
    if os.stat(seen).st_mode & _OTHERS:
        return []
    closed += close_all(root)
    return closed if is_reachable else []


def close_all(root: str) -> list[str]:
    """Close all our files in a home to others; returns their paths in it."""
    return [closed for path in entries(root) for closed in _close(root, path)]


def entries(root: str, onerror: Callable[[OSError], None] | None = None) -> Iterator[str]:
    """The home, and our folders and files in it; no link is followed."""
    yield root
    for folder, folders, names in os.walk(root, onerror=onerror):
        if folder == root:
            folders[:] = filter(is_in_homes, folders)
            names = list(filter(is_in_homes, names))
        yield from (os.path.join(folder, name) for name in sorted((*folders, *names)))


def examine(root: str) -> tuple[list[str], list[str], list[str]]:
    """Paths of ours in a home: those that others can read, those that were set aside, and leftovers of killed writers.

    Files in a private folder count as private: `sessions` may hold thousands, and each is looked at only once.
    """
    readable, aside, leftovers = [], [], []
    stale_s = 3600  # no writer takes an hour: a killed writer left the file
    folders = [root]
    while folders:
        folder = folders.pop()
        may_hold_leftovers = os.path.relpath(folder, root) in (".", "sessions", "cache", "installs")
        try:
            is_open = bool(os.lstat(folder).st_mode & _OTHERS)
            readable += [folder] if is_open else []
            for entry in os.scandir(folder):
                if folder == root and not is_in_homes(entry.name):
                    continue
                if ".damaged-" in entry.name:
                    aside.append(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                if (is_open or folder == root) and not entry.is_symlink() and entry.stat().st_mode & _OTHERS:
                    readable.append(entry.path)
                if may_hold_leftovers and _is_temporary(entry.name) and entry.is_file(follow_symlinks=False):
                    is_stale = entry.stat(follow_symlinks=False).st_mtime < time.time() - stale_s
                    leftovers += [entry.path] if is_stale else []
        except OSError:  # another user's, or gone by now
            pass
    return sorted(readable), sorted(aside), sorted(leftovers)


def _close(root: str, path: str) -> list[str]:
    """The path in the home, if there were permissions to remove."""
    try:
        mode = os.lstat(path).st_mode
        if mode & _OTHERS and not stat.S_ISLNK(mode):
            os.chmod(path, stat.S_IMODE(mode) & ~_OTHERS)
            return [os.path.relpath(path, root)]
    except OSError:  # another user's, or gone by now
        pass
    return []


def sweep_temporary(home: str) -> int:
    """Remove files that killed writers left in the home more than an hour ago; returns how many."""
    swept = 0
    for path in examine(home)[2]:
        try:
            os.unlink(path)
            swept += 1
        except OSError:  # another process sweeps too
            pass
    return swept


def _is_temporary(name: str) -> bool:
    """Whether a name ends like our temporary files: `.PID.tmp`, `.PID.NANOSECONDS.tmp`."""
    return name.endswith(".tmp") and name.split(".")[-2].isdigit()
