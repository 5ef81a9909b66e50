"""The task of a session: recalled for in the warm zone, written to memory in the hot zone (ADR-0203, stages 1 and 2).

A write that is repeated after a kill replaces the memory that the session wrote before. Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from session.reactions import Reaction
from session.record import record_recall, record_task_memory
from session.session import TASK_TAGS

if TYPE_CHECKING:
    from typing import Any

    import apsw

    from clients.event import HookEvent
    from session.session import Session, TaskPlan


def react(event: HookEvent, session: Session) -> Reaction:  # noqa: ARG001  # as every reaction
    """Do what `session.plan` calls for; `about` has `hits` and `memoryId`, None if not done."""
    plan, state = session.plan, session.state
    if plan is None:
        return Reaction()
    hits = memory_id = None
    if plan.must_recall:
        found = session.store.recall(plan.query, session.project, everywhere=state.is_gateway)
        if found is not None:
            from session.reactions.injection import select

            memories = select(found, state)
            hits = len(memories)
            record_recall(state, plan, memories, session.now)
    if plan.must_write:
        memory_id = session.store.attempt("write", lambda db: _write(db, session), None, durable=True)
        if memory_id is not None:
            record_task_memory(state, memory_id)
    _queue_events(session, plan, hits, memory_id)
    return Reaction(about={"hits": hits, "memoryId": memory_id})


def _write(db: apsw.Connection, session: Session) -> str | None:
    """Write the task over the last of the session's task memories; returns the id."""
    from memory.write import Draft, write_task

    state, files = session.state, ", ".join(reversed(session.state.files_modified))
    draft = Draft(
        f"Task: {state.task} | Files: {files}" if files else f"Task: {state.task}", category="ops",
        tags=TASK_TAGS, source=state.role, session=session.id, project=session.project,
    )  # fmt: skip
    return write_task(db, draft, state.task_memory_ids, now=session.now, vectors=session.store.has_vectors)


def _queue_events(session: Session, plan: TaskPlan, hits: int | None, memory_id: str | None) -> None:
    state, written = session.state, memory_id is not None
    percent = session.usage["percent"] if session.usage is not None else None
    totals = {"recallHits": len(state.recalled_memories), "filesCount": len(state.files_modified)}
    events: list[tuple[str, dict[str, Any]]] = []
    if hits is not None:
        query = {} if session.is_excluded(state.cwd) else {"query": plan.query}  # the user said it
        events.append(("task.recalled", {**query, "returned": hits, "written": written}))
    if "warm" in plan.entered:
        events.append(("compaction.extract.warm", {"percent": percent}))
    if plan.zone == "hot" and not plan.is_flush and ("hot" in plan.entered or written):
        events.append(("compaction.extract.hot", {"percent": percent, **totals}))
    if plan.is_flush:
        last, now = state.last_compaction_at, session.now
        about = {**state.compaction_metadata, "contextPercent": state.percent, **totals}
        before = {
            "contextTokens": state.context_tokens,
            "contextLimit": state.context_limit,
            "recallCacheSize": len(state.recall_cache),
            "userMessageCount": state.counts["userMessages"],
            "timeSinceLastCompactionMs": None if last is None else max(0, now - last),
            "timeSinceSessionStartMs": max(0, now - state.started_at),
        }
        done = {
            "queriesCount": len(state.recall_queries),
            "taskChars": len(state.task),
            "written": written,
            "memoryId": memory_id,
        }
        events += [("compaction.before", about | before), ("compaction.checkpoint", about | done)]
    for name, about in events:
        session.queue_event(session.event(state.compaction_event(name), about))
