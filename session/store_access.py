"""The embedded store as a hook uses it: opened at the first need, its faults kept instead of raised. Hot path.

A store that is damaged, full or locked must not stop a checkpoint or an injection (DESIGN, "fail open"). After the
first fault it is left alone, so that a session ends within a second all the same.
"""

from __future__ import annotations

import os

from session.faults import fault_boundary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from clients.event import Item
    from core.config import Config
    from core.records import Event
    from session.records import Fault

_BUSY_MS = 400


class StoreAccess:
    """One process's way to the store.

    Args:
        config: the settings in force.
        now: ms since the epoch.
        faults: gets what failed; while it holds anything, nothing is asked of the store.
    """

    __slots__ = ("_config", "_db", "_now", "_vectors", "faults")

    def __init__(self, config: Config, now: int, faults: list[Fault] | None = None) -> None:
        self._config = config
        self._now = now
        self._db: apsw.Connection | None = None
        self._vectors = False
        self.faults: list[Fault] = [] if faults is None else faults

    def adopt(self, other: StoreAccess) -> None:
        """Go on with the connection of another."""
        self._db, self._vectors = other._db, other._vectors

    def archive(self, path: str, *, agent: str, session: str, cwd: str, until: float) -> list[Item]:
        """Store what a transcript has that is new; returns what was said, [] where it failed or there is none.

        Args:
            until: `time.monotonic()` after which no further part is begun.
        """
        if self.faults or not os.path.isfile(path):
            return []
        with fault_boundary(self.faults, "archive"):
            from memory.archive import ingest

            db, vectors = self._writing(durable=False)
            ingested = ingest.ingest_file(
                db,
                path,
                agent=agent,
                session=session,
                cwd=cwd,
                now=self._now,
                vectors=vectors,
                until=until,
            )
            return ingested["items"]
        return []

    def archive_items(self, items: Sequence[Item], *, agent: str, session: str, cwd: str) -> None:
        """Store what was said in a client that has no transcript file."""
        if self.faults:
            return
        with fault_boundary(self.faults, "archive"):
            from memory.archive import ingest

            db, vectors = self._writing(durable=False)
            ingest.ingest_items(
                db,
                items,
                agent=agent,
                session=session,
                cwd=cwd,
                now=self._now,
                vectors=vectors,
            )

    def keep_summary(self, session: str, text: str) -> None:
        """Store what the client keeps in place of the messages before the compaction that goes on."""
        if self.faults:
            return
        with fault_boundary(self.faults, "summary"):
            from core.store import sqlite
            from core.store.sessions import name_rows, session_rows
            from memory.archive.plain_text import start

            db, _ = self._writing(durable=False)
            summary = start(text, name_rows.SUMMARY_CHARS)
            with sqlite.transaction(db):
                if session_rows.is_forgotten(db, session):
                    return
                about = session_rows.session(db, session)
                number = about["calls"] if about is not None else 0
                name_rows.save_compaction(db, session, number, self._now, summary)

    def append(self, events: Sequence[Event], recalled: Sequence[str] = ()) -> bool:
        """Store events and count the memories that were injected, in one transaction; whether they are stored."""
        if self.faults or not events:
            return False
        with fault_boundary(self.faults, "event"):
            from core.store import sqlite
            from otel import log

            db, _ = self._writing(durable=False)
            with sqlite.transaction(db):
                log.append(db, events, debug_limit=self._config.whole("otel.debug_limit"))
                if recalled:
                    from core.store import documents

                    documents.count_recall(db, recalled, self._now)
            return True
        return False

    def reading(self) -> tuple[apsw.Connection | None, bool]:
        """The store to read from and whether it has vectors; None where there is none yet, which is no fault.

        Raises:
            Failure: it cannot be opened.
            apsw.Error: likewise.
        """
        from core.store import sqlite

        if self._db is None:
            self._db = sqlite.open_reading()
        if not self._vectors and self._db is not None:
            self._vectors = sqlite.load_vectors(self._db)
        return self._db, self._vectors

    def _writing(self, *, durable: bool) -> tuple[apsw.Connection, bool]:
        from core.store import sqlite

        if self._db is None:
            self._db = sqlite.open_writing(busy_ms=_BUSY_MS, durable=durable)
        else:
            sqlite.be_durable(self._db, durable, busy_ms=_BUSY_MS)
        if not self._vectors:
            self._vectors = sqlite.load_vectors(self._db)
        return self._db, self._vectors
