"""Recalls from the command line: each leaves events, and its hits are counted as recalled. Hot path."""

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
    from core.records import Event
    from recall.query import Query

COMPONENT = "recall-cli"


class RecordedRecall:
    """A connection for one or many recalls, and their events that are not stored yet."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._db = sqlite.open_reading()
        self._vectors = self._db is not None and sqlite.load_vectors(self._db)
        self._events: list[Event] = []
        self._recalled: list[str] = []

    def session_meant(self, given: str) -> str:
        """The id of a session by its beginning, "" if it is unknown. Raises Failure: SESSION_AMBIGUOUS."""
        if not given or self._db is None:
            return ""
        from core.store import sessions

        return sessions.whole_id(self._db, given)

    def preferred(self, folder: str) -> str:
        """The project whose hits come first in a folder: its repository, or a known project of its name; else ""."""
        found = project.repository_of(folder)
        named = project.name_of(folder)
        if found or self._db is None or not named:
            return found
        if any(project.same(named, known) for known in documents.projects(self._db)):
            return named
        from core.store import sessions

        return named if any(project.same(named, known) for known in sessions.projects(self._db)) else ""

    def ask(self, query: Query, *, now: int) -> dict[str, Any]:
        """Recall, and leave events; a failure leaves an event, too."""
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
        if len(self._events) >= 500:
            self.save()
        return result

    def save(self, *, counting: bool = False) -> None:
        """Put the events into the spool, or into the store if it is full; `counting` counts the hits as recalled."""
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
