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
    from typing import Literal, TypeVar

    import apsw

    from clients.event import Item
    from core.config import Config
    from core.records import Event, Hit, Session
    from session.records import Fault

    Made = TypeVar("Made")

    Outcome = Literal["echo", "fizzle"]
    Verdict = tuple[str, Outcome, int]
    """A memory's id, what became of it, and how many of its words the agent said."""

_BUSY_MS = 400
_CLUSTER_MS = 500
"""A hook waits no longer for a cluster; the local file answers then."""
_ASKED = 15
"""More than are kept, since the best are chosen from them (`session.inject.selection`)."""
_LAST_SESSIONS, _TALKS = 5, 3
TASK_TAGS = ("compaction-extract", "session-task")
TASK_CATEGORY = "ops"
_FEEDBACK = "memory-feedback"
"""The component of the events about use."""


class SessionStore:
    """One process's way to the store; while `faults` holds anything, nothing is asked of it."""

    def __init__(self, config: Config, now: int, faults: list[Fault] | None = None) -> None:
        self._config = config
        self._now = now
        self._db: apsw.Connection | None = None
        self._vectors = False
        self.faults: list[Fault] = [] if faults is None else faults

    def archive(self, path: str, *, agent: str, session: str, cwd: str, until: float, least: int) -> list[Item]:
        """Store what a transcript has that is new; returns what was said, [] where it failed or there is none."""

        def write(db: apsw.Connection) -> list[Item]:
            from memory.archive import ingest

            return ingest.ingest_file(
                db, path, agent=agent, session=session, cwd=cwd, now=self._now, vectors=self._vectors, until=until,
                least=least,
            ).items  # fmt: skip

        return self._attempt("archive", write, [], durable=False) if os.path.isfile(path) else []

    def archive_items(self, items: Sequence[Item], *, agent: str, session: str, cwd: str) -> None:
        """Store what was said in a client that has no transcript file."""
        from memory.archive import ingest

        about = {"agent": agent, "session": session, "cwd": cwd}
        self._attempt(
            "archive", lambda db: ingest.ingest_items(db, items, **about, now=self._now, vectors=self._vectors), None,
            durable=False,
        )  # fmt: skip

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

    def recall(
        self, query: str, *, project: str = "", everywhere: bool = False, least: str = "inject.min_score",
        strictly: bool = False,
    ) -> list[Hit] | None:  # fmt: skip
        """Memories for a query (lean) that score at least what the setting `least` says; None where it failed."""
        if self.faults:
            return None
        if strictly and not project:
            return []
        with fault_boundary(self.faults, "recall"):
            from recall import engine
            from recall.query import Query

            db, vectors = self.reading()
            asked = Query(
                query, limit=_ASKED, min_score=self._config.get_float(least), budget="lean", project=project,
                strictly=strictly, apart=not everywhere,
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

        return bool(names) and self._attempt("recall", lambda db: document_rows.has_phrase(db, names), False)

    def changed(self, identifiers: Sequence[str], since: int) -> set[str]:
        """Those of these memories that were written or changed since a time."""
        from core.store import document_rows

        return self._attempt("recall", lambda db: document_rows.changed(db, identifiers, since), set())

    def left(self, project: str, folder: str, *, without: str, first: str = "") -> list[Session]:
        """The last sessions of a project, and of the folder the last that only talked, `first` first."""

        def read(db: apsw.Connection) -> list[Session]:
            from core.project import own_names
            from core.store.sessions import session_rows

            own = own_names(project, session_rows.projects(db))
            worked = session_rows.sessions_of_project(db, own, _LAST_SESSIONS + 1)
            talks = session_rows.sessions_of_project(db, own, _TALKS + 1, talks_in=folder)
            last = [one for one in worked if one["id"] != without][:_LAST_SESSIONS]
            last += [one for one in talks if one["id"] != without][:_TALKS]
            return sorted(last, key=lambda one: (one["id"] != first, one["folder"] != folder, -one["updated_at"]))

        return self._attempt("work", read, []) if project else []

    def write_task(
        self, text: str, *, source: str, session: str, project: str, known: Sequence[str] = ()
    ) -> str | None:
        """Write a session's task over the last of its task memories `known`; returns the id, None where it failed."""

        def write(db: apsw.Connection) -> str | None:
            from memory import session_task

            return session_task.write(
                db, text, category=TASK_CATEGORY, tags=TASK_TAGS, source=source, session=session, project=project,
                known=known, now=self._now, vectors=self._vectors, config=self._config,
            )  # fmt: skip

        return self._attempt("write", write, None, durable=True)

    def move_priorities(self, verdicts: Sequence[Verdict], *, role: str, session: str) -> None:
        """Move the priorities of judged memories, with `memory.echo` and `memory.fizzle`, all or nothing."""

        def write(db: apsw.Connection) -> None:
            from core.store import document_rows, sqlite
            from otel import log
            from session import session_event

            events = []
            with sqlite.transaction(db):
                for identifier, outcome, matched in verdicts:
                    priority = document_rows.move_priority(db, identifier, used=outcome == "echo", at=self._now)
                    if priority is not None:
                        about = {"memoryId": identifier, "termsMatched": matched, "priority": priority}
                        name = f"memory.{outcome}"
                        events.append(session_event.event(name, role, session, about, self._now, component=_FEEDBACK))
                log.append(db, events, debug_limit=self._config.get_int("otel.debug_limit"))

        if verdicts:
            self._attempt("feedback", write, None, durable=False)

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
        """What `work` makes of the store; `otherwise` where that failed, or there is no store."""
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
