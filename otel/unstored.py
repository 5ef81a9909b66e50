"""What waits in the spool: taken in by a hook nobody waits for, and by who looks at the log. Off the hot path."""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING, config, files, json_text
from core.errors import Failure
from core.store import sqlite
from otel import log, spool
from otel.event import search_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeGuard

    import apsw

    from core.records import Event

_TEXTS = "id sessionId systemId level source component action".split()
_NEEDED: dict[str, type] = {**dict.fromkeys(_TEXTS, str), "timestamp": int, "success": bool, "metadata": dict}
_ALSO: dict[str, type | tuple[type, ...]] = {"duration_ms": (int, float), "error": str, "recalled": list}
_LATEST_MS = 1 << 53


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
    events: list[Event] = []
    read: list[str] = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        file = os.path.join(folder, name)
        try:
            if name.startswith(prefix):
                events += _events(file)
                read.append(file)
        except OSError:  # another has stored it by now
            pass
    latest = {event["id"]: event for event in sorted(events, key=lambda event: event["timestamp"])}
    return list(latest.values()), read


def _events(where: str) -> list[Event]:
    found: list[Event] = []
    with open(where, "rb") as file:
        lines = file.read(spool.MOST_BYTES * 2).splitlines()
    for line in lines:
        try:
            event = json_text.loads(line)
            if _is_event(event):
                (search_text(event) + "".join(str(event.get(name)) for name in _TEXTS)).encode()  # no half a surrogate
                found.append(event)
        except ValueError:  # no JSON, or no text
            pass
    return found


def _is_event(value: Any) -> TypeGuard[Event]:
    """Whether a line of the spool can be stored: one that cannot would keep back all that stand beside it."""
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(name), kind) for name, kind in _NEEDED.items())
        and all(isinstance(value[name], kind) for name, kind in _ALSO.items() if name in value)
        and abs(value["timestamp"]) < _LATEST_MS
    )


def aside(spooled: str) -> str:
    """A name in the spool for one of its files that is rewritten: where that is killed, the next hook takes it in."""
    name = os.path.basename(spooled)
    return os.path.join(spool.folder(), f"{spool.TAKEN}{os.getpid()}.{name.removeprefix(spool.TAKEN)}")


def store_waiting(more: Sequence[Event] = (), db: apsw.Connection | None = None) -> None:
    """Store what waits in the spool, and `more`, so that who looks at the log finds it; what cannot be stored waits on.
    It waits for another writer for `otel.busy_ms`, or as long as a `db` does that is open for writing."""
    if not (more or spool.waiting()):
        return
    opened = None
    try:
        settings = config.load()
        if db is None:
            db = opened = sqlite.open_writing(busy_ms=settings.get_int("otel.busy_ms"), durable=False)
        with sqlite.transaction(db):  # before the files are taken: while another writes, they stay as they are
            events, taken = take()
            log.append(db, [*events, *more], debug_limit=settings.get_int("otel.debug_limit"))
        files.remove(*taken)
    except Failure:  # told by who looks at the store, or at the settings
        spool.keep(more)
    finally:
        if opened is not None:
            opened.close()
