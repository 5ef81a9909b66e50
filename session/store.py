"""The embedded store as a session uses it: opened at the first need, and its faults kept instead of raised.

A store that is damaged, full or locked must not stop a checkpoint or an injection (DESIGN, "fail open"). What failed is
told in `faults`; after the first fault the store is left alone, so that a session ends within a second all the same.
"""

from __future__ import annotations

from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    import apsw

    from core.config import Config
    from core.store.interface import Event
    from recall.engine import Hit

    class Fault(TypedDict):
        """What could not be done with the store, and why."""

        step: str
        code: str
        message: str


_BUSY_MS = 400
_ASKED = 15
"""More than are kept, since the best are chosen from them (`session.selection`)."""
TASK_TAGS = ("compaction-extract", "session-task")
TASK_CATEGORY = "ops"


class Store:
    """One process's way to the store.

    Args:
        config: settings in force.
        now: ms since the epoch.
    """

    __slots__ = ("_config", "_db", "_now", "_vectors", "faults")

    def __init__(self, config: Config, now: int) -> None:
        self._config = config
        self._now = now
        self._db: apsw.Connection | None = None
        self._vectors = False
        self.faults: list[Fault] = []

    def recall(self, query: str, *, project: str = "", least: str = "inject.min_score") -> list[Hit] | None:
        """Memories for a query (lean) that score at least what the setting `least` says; None where it failed."""
        if self.faults:
            return None
        try:
            from core.store import sqlite
            from recall import engine

            if self._db is None:
                self._db = sqlite.open_reading()  # none yet is no fault: there is nothing to recall
            self._load_vectors()
            found = engine.recall(
                self._db,
                query,
                limit=_ASKED,
                min_score=self._config.number(least),
                budget="lean",
                project=project,
                now=self._now,
                vectors=self._vectors,
                config=self._config,
            )
        except Exception as error:
            self._fail("recall", error)
            return None
        return found["hits"]

    def write_task(self, text: str, *, source: str, session: str) -> str | None:
        """Store a session's task as a memory; returns its id, or None where it failed."""
        if self.faults:
            return None
        try:
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
        except Exception as error:
            self._fail("write", error)
            return None
        return str(written["id"])

    def note(self, events: Sequence[Event], *, recalled: Sequence[str] = ()) -> bool:
        """Append events, and count the memories that were handed to the agent; whether they are stored."""
        if self.faults or not events:
            return False
        try:
            from core.store import sqlite
            from otel import log

            db = self._open_writing(durable=False)
            with sqlite.transaction(db):
                log.append(db, events, debug_limit=self._config.whole("otel.debug_limit"))
                if recalled:
                    from core.store import documents

                    documents.count_recall(db, recalled, self._now)
        except Exception as error:
            self._fail("event", error)
            return False
        return True

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

    def _fail(self, step: str, error: Exception) -> None:
        """Keep the fault. Anything may come out of a damaged file, and none of it may stop the session."""
        if not isinstance(error, Failure):
            import apsw

            if isinstance(error, apsw.Error):
                from core.store import sqlite

                error = sqlite.as_failure(error)
        code = error.code if isinstance(error, Failure) else type(error).__name__
        self.faults.append({"step": step, "code": code, "message": str(error)})


def errors_of(faults: Sequence[Fault]) -> dict[str, dict[str, str]]:
    """What the result tells of faults: `recallError`, `writeError`, `eventError`, `stateError`."""
    return {fault["step"] + "Error": {"code": fault["code"], "message": fault["message"]} for fault in faults}
