"""What a new session is given, once: what the project's last one left, the checks that work, memories."""

from __future__ import annotations

from core import TYPE_CHECKING
from core.project import folder_of
from core.quoting import enclose
from core.store.sessions.session_rows import last_of_project
from session.faults import fault_boundary
from session.inject.runner import ALREADY, Decision
from session.inject.selection import fit, select
from session.state.state_file import GATEWAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Hit
    from session.inject.runner import Situation
    from session.records import SessionState, Text

NAME = "startup"
MIN_SCORE = 0.1  # the query is broad: a good memory matches few of its words
CUSTOM_TYPE = "memory-recall"
GATEWAY_QUERY = "gateway daemon telegram redis session routing compaction"
HEADING = "## Relevant Memory (auto-retrieved)"
LEFT_HEADING = "## Where This Project Was Left"
MAX_MEMORIES, MAX_TOKENS = 3, 400


def due(state: SessionState, situation: Situation) -> Decision:
    """Once a session, with the query that was asked for, else that of the role."""
    by_role = GATEWAY_QUERY if state["role"] == GATEWAY else situation.context.config.get_str("inject.query")
    query = situation.query or by_role
    reason = ALREADY if CUSTOM_TYPE in state["injectedKinds"] else ""
    return Decision(reason, query=query, about={"query": query})


def compose(state: SessionState, situation: Situation, decision: Decision, hits: Sequence[Hit]) -> Text | None:
    """What the project's last session left, and memories; None without either."""
    context, project = situation.context, situation.project_of(state)
    folder = folder_of(context.directory(state, situation.cwd))
    left: list[str] = []
    db, _ = context.store.reading()
    with fault_boundary(context.faults, "work"):
        sessions = last_of_project(db, project, folder, without=state["sessionId"]) if db is not None else []
        if db is not None and sessions:
            from session.inject.open_work import left_of

            left = left_of(db, sessions, folder, context.now)
    above = [LEFT_HEADING, *left] if left else []
    content, shown = fit(
        CUSTOM_TYPE, [*above, HEADING], select(hits, state),
        mark="{number}. [{category}] ", most=MAX_MEMORIES, max_tokens=MAX_TOKENS,
    )  # fmt: skip
    if not (content or left):
        return None
    return {
        "content": content or enclose(CUSTOM_TYPE, above), "memories": shown, "customType": CUSTOM_TYPE,
        "event": "memory.recall.injected", "component": "memory-enforcer",
        "about": {"result_count": len(shown), "left": len(left)},
    }  # fmt: skip


def apply(state: SessionState, situation: Situation, decision: Decision, text: Text | None) -> SessionState:
    """That it was given; where nothing was found it may be tried again."""
    now = situation.context.now
    kinds = state["injectedKinds"] if text is None else {**state["injectedKinds"], CUSTOM_TYPE: now}
    return {**state, "injectedKinds": kinds, "updatedAt": now}
