"""What injections and checkpoints ask of the store: memories, the work of sessions, priorities."""

from __future__ import annotations

from core.project import own_names
from session.faults import fault_boundary
from session.store_access import StoreAccess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypedDict

    import apsw

    from core.records import Hit, Name, Session

    class Work(TypedDict):
        """A session, its last prompts, oldest first, and the names in it where it is the one to go on from."""

        session: Session
        names: list[Name]
        prompts: list[str]

    Outcome = Literal["echo", "fizzle"]
    Verdict = tuple[str, Outcome, int]
    """A memory's id, what became of it, and how many of its words the agent said."""

_CLUSTER_MS = 500
"""A hook waits no longer for a cluster; the local file answers then."""
_ASKED = 15
"""More than are kept, since the best are chosen from them (`session.inject.selection`)."""
_LAST_SESSIONS, _TALKS = 5, 3
_PROMPTS = 12
"""Of each session."""
TASK_TAGS = ("compaction-extract", "session-task")
TASK_CATEGORY = "ops"
_FEEDBACK = "memory-feedback"
"""The component of the events about use."""


class SessionStore(StoreAccess):
    """One process's way to the store, with what injections and checkpoints ask of it."""

    def recall(
        self,
        query: str,
        *,
        project: str = "",
        everywhere: bool = False,
        least: str = "inject.min_score",
        strictly: bool = False,
    ) -> list[Hit] | None:
        """Memories for a query (lean) that score at least what the setting `least` says; None where it failed.

        Args:
            project: its memories and what is global; "" for what is global alone.
            everywhere: those of all projects instead.
            strictly: only the project's own, none that are global. So it is too where a project that is not trusted
                chose the least score.
        """
        if self.faults:
            return None
        strictly = strictly or least in self._config.foreign
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

    def left(self, project: str, folder: str, *, without: str, first: str = "") -> list[Work]:
        """What the last sessions of a project did, and what was said in the last of the folder that only talked.

        Those of the folder come first, the newest before the others: worktrees are worked on side by side.

        Args:
            folder: the top of the working tree.
            without: the session that asks.
            first: the session to go on from, where it is known.
        """

        def read(db: apsw.Connection) -> list[Work]:
            from core.store.sessions import name_rows, session_rows

            own = own_names(project, session_rows.projects(db))
            worked = session_rows.sessions_of_project(db, own, _LAST_SESSIONS + 1)
            talks = session_rows.sessions_of_project(db, own, _TALKS + 1, talks_in=folder)
            last = [one for one in worked if one["id"] != without][:_LAST_SESSIONS]
            last += [one for one in talks if one["id"] != without][:_TALKS]
            last.sort(key=lambda one: (one["id"] != first, one["folder"] != folder, -one["updated_at"]))
            first_worked = next((one["id"] for one in last if one["calls"]), "")
            return [
                {
                    "session": one,
                    "names": name_rows.names(db, one["id"]) if one["id"] == first_worked else [],
                    "prompts": session_rows.prompts(db, one["id"], _PROMPTS),
                }
                for one in last
            ]

        return self._attempt("work", read, []) if project else []

    def write_task(
        self, text: str, *, source: str, session: str, project: str, known: Sequence[str] = ()
    ) -> str | None:
        """Write a session's task into its memory; returns the id, None where it failed.

        Args:
            known: ids of the session's task memories, the newest last.
        """

        def write(db: apsw.Connection) -> str | None:
            from memory import session_task

            return session_task.write(
                db, text, category=TASK_CATEGORY, tags=TASK_TAGS, source=source, session=session, project=project,
                known=known, now=self._now, vectors=self._vectors, config=self._config,
            )  # fmt: skip

        return self._attempt("write", write, None, durable=True)

    def move_priorities(self, verdicts: Sequence[Verdict], *, role: str, session: str) -> None:
        """Move the priorities of judged memories, with `memory.echo` and `memory.fizzle`, all or nothing.

        A memory that was forgotten or is gone is passed over.
        """

        def write(db: apsw.Connection) -> None:
            from core.store import documents, sqlite
            from otel import log
            from session import session_event

            events = []
            with sqlite.transaction(db):
                for identifier, outcome, matched in verdicts:
                    priority = documents.move_priority(db, identifier, used=outcome == "echo", at=self._now)
                    if priority is not None:
                        about = {"memoryId": identifier, "termsMatched": matched, "priority": priority}
                        name = f"memory.{outcome}"
                        events.append(session_event.event(name, role, session, about, self._now, component=_FEEDBACK))
                log.append(db, events, debug_limit=self._config.get_int("otel.debug_limit"))

        if verdicts:
            self._attempt("feedback", write, None, durable=False)
