"""What waits in the spool: taken in by a hook nobody waits for, and by who looks at the log. Off the hot path."""

from __future__ import annotations

import os

from core import TYPE_CHECKING, config, files, json_text
from core.errors import Failure
from core.store import sqlite
from otel import log, spool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Event

_TEXTS = ("id", "sessionId", "systemId", "level", "source", "component", "action")


def take() -> tuple[list[Event], list[str]]:
    """What waits, of two with one id the later, and the files to remove once it is stored."""
    folder = spool.folder()
    try:
        os.rename(spool.path(), os.path.join(folder, f"{spool.TAKEN}{os.getpid()}"))
    except OSError:
        pass  # nothing new; what a killed process took may still be there
    events: list[Event] = []
    taken: list[str] = []
    for name in os.listdir(folder) if spool.waiting() else ():
        file = os.path.join(folder, name)
        if name.startswith(spool.TAKEN):
            try:
                events += _events(file)
                taken.append(file)
            except OSError:
                pass
    by_id = {event["id"]: event for event in sorted(events, key=lambda event: event["timestamp"])}
    return list(by_id.values()), taken


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


def store_waiting(more: Sequence[Event] = ()) -> None:
    """Store what waits in the spool, so that who looks at the log finds it; what cannot be stored waits on."""
    if not (more or spool.waiting()):
        return
    db = None
    try:
        settings = config.load()
        db = sqlite.open_writing(busy_ms=settings.get_int("otel.busy_ms"), durable=False)
        with sqlite.transaction(db):  # before the files are taken: where they cannot be stored, they stay as they are
            events, taken = take()
            log.append(db, [*events, *more], debug_limit=settings.get_int("otel.debug_limit"))
        files.remove(*taken)
    except Failure:  # told by who looks at the store, or at the settings
        pass
    finally:
        if db is not None:
            db.close()
