"""Recalls of the command line: events tell of each, and what was returned is counted as recalled. Hot path."""

from __future__ import annotations

import time

from core import TYPE_CHECKING, clock, project
from core.errors import Failure
from core.store import documents, sqlite
from otel import log
from otel.event import new_event, query_excerpt
from recall import engine

if TYPE_CHECKING:
    from typing import Any

    from core.config import Config
    from core.records import Event, RecallResult
    from recall.query import Query

COMPONENT = "recall-cli"  # of the events of recalls
_SAVED_TOGETHER = 500


class RecordedRecall:
    """One connection for one or many recalls, and the events of them that are not stored yet."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._db = sqlite.open_reading()
        self._vectors = self._db is not None and sqlite.load_vectors(self._db)
        self._events: list[Event] = []
        self._recalled: list[str] = []

    def session_meant(self, given: str) -> str:
        """The session that a beginning of its id means (Failure: SESSION_AMBIGUOUS); "" where none is known."""
        if not given or self._db is None:
            return ""
        from core.store import sessions

        return sessions.whole_id(self._db, given)

    def preferred(self, folder: str) -> str:
        """The project whose hits go first for who asks in a folder, or "": that of its repository; of a folder in none
        the one of its name, where a memory or a session names that."""
        found = project.repository_of(folder)
        named = project.name_of(folder)
        if found or self._db is None or not named:
            return found
        if any(project.same(named, one) for one in documents.projects(self._db)):
            return named
        from core.store import sessions

        return named if any(project.same(named, one) for one in sessions.projects(self._db)) else ""

    def ask(self, query: Query, *, now: int) -> RecallResult:
        """One recall; events tell of it, and of its failure."""
        began = time.perf_counter()
        about: dict[str, Any] = {"query": query_excerpt(query.text), "budget": query.budget, "limit": query.limit}
        self._add("started", now, about, level="debug")
        try:
            result = engine.recall(self._db, query, now=now, vectors=self._vectors, config=self._config)
        except sqlite.StoreError as error:
            failure = sqlite.as_failure(error)
            about = {**about, "code": failure.code}
            self._add("failed", clock.now_ms(), about, level="error", success=False, error=failure.message)
            self.save()
            raise failure from None
        self._recalled += [hit["id"] for hit in result["hits"]]
        took = round((time.perf_counter() - began) * 1000, 2)
        done = {
            **about, "budget": result["budget"]["applied"], "found": result["found"], "returned": result["count"],
            "dropped": result["droppedByTrustPass"], "backend": result["backend"],
            "rewrite": result["rewrite"]["strategy"], "semantic": result["semantic"],
        }  # fmt: skip
        if "fallback" in result:
            done["fallback"] = result["fallback"]["code"]
        self._add("completed", clock.now_ms(), done, duration_ms=took)
        if len(self._events) >= _SAVED_TOGETHER:
            self.save()
        return result

    def save(self, *, counting: bool = False) -> None:
        """Leave the events in the spool, and store them where that is full; `counting`: note the recalls."""
        if not log.spool(self._events):
            log.store_spooled(self._events)
        self._events.clear()
        if counting and self._recalled and self._db is not None:
            try:
                sqlite.set_durability(self._db, False, busy_ms=log.BUSY_MS)
                with sqlite.transaction(self._db):
                    documents.count_recall(self._db, self._recalled, clock.now_ms())
            except Failure:  # the answer is there all the same
                pass

    def _add(self, action: str, now: int, about: dict[str, Any], **more: Any) -> None:
        self._events.append(new_event(f"memory.recall.{action}", component=COMPONENT, metadata=about, now=now, **more))
