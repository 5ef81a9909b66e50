"""Checkpoints outside of a hook: `checkpoint save` and `flush`, and the task job that a hook leaves its work to.

Nothing of that work is for the hook's answer, and the agent waits for that.
"""

from __future__ import annotations

import time

from session import session_event
from session.checkpoint import Checkpoint
from session.context import Context, work_lock
from session.faults import errors_of, fault_boundary
from session.state import state_file
from session.step import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.config import Config
    from session.records import SessionState, Turn

_STOP_S = 5


def save(session_id: str, turn: Turn, config: Config, *, flush: bool = False) -> dict[str, Any]:
    """Write down the end of a turn and do what its zone calls for; the result tells what was done.

    Args:
        flush: a compaction comes next: also its events.
    """
    return _run(Checkpoint(Context(session_id, config, role=turn["role"]), turn, flush=flush))


def catch_up(context: Context, *, holds_lock: bool = False) -> dict[str, Any]:
    """Do what a hook has left to do for the task, by the context usage that it wrote down.

    Args:
        holds_lock: this process was started with the lock of that work.
    """
    if context.previous is None and not state_file.exists(context.session_id):
        raise state_file.unknown_session(context.session_id)
    step = Checkpoint(context, None)
    step.takes_lock = not holds_lock
    return _run(step)


def begin_task_job(context: Context) -> None:
    """Start a process that catches up, since the agent waits for this one; where none can be started, do it here."""
    from core.process import background_process

    with fault_boundary(context.faults, Checkpoint.name):
        lock = work_lock(context.session_id, Checkpoint.name)
        if not background_process.begin(lock, ["background", "task", context.session_id], _STOP_S):
            context.read_previous()  # this event has written
            catch_up(context)


def task_job(context: Context, *, holds_lock: bool) -> dict[str, Any]:
    """What the process does; a fault of the store becomes an event, since nobody reads what it prints."""
    from otel import spool

    result = catch_up(context, holds_lock=holds_lock)
    for fault in context.faults[:1]:
        role = str(result["role"])
        event = session_event.event("checkpoint.degraded", role, context.session_id, fault, context.now, level="warn")
        spool.keep([event])
    return result


def _run(step: Checkpoint) -> dict[str, Any]:
    began = time.perf_counter()
    state = run(step.context, (step,))
    return {**_result(step, state), "ms": round((time.perf_counter() - began) * 1000, 2)}


def _result(step: Checkpoint, state: SessionState) -> dict[str, Any]:
    context, plan, checkpoint = step.context, step.plan, state["checkpoint"]
    recalled, written = step.hits is not None, step.memory_id is not None
    undone = "in-flight" if step.is_busy_elsewhere else "failed"
    result: dict[str, Any] = {
        "sessionId": state["sessionId"],
        "role": state["role"],
        "zone": plan["zone"],
        "percent": step.turn["percent"] if step.turn else checkpoint["contextPercentAtCapture"],
        "entered": plan["entered"],
        "recalled": recalled,
        "recallReason": undone if plan["recall"] and not recalled else plan["recallReason"],
        "recallQuery": plan["query"],
        "hits": step.hits or 0,
        "cachedHits": len(checkpoint["recallHits"]),
        "written": written,
        "writeReason": undone if plan["write"] and not written else plan["writeReason"],
        "memoryId": step.memory_id,
        "currentTask": checkpoint["currentTask"],
        "filesModified": checkpoint["filesModified"],
        "taskHash": state["taskHash"],
        "compactionCount": checkpoint["compactionCount"],
        **errors_of(context.faults),
    }
    if context.set_aside:
        result["setAside"] = context.set_aside
    return result
