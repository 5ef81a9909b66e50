"""Events that are not stored, or not yet: JSON lines beside the store, taken in by the next hook that can."""

from __future__ import annotations

import os

from core import TYPE_CHECKING, files, json_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Event

_MOST_BYTES = 262_144
_TRIES = 5
_FOLDER = "spool"
_NAME = "events.jsonl"
_TAKEN = _NAME + ".taken-"
_TEXTS = ("id", "sessionId", "systemId", "level", "source", "component", "action")


def keep(events: Sequence[Event]) -> bool:
    """Append events to the spool; whether they are there. A full spool (256 KB) takes no more."""
    return _append(path(), events)


def hold(events: Sequence[Event]) -> str:
    """Write events that are about to be stored to a file of this process; returns its path, "" for none."""
    held = os.path.join(_folder(), f"{_TAKEN}{os.getpid()}.held")
    return held if _append(held, events) else ""


def _append(where: str, events: Sequence[Event]) -> bool:
    try:
        lines = b"".join(json_text.dumps(event).encode() + b"\n" for event in events)
        files.private_folder(_folder())
        for _ in range(_TRIES):
            descriptor = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                if os.fstat(descriptor).st_size > _MOST_BYTES:
                    return False
                os.write(descriptor, lines)
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


def waiting(held: str = "") -> bool:
    """Whether something waits besides what this process holds; a question of microseconds where nothing does."""
    try:
        return any(name != os.path.basename(held) for name in os.listdir(_folder()))
    except OSError:
        return False


def take(held: str = "") -> tuple[list[Event], list[str]]:
    """What waits, and the files to remove once it is stored; `held`, the file of this process, stays where it is."""
    folder = _folder()
    try:
        os.rename(path(), os.path.join(folder, f"{_TAKEN}{os.getpid()}"))
    except OSError:
        pass  # nothing new; what a killed process took may still be there
    events: list[Event] = []
    taken: list[str] = []
    for name in os.listdir(folder) if waiting(held) else ():
        file = os.path.join(folder, name)
        if name.startswith(_TAKEN) and file != held:
            try:
                events += _events(file)
                taken.append(file)
            except OSError:
                pass
    return events, taken


def lying_in(home: str) -> list[Event]:
    """The events that wait in a home, which is left as it is."""
    found: list[Event] = []
    folder = os.path.join(home, _FOLDER)
    try:
        for name in sorted(os.listdir(folder)):
            found += _events(os.path.join(folder, name))
    except OSError:
        pass
    return found


def _events(where: str) -> list[Event]:
    found: list[Event] = []
    with open(where, "rb") as file:
        lines = file.read(_MOST_BYTES * 2).splitlines()
    for line in lines:
        try:
            event = json_text.loads(line)
        except json_text.InvalidJSON:
            continue
        if (
            isinstance(event, dict)
            and all(isinstance(event.get(name), str) for name in _TEXTS)
            and isinstance(event.get("timestamp"), int)
            and isinstance(event.get("success"), bool)
            and isinstance(event.get("metadata"), dict)
        ):
            found.append(event)  # type: ignore[arg-type]  # its fields were looked at
    return found


def path() -> str:
    """The file that hooks append to."""
    return os.path.join(_folder(), _NAME)


def aside(spooled: str) -> str:
    """A name in the spool for one of its files that is rewritten: where that is killed, the next hook takes it in."""
    name = os.path.basename(spooled)
    return os.path.join(_folder(), f"{_TAKEN}{os.getpid()}.{name.removeprefix(_TAKEN)}")


def _folder() -> str:
    return os.path.join(files.home(), _FOLDER)
