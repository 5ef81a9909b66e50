"""`checkpoint save` and `flush`: what a hook does at the end of a turn and before a compaction. Hot path."""

from __future__ import annotations

import time

from core import TYPE_CHECKING
from session import reactions
from session.record import record, usage_of
from session.session import Session, TaskPlan, errors_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clients.event import HookEvent
    from core.config import Config


def save(event: HookEvent, config: Config, *, role: str = "") -> dict[str, Any]:
    """Record the end of a turn, or what a compaction ends, and do what its zone calls for; returns the result.

    Raises Failure if the state cannot be used.
    """
    began = time.perf_counter()
    session = Session(event["session"], config, role=role)
    if session.is_off(""):
        session.plan = TaskPlan("unknown", [], "", reactions.OFF, reactions.OFF, is_flush=False)
        return _result(session, {}, began)
    with session:
        session.usage = usage_of(event)
        record(event, session)
        session.save()
        done = reactions.run("task", event, session)
        if event["kind"] == "before_compaction":
            reactions.run("daily_log", event, session)
        session.save()
    if session.has_unspooled_events:
        session.store_events()
    return _result(session, done.about, began)


def _result(session: Session, done: Mapping[str, Any], began: float) -> dict[str, Any]:
    """What the command prints; `done` is what the reaction `task` says."""
    state, plan, usage = session.state, session.plan, session.usage
    if plan is None:
        raise ValueError("nothing was recorded")
    hits, memory_id = done.get("hits"), done.get("memoryId")
    result: dict[str, Any] = {
        "sessionId": session.id,
        "role": state.role,
        "zone": plan.zone,
        "percent": usage["percent"] if usage is not None else None,
        "entered": plan.entered,
        "recalled": hits is not None,
        "recallReason": reactions.FAILED if plan.must_recall and hits is None else plan.recall_reason,
        "recallQuery": plan.query,
        "hits": hits or 0,
        "cachedHits": len(state.recalled_memories),
        "written": memory_id is not None,
        "writeReason": reactions.FAILED if plan.must_write and memory_id is None else plan.write_reason,
        "memoryId": memory_id,
        "currentTask": state.task,
        "filesModified": state.files_modified,
        "taskHash": state.task_hash,
        "compactionCount": state.compaction_count,
        **errors_of(session.faults),
    }
    if session.set_aside:
        result["setAside"] = session.set_aside
    return {**result, "ms": round((time.perf_counter() - began) * 1000, 2)}
