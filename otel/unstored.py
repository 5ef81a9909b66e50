"""What waits in the spool: taken in by a hook nobody waits for, and by who looks at the log. Off the hot path."""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING, config, files, json_text
from core.errors import Failure
from core.store import sqlite
from otel import log, spool

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.records import Event

_TEXTS = ("id", "sessionId", "systemId", "level", "source", "component", "action")


def take() -> tuple[list[Event], list[str]]:
    """What waits, of two with one id the later, and the files to remove once it is stored."""
    folder = spool.folder()
    try:
        os.rename(spool.path(), os.path.join(folder, f"{spool.TAKEN}{os.getpid()}.{time.monotonic_ns()}"))
    except OSError:
        pass  # nothing new; what a killed process took may still be there
    return _read(folder, spool.TAKEN)


def lying_in(home: str) -> list[Event]:
    """The events that wait in a home, which is left as it is; of two with one id the later."""
    return _read(os.path.join(home, spool.FOLDER), "")[0]


def _read(folder: str, prefix: str) -> tuple[list[Event], list[str]]:
    events: dict[str, Event] = {}
    read: list[str] = []
    for name in sorted(os.listdir(folder)) if os.access(folder, os.R_OK | os.X_OK) else ():
        try:
            if name.startswith(prefix):
                events |= {event["id"]: event for event in _events(os.path.join(folder, name))}
                read.append(os.path.join(folder, name))
        except OSError:  # another has stored it by now
            pass
    return sorted(events.values(), key=lambda event: event["timestamp"]), read


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


def store_waiting(more: Sequence[Event] = (), db: apsw.Connection | None = None, *, busy_ms: int = 0) -> None:
    """Store what waits in the spool, and `more`, so that who looks at the log finds it; what cannot be stored waits on,
    as far as the spool has room. For another writer it waits `busy_ms`, else `otel.busy_ms`."""
    if not (more or spool.waiting()):
        return
    opened = None
    try:
        settings = config.load()
        busy_ms = busy_ms or settings.get_int("otel.busy_ms")
        if db is None:
            db = opened = sqlite.open_writing(busy_ms=busy_ms, durable=False)
        else:
            sqlite.be_durable(db, False, busy_ms=busy_ms)
        with sqlite.transaction(db):  # before the files are taken: while another writes, they stay as they are
            events, taken = take()
            log.append(db, [*events, *more], debug_limit=settings.get_int("otel.debug_limit"))
        files.remove(*taken)
    except (Failure, sqlite.StoreError):  # told by who looks at the store, or at the settings
        spool.keep(more)
    finally:
        if opened is not None:
            opened.close()
