"""The embedded store as a session uses it: opened at the first need, and its faults kept instead of raised.

A store that is damaged, full or locked must not stop a checkpoint or an injection (DESIGN, "fail open"). What failed is
told in `faults`; after the first fault the store is left alone, so that a session ends within a second all the same.
"""

from __future__ import annotations

import os

from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import TypedDict

    import apsw

    from clients.item import Item
    from core.config import Config
    from core.store.interface import Event, EventQuery
    from recall.engine import Hit
    from session.inject.feedback import Verdict

    class Fault(TypedDict):
        """What could not be done with the store, and why."""

        step: str
        code: str
        message: str


_BUSY_MS = 400
_CLUSTER_MS = 500
"""A hook waits no longer for a cluster; the local file answers then."""
_ASKED = 15
"""More than are kept, since the best are chosen from them (`session.inject.selection`)."""
_BAD_EVENTS = 60
"""Of those, repetitions and what is our own are left out (`session.inject.refresh_rules`)."""
TASK_TAGS = ("compaction-extract", "session-task")
TASK_CATEGORY = "ops"


class Store:
    """One process's way to the store.

    Args:
        config: settings in force.
        now: ms since the epoch.
        together: `note` keeps for the caller's `write_noted`, so that a hook answers first and writes once.
    """

    __slots__ = ("_config", "_db", "_noted", "_now", "_recalled", "_together", "_vectors", "faults")

    def __init__(self, config: Config, now: int, *, together: bool = False) -> None:
        self._config = config
        self._now = now
        self._db: apsw.Connection | None = None
        self._vectors = False
        self._together = together
        self._noted: list[Event] = []
        self._recalled: list[str] = []
        self.faults: list[Fault] = []

    def recall(
        self,
        query: str,
        *,
        project: str = "",
        least: str = "inject.min_score",
        meanwhile: Callable[[], None] | None = None,
    ) -> list[Hit] | None:
        """Memories for a query (lean) that score at least what the setting `least` says; None where it failed.

        Args:
            meanwhile: as of `recall.engine.recall`.
        """
        if self.faults:
            return None
        with Step(self, "recall"):
            from recall import engine

            db, _ = self.reading()
            found = engine.recall(
                db,
                query,
                limit=_ASKED,
                min_score=self._config.number(least),
                budget="lean",
                project=project,
                now=self._now,
                vectors=self._vectors,
                config=self._config,
                patience_ms=_CLUSTER_MS,
                meanwhile=meanwhile,
            )
            return found["hits"]
        return None

    def archive(self, path: str, *, agent: str, session: str, project: str, until: float) -> list[Item]:
        """Take in what a transcript has that is new; returns what was said, [] where it failed or there is none.

        Args:
            until: `time.monotonic()` after which no further part is begun.
        """
        if self.faults or not os.path.isfile(path):
            return []
        with Step(self, "archive"):
            from memory.archive import ingest

            taken = ingest.ingest_file(
                self._prepared(),
                path,
                agent=agent,
                session=session,
                project=project,
                now=self._now,
                vectors=self._vectors,
                until=until,
            )
            return taken["items"]
        return []

    def archive_items(self, items: Sequence[Item], *, agent: str, session: str, project: str) -> None:
        """Take in what was said in a client that has no transcript file."""
        if self.faults:
            return
        with Step(self, "archive"):
            from memory.archive import ingest

            ingest.ingest_items(
                self._prepared(),
                items,
                agent=agent,
                session=session,
                project=project,
                now=self._now,
                vectors=self._vectors,
            )

    def reading(self) -> tuple[apsw.Connection | None, bool]:
        """The store to read from and whether it has vectors; None where there is none yet, which is no fault.

        Raises:
            Failure: it cannot be opened.
            apsw.Error: likewise.
        """
        if self._db is None:
            from core.store import sqlite

            self._db = sqlite.open_reading()
        self._load_vectors()
        return self._db, self._vectors

    def _prepared(self) -> apsw.Connection:
        db = self._open_writing(durable=False)
        self._load_vectors()
        return db

    def settle(self, verdicts: Sequence[Verdict], *, role: str, session: str) -> None:
        """Move the priorities of memories that were used, or not."""
        if self.faults:
            return
        with Step(self, "feedback"):
            from session.inject import feedback

            feedback.settle(
                self._open_writing(durable=False),
                verdicts,
                role=role,
                session=session,
                now=self._now,
                debug_limit=self._config.whole("otel.debug_limit"),
            )

    def write_task(self, text: str, *, source: str, session: str) -> str | None:
        """Store a session's task as a memory; returns its id, or None where it failed."""
        if self.faults:
            return None
        with Step(self, "write"):
            from memory import write

            db = self._open_writing(durable=True)
            self._load_vectors()
            written = write.write(
                db,
                text,
                category=TASK_CATEGORY,
                tags=TASK_TAGS,
                source=source,
                session=session,
                now=self._now,
                vectors=self._vectors,
                config=self._config,
            )
            return str(written["id"])
        return None

    def note(self, events: Sequence[Event], *, recalled: Sequence[str] = ()) -> bool:
        """Append events, and count the memories that were handed to the agent; whether they are stored, or kept."""
        self._noted += events
        self._recalled += recalled
        return self._together or self.write_noted()

    @property
    def noted(self) -> list[Event]:
        """Events that are not stored yet."""
        return list(self._noted)

    def write_noted(self) -> bool:
        """Store what was noted, in one transaction; whether it is stored, and there was something."""
        if self.faults or not self._noted:
            return False
        with Step(self, "event"):
            from core.store import sqlite
            from otel import log

            db = self._open_writing(durable=False)
            with sqlite.transaction(db):
                log.append(db, self._noted, debug_limit=self._config.whole("otel.debug_limit"))
                if self._recalled:
                    from core.store import documents

                    documents.count_recall(db, self._recalled, self._now)
            self._noted, self._recalled = [], []
            return True
        return False

    def _open_writing(self, *, durable: bool) -> apsw.Connection:
        from core.store import sqlite

        if self._db is None:
            self._db = sqlite.open_writing(busy_ms=_BUSY_MS, durable=durable)
        else:
            sqlite.be_durable(self._db, durable, busy_ms=_BUSY_MS)
        return self._db

    def _load_vectors(self) -> None:
        if not self._vectors and self._db is not None:
            from core.store import sqlite

            self._vectors = sqlite.load_vectors(self._db)

    def happened(self, since: int) -> tuple[list[Event], list[tuple[str, str, str, str, int]]] | None:
        """What went wrong since a time (ms since the epoch), newest first, and how many events of each kind there were.

        None where it failed.
        """
        if self.faults:
            return None
        with Step(self, "events"):
            from core.store import events

            db, _ = self.reading()
            if db is None:
                return [], []
            asked: EventQuery = {
                "words": [], "levels": [], "sources": [], "components": [], "session": "", "system": "",
                "success": None, "since": since,
            }  # fmt: skip
            bad = events.newest(db, {**asked, "levels": ["warn", "error", "fatal"]}, _BAD_EVENTS)
            bad += events.newest(db, {**asked, "success": False}, _BAD_EVENTS)
            once = {event["id"]: event for event in bad}
            return sorted(once.values(), key=lambda event: -event["timestamp"]), events.tally(db, asked)
        return None


class Step:
    """`with Step(store, "recall"):` what fails is kept as a fault, and what comes after the block goes on.

    Anything may come out of a damaged file, and none of it may stop the session.
    """

    __slots__ = ("_name", "_store")

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if not isinstance(error, Exception):
            return False
        if not isinstance(error, Failure):
            from core.store.light_apsw import apsw

            if isinstance(error, apsw.Error):
                from core.store import sqlite

                error = sqlite.as_failure(error)
        code = error.code if isinstance(error, Failure) else type(error).__name__
        self._store.faults.append({"step": self._name, "code": code, "message": str(error)})
        return True


def errors_of(faults: Sequence[Fault]) -> dict[str, dict[str, str]]:
    """What the result tells of faults: `recallError`, `writeError`, `eventError`, `stateError`."""
    return {fault["step"] + "Error": {"code": fault["code"], "message": fault["message"]} for fault in faults}
