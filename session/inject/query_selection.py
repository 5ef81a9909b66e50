"""The queries of the signpost, chosen from the session's archive before a compaction (`recovery_queries`), as a step.

`checkpoint flush` chooses them before it answers. A hook, for which the agent waits, starts a background process; the
compaction takes the model seconds, and recovery waits for that process if need be.
"""

from __future__ import annotations

import os

from session.context import Context, work_lock
from session.faults import errors_of
from session.inject import recovery_queries
from session.state import schema, state_file
from session.step import Step, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from session.state.schema import Recalled, SessionState

BACKGROUND_CPU_SECONDS = 0.2
"""Where nobody waits."""
_STOP_S = 2
_WAIT_S = 1.0
_LOCK = "queries"


class QuerySelection(Step):
    """Replaces the recall cache by the queries that bring back what this compaction drops, where there are any."""

    name = _LOCK

    def __init__(self, context: Context, *, cpu_seconds: float = recovery_queries.CPU_SECONDS) -> None:
        self._context = context
        self._cpu_seconds = cpu_seconds
        self._chosen: list[Recalled] = []

    def is_due(self, state: SessionState) -> bool:  # noqa: ARG002  # always
        """A step of this kind is only made where it is due."""
        return True

    def work(self, state: SessionState) -> None:
        """Try queries against the archive."""
        context = self._context
        self._chosen = recovery_queries.queries(
            context.store,
            state,
            context.config,
            project=context.project_of(state),
            everywhere=context.serves_all(state),
            cpu_seconds=self._cpu_seconds,
        )

    def apply(self, state: SessionState) -> SessionState:
        """The state with the chosen queries and what they bring back."""
        return schema.bounded({**state, "recallCache": self._chosen}) if self._chosen else state


def begin(session_id: str) -> bool:
    """Choose them in a background process; whether that runs."""
    from core.process import background_process

    return background_process.begin(work_lock(session_id, _LOCK), ["background", "queries", session_id], _STOP_S)


def run_in_background(context: Context, *, holds_lock: bool) -> dict[str, Any]:
    """What that process does.

    Raises:
        Failure: SESSION_NOT_FOUND; else as `checkpoint.save`.
    """
    if context.previous is None:
        raise state_file.unknown_session(context.session_id)
    step = QuerySelection(context, cpu_seconds=BACKGROUND_CPU_SECONDS)
    step.takes_lock = not holds_lock
    state = run(context, (step,))
    queries = [recalled["query"] for recalled in state["recallCache"][::-1]]
    return {"sessionId": context.session_id, "queries": queries, **errors_of(context.faults)}


def wait(session_id: str) -> None:
    """Wait for that process, at most one second: what it has not found by then is told without it."""
    lock = work_lock(session_id, _LOCK)
    if os.path.exists(lock):
        from core.process import background_process

        background_process.wait(lock, _WAIT_S)
