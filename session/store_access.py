"""The embedded store as a hook uses it: opened at the first need, its faults kept instead of raised. Hot path.

A store that is damaged, full or locked must not stop a checkpoint or an injection (DESIGN, "fail open"). After the
first fault it is left alone, so that a session ends within a second all the same.
"""

from __future__ import annotations

import os

from session.faults import fault_boundary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    import apsw

    from clients.event import Item
    from core.config import Config
    from core.records import Event
    from session.records import Fault

    Made = TypeVar("Made")

_BUSY_MS = 400


class StoreAccess:
    """One process's way to the store.

    Args:
        config: the settings in force.
        now: ms since the epoch.
        faults: gets what failed; while it holds anything, nothing is asked of the store.
        other: whose connection this one goes on with.
    """

    def __init__(
        self, config: Config, now: int, faults: list[Fault] | None = None, other: StoreAccess | None = None
    ) -> None:
        self._config = config
        self._now = now
        self._db: apsw.Connection | None = other._db if other is not None else None
        self._vectors: bool = other is not None and other._vectors
        self.faults: list[Fault] = [] if faults is None else faults

    def archive(self, path: str, *, agent: str, session: str, cwd: str, until: float) -> list[Item]:
        """Store what a transcript has that is new; returns what was said, [] where it failed or there is none.

        Args:
            until: `time.monotonic()` after which no further part is begun.
        """

        def write(db: apsw.Connection) -> list[Item]:
            from memory.archive import ingest

            return ingest.ingest_file(
                db, path, agent=agent, session=session, cwd=cwd, now=self._now, vectors=self._vectors, until=until
            ).items

        return self._attempt("archive", write, [], durable=False) if os.path.isfile(path) else []

    def archive_items(self, items: Sequence[Item], *, agent: str, session: str, cwd: str) -> None:
        """Store what was said in a client that has no transcript file."""

        def write(db: apsw.Connection) -> None:
            from memory.archive import ingest

            ingest.ingest_items(db, items, agent=agent, session=session, cwd=cwd, now=self._now, vectors=self._vectors)

        self._attempt("archive", write, None, durable=False)

    def keep_summary(self, session: str, text: str) -> None:
        """Store what the client keeps in place of the messages before the compaction that goes on."""

        def write(db: apsw.Connection) -> None:
            from core.store import sqlite
            from core.store.sessions import name_rows, session_rows
            from memory.archive.plain_text import start

            summary = start(text, name_rows.SUMMARY_CHARS)
            with sqlite.transaction(db):
                if not session_rows.is_forgotten(db, session):
                    about = session_rows.session(db, session)
                    name_rows.save_compaction(db, session, about["calls"] if about else 0, self._now, summary)

        self._attempt("summary", write, None, durable=False)

    def append(self, events: Sequence[Event], recalled: Sequence[str] = ()) -> bool:
        """Store events and count the memories that were injected, in one transaction; whether they are stored."""

        def write(db: apsw.Connection) -> bool:
            from otel import log

            limit = self._config.get_int("otel.debug_limit")
            log.append(db, events, debug_limit=limit, recalled=recalled, now=self._now)
            return True

        return bool(events) and self._attempt("event", write, False, durable=False)

    def reading(self) -> tuple[apsw.Connection | None, bool]:
        """The store to read from and whether it has vectors; None where there is none yet, which is no fault."""
        from core.store import sqlite

        if self._db is None:
            self._db = sqlite.open_reading()
        if not self._vectors and self._db is not None:
            self._vectors = sqlite.load_vectors(self._db)
        return self._db, self._vectors

    def _attempt(
        self, step: str, work: Callable[[apsw.Connection], Made], otherwise: Made, *, durable: bool | None = None
    ) -> Made:
        """What `work` makes of the store; `otherwise` where that, or anything before it, failed, or there is no store.

        Args:
            durable: None opens the store for reading; else whether a commit waits for the disk.
        """
        if self.faults:
            return otherwise
        with fault_boundary(self.faults, step):
            if durable is not None:
                from core.store import sqlite

                if self._db is None:
                    self._db = sqlite.open_writing(busy_ms=_BUSY_MS, durable=durable)
                else:
                    sqlite.be_durable(self._db, durable, busy_ms=_BUSY_MS)
            db, _ = self.reading()
            if db is not None:
                return work(db)
        return otherwise
