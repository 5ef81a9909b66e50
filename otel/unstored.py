"""What waits in the spool: taken in by the next hook that can, and by who looks at the log. Off the hot path."""

from __future__ import annotations

import os

from core import TYPE_CHECKING, config, files, json_text
from core.errors import Failure
from otel import log, spool

if TYPE_CHECKING:
    from core.records import Event

_TEXTS = ("id", "sessionId", "systemId", "level", "source", "component", "action")


def take(held: str = "") -> tuple[list[Event], list[str]]:
    """What waits, and the files to remove once it is stored; `held`, the file of this process, stays where it is."""
    folder = spool.folder()
    try:
        os.rename(spool.path(), os.path.join(folder, f"{spool.TAKEN}{os.getpid()}"))
    except OSError:
        pass  # nothing new; what a killed process took may still be there
    events: list[Event] = []
    taken: list[str] = []
    for name in os.listdir(folder) if spool.waiting(held) else ():
        file = os.path.join(folder, name)
        if name.startswith(spool.TAKEN) and file != held:
            try:
                events += _events(file)
                taken.append(file)
            except OSError:
                pass
    return sorted(events, key=lambda event: event["timestamp"]), taken


def lying_in(home: str) -> list[Event]:
    """The events that wait in a home, which is left as it is."""
    found: list[Event] = []
    folder = os.path.join(home, spool.FOLDER)
    try:
        for name in sorted(os.listdir(folder)):
            found += _events(os.path.join(folder, name))
    except OSError:
        pass
    return found


def _events(where: str) -> list[Event]:
    found: list[Event] = []
    with open(where, "rb") as file:
        lines = file.read(spool.MOST_BYTES * 2).splitlines()
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


def aside(spooled: str) -> str:
    """A name in the spool for one of its files that is rewritten: where that is killed, the next hook takes it in."""
    name = os.path.basename(spooled)
    return os.path.join(spool.folder(), f"{spool.TAKEN}{os.getpid()}.{name.removeprefix(spool.TAKEN)}")


def store_waiting() -> None:
    """Store what waits in the spool, so that who looks at the log finds it; what cannot be stored waits on."""
    if spool.waiting():
        events, taken = take()
        try:
            settings = config.load()
        except Failure:  # told where the settings are
            return
        if log.try_append(None, events, settings):
            files.remove(*taken)
