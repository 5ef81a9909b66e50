"""The embedded store as a session uses it: opened at the first need, its faults kept instead of raised. Hot path.

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
    from core.records import Hit
    from session.records import Fault

    Made = TypeVar("Made")

_BUSY_MS = 400
_CLUSTER_MS = 500
"""A hook waits no longer for a cluster; the local file answers then."""
_ASKED = 15
"""More than are kept, since the best are chosen from them (`session.inject.selection`)."""
_KEPT = ("observations", "knowledge")
TASK_TAGS = ("compaction-extract", "session-task")


class SessionStore:
    """One process's way to the store; while `faults` holds anything, nothing is asked of it."""

    def __init__(self, config: Config, now: int, faults: list[Fault] | None = None) -> None:
        self._config = config
        self._now = now
        self.db: apsw.Connection | None = None  # until it is needed
        self.has_vectors = False
        self.faults: list[Fault] = [] if faults is None else faults

    def archive(self, path: str, *, agent: str, session: str, cwd: str, until: float, least: int) -> list[Item]:
        """Store what a transcript has that is new; returns what was said, [] where it failed or there is none."""

        def write(db: apsw.Connection) -> list[Item]:
            from memory.archive import ingest

            return ingest.ingest_file(
                db, path, agent=agent, session=session, cwd=cwd, now=self._now, vectors=self.has_vectors, until=until,
                least=least,
            ).items  # fmt: skip

        return self.attempt("archive", write, [], durable=False) if os.path.isfile(path) else []

    def archive_items(self, items: Sequence[Item], *, agent: str, session: str, cwd: str) -> None:
        """Store what was said in a client that has no transcript file."""
        from memory.archive import ingest

        def write(db: apsw.Connection) -> None:
            ingest.ingest_items(
                db, items, agent=agent, session=session, cwd=cwd, now=self._now, vectors=self.has_vectors
            )

        self.attempt("archive", write, None, durable=False)

    def recall(
        self, query: str, *, project: str = "", everywhere: bool = False, min_score: float | None = None,
        turns: bool = False,
    ) -> list[Hit] | None:  # fmt: skip
        """Memories for a query (lean) that score at least `min_score` (default: `inject.min_score`); None if it failed.

        With `turns` also what was said in sessions, of which there is a hundred times as much, and which no injection
        tells (`session.inject.selection`)."""
        if self.faults:
            return None
        with fault_boundary(self.faults, "recall"):
            from recall import engine
            from recall.query import Query

            db, vectors = self.reading()
            least = self._config.get_float("inject.min_score") if min_score is None else min_score
            asked = Query(
                query, limit=_ASKED, min_score=least, budget="lean", project=project,
                apart=not everywhere, collections=() if turns else _KEPT,
            )  # fmt: skip
            found = engine.recall(
                db, asked, now=self._now, vectors=vectors, config=self._config, patience_ms=_CLUSTER_MS
            )
            # of a task without a project it is not known whose words it holds
            task = TASK_TAGS[1]
            return [hit for hit in found["hits"] if everywhere or hit["project"] or task not in hit["tags"]]
        return None

    def names(self, names: Sequence[str]) -> bool:
        """Whether a memory that somebody wrote names one of these: without one there is nothing to recall for them."""
        from core.store import document_rows

        return bool(names) and self.attempt("recall", lambda db: document_rows.has_phrase(db, names), False)

    def reading(self) -> tuple[apsw.Connection | None, bool]:
        """The store to read from and whether it has vectors; None where there is none yet, which is no fault."""
        from core.store import sqlite

        if self.db is None:
            self.db = sqlite.open_reading()
        if not self.has_vectors and self.db is not None:
            self.has_vectors = sqlite.load_vectors(self.db)
        return self.db, self.has_vectors

    def attempt(
        self, step: str, work: Callable[[apsw.Connection], Made], otherwise: Made, *, durable: bool | None = None
    ) -> Made:
        """What `work` makes of the store; `otherwise` where that failed, or there is no store."""
        if self.faults:
            return otherwise
        with fault_boundary(self.faults, step):
            if durable is not None:
                from core.store import sqlite

                if self.db is None:
                    self.db = sqlite.open_writing(busy_ms=_BUSY_MS, durable=durable)
                else:
                    sqlite.be_durable(self.db, durable, busy_ms=_BUSY_MS)
            db, _ = self.reading()
            if db is not None:
                return work(db)
        return otherwise
