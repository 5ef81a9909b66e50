"""The task of a session: recalled for in the warm zone, written to memory in the hot zone (ADR-0203, stages 1 and 2).

`checkpoint save` and `checkpoint flush` do this without a hook. A write that is repeated after a kill replaces the
memory that the session wrote before. Hot path.
"""

from __future__ import annotations

import time

from core import TYPE_CHECKING
from session.reactions import FAILED, OFF, Reaction, run
from session.record import record, usage_of
from session.session import TASK_TAGS, Session, TaskPlan, errors_of
from session.state import HITS_KEPT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import apsw

    from clients.base import HookEvent
    from core.config import Config
    from session.state import Memory, Recalled, SessionState


def react(event: HookEvent, session: Session) -> Reaction:
    """Do what `session.plan` calls for; `about` has `hits` and `memoryId`, None if not done."""
    plan, state = session.plan, session.state
    hits = memory_id = None
    if plan.must_recall:
        found = session.recall(plan.query, session.project())
        if found is not None:
            from session.reactions.injection import select

            memories = select(found, state)
            hits = len(memories)
            _record_recall(state, plan.query, memories, session.now)
    if plan.must_write:
        memory_id = session.store.write("write", lambda db: _write(db, session), None, durable=True)
        if memory_id is not None:
            state.counts["writes"] += 1
            state.written_hash = state.task_hash
            state.task_memory_ids = [*(known for known in state.task_memory_ids if known != memory_id), memory_id]
    _queue_events(event, session, hits, memory_id)
    return Reaction(about={"hits": hits, "memoryId": memory_id})


def save_checkpoint(event: HookEvent, config: Config, *, role: str = "") -> dict[str, Any]:
    """Record the end of a turn, or what a compaction ends, and do what its zone calls for; returns the result.

    Raises Failure if the state cannot be used.
    """
    began = time.monotonic()
    session = Session(event["session"], config, role=role)
    if session.is_off(event["cwd"]):
        session.plan = TaskPlan(recall_reason=OFF, write_reason=OFF)
        return _result(session, {}, began)
    with session:
        event["cwd"] = session.folder(event["cwd"])  # the agent runs the command in its folder
        session.usage = usage_of(event)
        record(event, session)
        session.save()
        if event["items"]:
            from session import transcript

            transcript.archive(event, session, began, is_short=False)
        done = run("task", event, session)
        if event["kind"] == "before_compaction":
            run("daily_log", event, session)
        session.complete(f"checkpoint {'save' if event['kind'] == 'turn' else 'flush'}", began)
    return _result(session, done.about, began)


def _result(session: Session, done: Mapping[str, Any], began: float) -> dict[str, Any]:
    """What the command prints; `done` is what the reaction `task` says."""
    state, plan = session.state, session.plan
    hits, memory_id = done.get("hits"), done.get("memoryId")
    result: dict[str, Any] = {
        "sessionId": session.id, "role": state.role, "reason": OFF if plan.recall_reason == OFF else "",
        "zone": plan.zone, "percent": session.usage["percent"], "entered": plan.entered,
        "recalled": hits is not None,
        "recallReason": FAILED if plan.must_recall and hits is None else plan.recall_reason,
        "recallQuery": plan.query, "hits": hits or 0, "cachedHits": len(state.recalled_memories),
        "written": memory_id is not None,
        "writeReason": FAILED if plan.must_write and memory_id is None else plan.write_reason, "memoryId": memory_id,
        "currentTask": state.task, "filesModified": state.files_modified, "taskHash": state.task_hash,
        "compactionCount": state.compaction_count, **errors_of(session.faults),
    }  # fmt: skip
    if session.set_aside:
        result["setAside"] = session.set_aside
    return {**result, "ms": round((time.monotonic() - began) * 1000, 2)}


def _record_recall(state: SessionState, query: str, memories: Sequence[Memory], now: int) -> None:
    """Record that memories were recalled for the task; a query without results is not cached."""
    state.counts["recalls"] += 1
    state.recalled_hash = state.task_hash
    if memories:
        hits: list[Memory] = [{**memory, "text": memory["text"][:160]} for memory in memories[:HITS_KEPT]]
        others = [entry for entry in state.recall_cache if entry["query"] != query]
        recalled: Recalled = {"query": query, "hash": state.task_hash, "hits": hits, "at": now}
        state.recall_cache = [*others, recalled][-3:]


def _write(db: apsw.Connection, session: Session) -> str | None:
    """Write the task over the last of the session's task memories; returns the id."""
    from memory.write import Draft, write_task

    state, files = session.state, ", ".join(reversed(session.state.files_modified))
    draft = Draft(
        f"Task: {state.task} | Files: {files}" if files else f"Task: {state.task}", category="ops",
        tags=TASK_TAGS, source=state.role, session=session.id, project=session.project(),
    )  # fmt: skip
    return write_task(db, draft, now=session.now)


def _queue_events(event: HookEvent, session: Session, hits: int | None, memory_id: str | None) -> None:
    state, plan = session.state, session.plan
    written, is_flush = memory_id is not None, event["kind"] == "before_compaction"
    percent = session.usage["percent"]
    totals = {"recallHits": len(state.recalled_memories), "filesCount": len(state.files_modified)}
    events: list[tuple[str, dict[str, Any]]] = []
    if hits is not None:
        query = {} if session.is_excluded(state.cwd) else {"query": plan.query}  # the user said it
        events.append(("task.recalled", {**query, "returned": hits, "written": written}))
    if "warm" in plan.entered:
        events.append(("compaction.extract.warm", {"percent": percent}))
    if plan.zone == "hot" and not is_flush and ("hot" in plan.entered or written):
        events.append(("compaction.extract.hot", {"percent": percent, **totals}))
    if is_flush:
        last, now = state.last_compaction_at, session.now
        about = {**state.compaction_metadata, "contextPercent": state.percent, **totals}
        before = {
            **({"trigger": event["source"]} if event["source"] else {}),
            "contextTokens": state.context_tokens, "contextLimit": state.context_limit,
            "recallCacheSize": len(state.recall_cache), "userMessageCount": state.counts["userMessages"],
            "timeSinceLastCompactionMs": None if last is None else max(0, now - last),
            "timeSinceSessionStartMs": max(0, now - state.started_at),
        }  # fmt: skip
        queries, chars = len(state.recall_queries), len(state.task)
        done = {"queriesCount": queries, "taskChars": chars, "written": written, "memoryId": memory_id}
        events += [("compaction.before", about | before), ("compaction.checkpoint", about | done)]
    for name, about in events:
        session.queue_event(session.event(state.compaction_event(name), about))
