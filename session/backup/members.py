"""Which files of a home belong to a backup, under which names, and which names a backup may hold.

All that is ours, but for what is made again by itself (`cache`) and what is of this machine and moment: locks,
temporary files, the store's own side files, the list of backups.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from core import files
from core.store import sqlite

if TYPE_CHECKING:
    from collections.abc import Iterator

MANIFEST = "manifest.json"
STORE = sqlite.FILE_NAME
HAS_CLUSTER = "outbox.lock"
"""Empty; its being there says that this memory has a cluster."""
BACKUPS = "backups.json"
_LEFT_OUT = frozenset({"cache", BACKUPS})
_LOCKS = frozenset({".locks"})
_WORK = ".work"
_WAITING = "observe-waiting"
"""Of the folders below `.work` the only one that holds no locks: sessions that are still to be observed."""
_TOLD = {"document": "memories", "event": "events", "session": "sessions", "call": "toolCalls"}
_DEEPEST = 6
_LONGEST = 255


def of_home(home: str) -> Iterator[str]:
    """The names of a home's files that belong to a backup, the store left out, in order."""
    try:
        names = sorted(os.listdir(home))
    except OSError:
        return
    for name in names:
        top = os.path.join(home, name)
        if not is_kept(name):
            continue
        if os.path.isfile(top) and not os.path.islink(top):
            if name != STORE:
                yield name
        elif os.path.isdir(top) and not os.path.islink(top):
            yield from _below(home, name)


def _below(home: str, folder: str) -> Iterator[str]:
    with os.scandir(os.path.join(home, folder)) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        name = f"{folder}/{entry.name}"
        if entry.is_file(follow_symlinks=False):
            if is_kept(name):
                yield name
        elif entry.is_dir(follow_symlinks=False) and (entry.name == _WORK or is_kept(name + "/x")):
            yield from _below(home, name)


def is_kept(name: str) -> bool:
    """Whether a backup holds a file of this name, its parts joined by `/`: also what a restored one may be called."""
    parts = name.split("/")
    first = parts[0]
    if name == STORE:
        return True
    if not 0 < len(parts) <= _DEEPEST or any(not _is_plain(part) for part in parts):
        return False
    if not files.is_in_homes(first) or first in _LEFT_OUT or first.startswith(STORE):
        return False
    if name == HAS_CLUSTER:
        return True
    if parts[-1].endswith((".lock", ".tmp")) or not _LOCKS.isdisjoint(parts):
        return False
    return _WORK not in parts or _WAITING in parts


def _is_plain(part: str) -> bool:
    return part not in ("", ".", "..") and len(part.encode("utf-8", "replace")) <= _LONGEST and part.isprintable()


def foreign_in(home: str) -> list[str]:
    """What a home holds that is not ours, in order."""
    return [name for name in sorted(os.listdir(home)) if not files.is_in_homes(name)]


def counted(counts: dict[str, int]) -> dict[str, int]:
    """How many of what a store holds, by the names that an answer has for it."""
    return {told: counts[table] for table, told in _TOLD.items() if table in counts}
