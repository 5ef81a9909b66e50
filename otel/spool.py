"""Events that are not stored, or not yet: JSON lines beside the store, taken in by the next hook that can.

An event's id makes it harmless to take a line in twice.
"""

from __future__ import annotations

import os

from core import files, json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Event

_MOST_BYTES = 262_144
_FOLDER = "spool"
_NAME = "events.jsonl"
_TAKEN = _NAME + ".taken-"
_HELD = ".held"


def keep(events: Sequence[Event]) -> bool:
    """Append events to the spool; whether they are there. A full spool (256 KB) takes no more."""
    return _append(_NAME, events)


def hold(events: Sequence[Event]) -> str:
    """Write events that are about to be stored to a file of this process; returns its path to `drop`, "" for none.

    A process that is killed before they are stored leaves it, and the next hook takes them in.
    """
    name = f"{_TAKEN}{os.getpid()}{_HELD}"
    return os.path.join(_folder(), name) if _append(name, events) else ""


def _append(name: str, events: Sequence[Event]) -> bool:
    try:
        path = os.path.join(files.private_folder(_folder()), name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_size > _MOST_BYTES:
                return False
            os.write(descriptor, b"".join(json_text.dumps(event).encode() + b"\n" for event in events))
        finally:
            os.close(descriptor)
    except (OSError, ValueError, TypeError):
        return False
    return True


def waiting(held: str = "") -> bool:
    """Whether something waits besides what this process holds; a question of microseconds where nothing does."""
    try:
        return any(name != os.path.basename(held) for name in os.listdir(_folder()))
    except OSError:
        return False


def take(held: str = "") -> tuple[list[Event], list[str]]:
    """What waits, and the files to `drop` once it is stored. What no longer reads as an event is left out.

    Args:
        held: the file of this process, which is left where it is.
    """
    folder = _folder()
    try:
        os.rename(os.path.join(folder, _NAME), os.path.join(folder, f"{_TAKEN}{os.getpid()}"))
    except OSError:
        pass  # nothing new; what a killed process took may still be there
    events: list[Event] = []
    taken: list[str] = []
    try:
        names = os.listdir(folder)
    except OSError:
        return [], []
    for path in (os.path.join(folder, name) for name in names if name.startswith(_TAKEN)):
        try:
            events += _events(path) if path != held else []
        except OSError:
            continue
        taken += [path] if path != held else []
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


def _events(path: str) -> list[Event]:
    """The events in a file of JSON lines; what does not read as one is left out."""
    found: list[Event] = []
    with open(path, "rb") as file:
        lines = file.read(_MOST_BYTES * 2).splitlines()
    for line in lines:
        try:
            event = json_text.loads(line)
        except json_text.InvalidJSON:
            continue
        if isinstance(event, dict) and _is_event(event):
            found.append(event)  # type: ignore[arg-type]  # its fields were looked at
    return found


def path() -> str:
    """The file that hooks append to."""
    return os.path.join(_folder(), _NAME)


def aside(spooled: str) -> str:
    """A name in the spool for one of its files that is rewritten: where that is killed, the next hook takes it in."""
    name = os.path.basename(spooled)
    return os.path.join(_folder(), f"{_TAKEN}{os.getpid()}.{name.removeprefix(_TAKEN)}")


def drop(paths: Sequence[str]) -> None:
    """Remove files that are stored."""
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            pass


def _folder() -> str:
    return os.path.join(files.home(), _FOLDER)


def _is_event(value: dict[str, object]) -> bool:
    texts = ("id", "sessionId", "systemId", "level", "source", "component", "action")
    return (
        all(isinstance(value.get(name), str) for name in texts)
        and isinstance(value.get("timestamp"), int)
        and isinstance(value.get("success"), bool)
        and isinstance(value.get("metadata"), dict)
    )
