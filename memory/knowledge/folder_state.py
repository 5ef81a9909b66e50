"""The synced folders and what their files were like at the last sync: `$JOELCLAW_HOME/knowledge.json`.

It saves reading files that have not changed. An entry counts only while the store has as many sections of the file as
it says, so that losing the store or this file costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from typing import NamedTuple

from core import files, json_text

_VERSION = 2
"""Of what is made of a file: with another one every file is read again."""
_RACY_MS = 2_000


class Entry(NamedTuple):
    """A file at its last sync: its stamp, its number of sections in recall, and why it was cut."""

    stamp: str
    live: int
    note: str = ""


@dataclass
class SyncedFiles:
    """The kept folders (real paths) and the files below them."""

    folders: list[str] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)


def path() -> str:
    """Where the state lies."""
    return os.path.join(files.home(), "knowledge.json")


def stamp(status: os.stat_result, now: int) -> str:
    """What changes when a file does. Empty for one that changed in the last 2 s: it may change again unnoticed."""
    newest = max(status.st_mtime_ns, status.st_ctime_ns) // 1_000_000
    if newest > now - _RACY_MS:
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


def load() -> SyncedFiles:
    """The state; a new one where there is none. A damaged file is set aside."""
    try:
        with open(path(), "rb") as handle:
            kept = json_text.loads(handle.read())
        state = SyncedFiles([str(folder) for folder in kept["folders"]])
        if kept["version"] == _VERSION:
            for name, (stamped, live, note) in kept["files"].items():
                state.entries[name] = Entry(str(stamped), int(live), str(note))
        return state
    except OSError:
        return SyncedFiles()
    except (json_text.InvalidJSON, KeyError, TypeError, ValueError, AttributeError):
        with contextlib.suppress(OSError):
            files.set_aside(path())
        return SyncedFiles()


def save(state: SyncedFiles) -> None:
    """Write the state whole; where it cannot be written, the next sync reads more than it must."""
    rows = {name: [*entry] for name, entry in state.entries.items()}
    text = json_text.dumps({"version": _VERSION, "folders": state.folders, "files": rows})
    with contextlib.suppress(OSError):
        files.write_whole(path(), text.encode())
