"""Checkpoints outside of a hook: `checkpoint save`, `flush`, the task job, and the list of all sessions."""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING, files
from session.checkpoint import Checkpoint
from session.faults import errors_of, fault_boundary
from session.session_store import TASK_TAGS
from session.state import rules, state_file
from session.step import Context, run, work_lock

if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.config import Config
    from session.records import SessionState

TASK_CATEGORY = "ops"


class WorkingCheckpoint(Checkpoint):
    """One that recalls for its task, and writes it to memory, where its zone calls for that."""

    is_busy_elsewhere = False

    def is_due(self, state: SessionState) -> bool:  # noqa: ARG002  # `change` has planned by it
        """Whether there is something to do."""
        return self.has_work

    def is_busy(self) -> None:
        """Another process recalls for this task, or writes it."""
        self.is_busy_elsewhere = True

    def work(self, state: SessionState) -> None:
        """Recall for the task, and write it to memory."""
        plan, context = self.plan, self.context
        project = context.project_of(state)
        if plan["recall"]:
            found = context.store.recall(plan["query"], project=project, everywhere=context.serves_all(state))
            if found is not None:
                from session.inject.selection import select

                self.hits = select(found, state)
        if plan["write"]:
            self.memory_id = context.store.attempt(
                "write", lambda db: self._write_task(db, state, project), None, durable=True
            )

    def _write_task(self, db: apsw.Connection, state: SessionState, project: str) -> str | None:
        """Write the task over the last of the session's task memories; returns the id."""
        from memory.write import Draft, write_task

        task, files = state["checkpoint"]["currentTask"], state["checkpoint"]["filesModified"][::-1]
        text = f"Task: {task} | Files: {', '.join(files)}" if files else f"Task: {task}"
        about = {"category": TASK_CATEGORY, "tags": TASK_TAGS, "source": state["role"], "session": state["sessionId"]}
        context = self.context
        return write_task(
            db, Draft(text, **about, project=project), state["taskMemoryIds"], now=context.now,
            vectors=context.store.has_vectors,
        )  # fmt: skip

    def apply(self, state: SessionState) -> SessionState:
        """The state with what was recalled and written."""
        return rules.finish(state, self.plan, self.hits, self.memory_id, now=self.context.now)


def save(session_id: str, turn: dict[str, Any], config: Config, *, flush: bool = False) -> dict[str, Any]:
    """Write down the end of a turn, or what a compaction ends, and do what its zone calls for; tells what was done."""
    return _run(WorkingCheckpoint(Context(session_id, config, role=turn["role"]), turn, flush=flush))


def work_for_task(context: Context) -> None:
    """Recall for the task of a turn that was just recorded, and write it to memory, as its zone calls for."""
    with fault_boundary(context.faults, Checkpoint.name):
        context.read_previous()  # this event has written
        _run(WorkingCheckpoint(context, None))


def sessions() -> list[dict[str, Any]]:
    """All sessions, newest first, those with a file that cannot be read last."""
    try:
        names = [name for name in os.listdir(state_file.folder()) if name.endswith(state_file.SUFFIX)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise state_file.failure_of(error) from None
    found = [_summary(os.path.join(state_file.folder(), name), name.removesuffix(state_file.SUFFIX)) for name in names]
    return sorted(found, key=lambda entry: (-entry["updatedAt"], entry["sessionId"]))


def remove(session_id: str) -> bool:
    """Delete the state on disk, readable or not, and the session's lock files of work; whether there was one."""
    if not state_file.exists(session_id):
        return False
    with state_file.locked(session_id):
        try:
            os.unlink(state_file.path_of(session_id))
        except FileNotFoundError:
            return False
        for kind in os.listdir(state_file.work_folder()) if os.path.isdir(state_file.work_folder()) else ():
            files.remove(work_lock(session_id, kind))
    return True


def _summary(where: str, name: str) -> dict[str, Any]:
    size, problem = 0, ""
    state = state_file.blank(name, "", 0)
    try:
        size = os.stat(where).st_size
        value = state_file.parse(where)
        identifier = value.get("sessionId") if isinstance(value, dict) else None
        if isinstance(identifier, str) and files.safe_name(identifier) != name:
            raise state_file.Damaged("it belongs to another session")
        state = state_file.state_of(value, identifier if isinstance(identifier, str) else "")
    except state_file.Damaged:
        problem = "damaged"
    except state_file.TooNew as newer:
        problem = f"written by a newer joelclaw (version {newer.args[0]})"
    except OSError as error:
        problem = f"unreadable: {error.strerror}"
    summary = {
        "sessionId": state["sessionId"],
        "role": state["role"],
        "task": state["checkpoint"]["currentTask"],
        "percent": state["checkpoint"]["contextPercentAtCapture"],
        "compactionCount": state["checkpoint"]["compactionCount"],
        "updatedAt": state["updatedAt"],
        "bytes": size,
    }
    return {**summary, "problem": problem} if problem else summary


def _run(step: WorkingCheckpoint) -> dict[str, Any]:
    began = time.perf_counter()
    state = run(step.context, (step,))
    if step.is_flush:
        from session import daily_log

        daily_log.before_compaction(step.context, state)
    step.context.close()
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
        "hits": len(step.hits or ()),
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
    return {**result, "ms": round((time.perf_counter() - began) * 1000, 2)}
