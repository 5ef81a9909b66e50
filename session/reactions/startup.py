"""What a new session is given, once: what the project's last sessions left, and memories. Hot path."""

from __future__ import annotations

import time

from core import TYPE_CHECKING
from core.project import folder_of
from core.quoting import enclose
from core.store import sessions as stored_sessions
from session.reactions import ALREADY, FAILED, NO_RESULTS, Reaction
from session.reactions.injection import Injection, fit, give, select
from session.session import fault_boundary

if TYPE_CHECKING:
    from typing import Any

    from clients.event import HookEvent
    from session.session import Session

GATEWAY_QUERY = "gateway daemon telegram redis session routing compaction"
MIN_SCORE = 0.1  # the query is broad: a good memory matches few of its words


def react(event: HookEvent, session: Session, *, query: str = "", project: str = "") -> Reaction:
    """The text for a session that starts; `query` and `project` replace those of the settings and of the folder."""
    began, state = time.perf_counter(), session.state
    query = query or (GATEWAY_QUERY if state.is_gateway else session.config.get_str("inject.query"))
    about: dict[str, Any] = {"query": query}
    if "memory-recall" in state.injected_kinds:
        return Reaction(ALREADY, about=about)
    project = project or session.project_in(event["cwd"])
    hits = session.store.recall(query, project, everywhere=state.is_gateway and not project, min_score=MIN_SCORE)
    if hits is None:
        return Reaction(FAILED, about=about)
    folder = folder_of(session.folder(event["cwd"]))
    left: list[str] = []
    with fault_boundary(session.faults, "work"):
        db = session.store.reading()
        sessions = stored_sessions.last_of_project(db, project, folder, without=session.id) if db is not None else []
        if db is not None and sessions:
            from session.notes.left_work import lines_left

            left = lines_left(db, sessions, folder, session.now)
    state.updated_at, session.must_save = session.now, True
    above = ["## Where This Project Was Left", *left] if left else []
    content, shown = fit(
        "memory-recall", [*above, "## Relevant Memory (auto-retrieved)"], select(hits, state),
        mark="{number}. [{category}] ", most=3, max_tokens=400,
    )  # fmt: skip
    if not (content or left):
        return Reaction(NO_RESULTS, about=about)
    state.injected_kinds = {**state.injected_kinds, "memory-recall": session.now}
    about |= {"result_count": len(shown), "left": len(left)}
    content = content or enclose("memory-recall", above)
    injection = Injection("memory-recall", content, shown, "memory.recall.injected", about)
    injection.component, injection.query = "memory-enforcer", query
    return give(injection, session, began)
