"""Events that are not stored yet: JSON lines beside the store, stored by a hook that nobody waits for."""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files, json_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Event

MOST_BYTES = 262_144
_TRIES = 5
FOLDER = "spool"
_NAME = "events.jsonl"
TAKEN = _NAME + ".taken-"


def keep(events: Sequence[Event]) -> bool:
    """Append events to the spool; whether they are there. A full spool (256 KB) takes no more."""
    if not events:
        return True
    where = path()
    try:
        lines = b"".join(json_text.dumps(event).encode() + b"\n" for event in events)
        files.private_folder(folder())
        for _ in range(_TRIES):
            descriptor = os.open(where, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                size = os.fstat(descriptor).st_size
                if size > MOST_BYTES:
                    return False
                if size and os.pread(descriptor, 1, size - 1) != b"\n":  # the disk was full in the middle of a line
                    os.write(descriptor, b"\n")
                if os.write(descriptor, lines) < len(lines):
                    return False
                # who takes the file renames it first, and may have read it by now; an event is stored once
                if os.stat(where).st_ino == os.fstat(descriptor).st_ino:
                    return True
            except FileNotFoundError:
                pass
            finally:
                os.close(descriptor)
    except (OSError, ValueError, TypeError):
        pass
    return False


def waiting() -> bool:
    """Whether something waits; a question of microseconds where nothing does."""
    try:
        return bool(os.listdir(folder()))
    except OSError:
        return False


def path() -> str:
    """The file that hooks append to."""
    return os.path.join(folder(), _NAME)


def folder() -> str:
    """Where they wait."""
    return os.path.join(files.home(), FOLDER)
