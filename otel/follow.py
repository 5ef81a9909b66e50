"""New events as other processes store them, each once and in the order they were stored."""

from __future__ import annotations

import os

from core.errors import Failure
from core.store import events as stored
from core.store import sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from core.records import Event, EventQuery

_MAX_FAULTS = 20
_REMEMBERED = 20_000


class Follower:
    """Asks the store again and again; `poll` is the only thing to call.

    By the store's own numbering and not by time: two events may have one time, and one may come with an old time. The
    store need not be there yet, and may be replaced by another one meanwhile: then what that one holds of the window
    is new, except for events that were seen.

    Args:
        asked: which events; its window holds for what is there at the start, not for what comes.
        limit: how many of those at the start.
    """

    def __init__(self, asked: EventQuery, limit: int) -> None:
        self._asked = asked
        self._limit = limit
        self._db: apsw.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._last = 0
        self._seen: dict[str, None] = {}
        self._faults = 0
        self._started = False

    def poll(self) -> list[Event]:
        """Events since the last call, oldest first; in the first call the newest `limit` that were there."""
        try:
            found = self._read()
        except (sqlite.StoreError, Failure) as error:
            self._close()
            self._faults += 1
            failure = error if isinstance(error, Failure) else sqlite.as_failure(error)
            at_once = not self._started and failure.code != "STORE_BUSY"
            if at_once or self._faults >= _MAX_FAULTS:
                raise failure from None
            return []
        self._faults = 0
        self._started = True
        fresh = [event for event in found if event["id"] not in self._seen]
        self._seen |= dict.fromkeys(event["id"] for event in fresh)
        for old in list(self._seen)[:-_REMEMBERED]:
            del self._seen[old]
        return fresh

    def _read(self) -> list[Event]:
        try:
            status = os.stat(sqlite.path())
        except OSError:
            self._close()
            return []
        if (status.st_dev, status.st_ino) != self._file:
            self._close()
            self._file = status.st_dev, status.st_ino
            self._last = 0
        self._db = self._db or sqlite.open_reading()
        if self._db is None:
            return []
        self._db.execute("BEGIN")
        try:
            last = stored.last_seq(self._db)
            if not self._started:
                found = stored.newest(self._db, self._asked, self._limit)[::-1]
            else:
                asked: EventQuery = {**self._asked, "since": 0} if self._last else self._asked
                found = stored.between(self._db, asked, self._last, last) if last != self._last else []
        finally:
            self._db.execute("ROLLBACK")
        self._last = last
        return found

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
