"""What `checkpoint save`, `task` and `flush` do: the state under its lock, the store outside of it.

lock, read, decide, mark in flight, write, unlock; then recall and remember; then lock, read again, merge, write. Two
hooks of one session at the same moment lose nothing of each other's, and the store is not opened below the warm zone.
"""

from __future__ import annotations

import os
import time

from core import clock
from core.errors import Failure
from core.quoting import clip_path, one_line
from session.state import compacted, schema, state_file, task, zones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from core.config import Config
    from core.store.interface import Event
    from session.session_store import Store
    from session.state.schema import Memory, SessionState
    from session.state.zones import Outcome, Plan, Turn

_LIST = "see joelclaw checkpoint list"
_MESSAGES_READ = 12
"""Of a whole conversation handed over, the end is enough to see what is new."""


def turn_of(
    *,
    role: str = "",
    messages: Sequence[str] = (),
    files: Sequence[str] = (),
    percent: float | None = None,
    tokens: int | None = None,
    window: int | None = None,
    agent: str = "",
    cwd: str = "",
) -> Turn:
    """A turn as the zone rules take it: texts redacted and on one line, the percentage from tokens where need be."""
    if percent is None and tokens is not None and window:
        percent = round(tokens * 100 / window, 2)
    known = [entry for entry in map(task.message, messages[-_MESSAGES_READ:]) if entry is not None]
    return {
        "role": state_file.role_name(role),
        "messages": known,
        "files": [path for path in map(_path, files[-schema.FILES_KEPT :]) if path],
        "percent": percent,
        "tokens": tokens,
        "window": window,
        "agent": agent,
        "cwd": _path(cwd) if cwd else "",
    }


def save(
    session_id: str,
    turn: Turn,
    config: Config,
    reached: Store | None = None,
    *,
    defer: bool = False,
    also: Callable[[SessionState], SessionState] | None = None,
) -> dict[str, Any]:
    """Note the end of a turn and do what its zone calls for; the result tells what was done.

    Args:
        defer: leave recall and writing to the next save of this task, or to `catch_up`.
        also: what else is noted in the state, in the same write.

    Raises:
        Failure: the state cannot be read or written (STATE_...); nothing else was done then.
    """
    return _take(session_id, turn, config, reached, flush=False, counts="saves", defer=defer, also=also)


def catch_up(session_id: str, config: Config, reached: Store | None = None) -> dict[str, Any]:
    """Do what a save has deferred, by the context usage that it noted; the result tells what was done.

    Raises:
        Failure: SESSION_NOT_FOUND; else as `save`.
    """
    return _take(session_id, None, config, reached, flush=False, counts="")


def flush(
    session_id: str, turn: Turn, config: Config, reached: Store | None = None, *, defer: bool = False
) -> dict[str, Any]:
    """The last checkpoint before a compaction, with its events.

    Args:
        defer: the queries of the signpost are left to the caller (`session.inject.query_selection`).

    Raises:
        Failure: as `save`.
    """
    gather = None
    if not defer:
        from session.inject import query_selection

        def gather(current: SessionState, reached: Store) -> SessionState:
            return query_selection.gather(current, reached, config)

    return _take(session_id, turn, config, reached, flush=True, counts="flushes", gather=gather)


def _take(
    session_id: str,
    turn: Turn | None,
    config: Config,
    reached: Store | None,
    *,
    flush: bool,
    counts: str,
    defer: bool = False,
    also: Callable[[SessionState], SessionState] | None = None,
    gather: Callable[[SessionState, Store], SessionState] | None = None,
) -> dict[str, Any]:
    began = time.perf_counter()
    now = clock.now_ms()
    bounds = {"warm": config.number("checkpoint.warm_percent"), "hot": config.number("checkpoint.hot_percent")}
    with state_file.locked(session_id):
        known, set_aside = state_file.load(session_id)
        if turn is None:  # nothing has happened in the session; one that was cleared stays cleared
            if known is None:
                raise Failure("SESSION_NOT_FOUND", f"there is no session {session_id[:80]!r}", _LIST)
            turn = turn_of(percent=known["checkpoint"]["contextPercentAtCapture"])
        current = zones.take_turn(known or schema.blank(session_id, "interactive", now), turn)
        if counts:
            current["counts"][counts] += 1  # type: ignore[literal-required]  # the callers give one of two names
            current["updatedAt"] = now
        decide = zones.plan_flush if flush else zones.plan_save
        plan = decide(current, turn["percent"], **bounds, now=now, alive=state_file.is_alive)
        if defer:
            plan = zones.deferred(plan)
        current = zones.begin(current, plan, pid=os.getpid(), now=now)
        if also is not None:
            current = also(current)
        state_file.store(current)
    result: dict[str, Any] = {"sessionId": session_id, "role": current["role"], "zone": plan["zone"]}
    work = None
    if plan["recall"] or plan["write"] or plan["entered"] or set_aside or flush:
        if reached is None:
            from session.session_store import Store

            reached = Store(config, now)
        current, work = _work(current, turn, plan, reached, now, set_aside=set_aside, flush=flush, gather=gather)
    result.update(_told(current, turn, plan, work))
    if set_aside:
        result["setAside"] = set_aside
    result["ms"] = round((time.perf_counter() - began) * 1000, 2)
    return result


class _Work:
    """What this process did with the store."""

    __slots__ = ("errors", "hits", "memory_id", "recalled")

    def __init__(self) -> None:
        self.hits: int = 0
        self.recalled = False
        self.memory_id: str | None = None
        self.errors: dict[str, dict[str, str]] = {}


def _work(
    current: SessionState,
    turn: Turn,
    plan: Plan,
    reached: Store,
    now: int,
    *,
    set_aside: str,
    flush: bool,
    gather: Callable[[SessionState, Store], SessionState] | None,
) -> tuple[SessionState, _Work]:
    """Recall and remember, merge that into the state on disk, then note the events."""
    from session.inject.selection import select
    from session.session_store import errors_of

    work = _Work()
    outcome: Outcome = {
        "hash": plan["hash"], "query": plan["query"], "hits": None, "memoryId": None, "pid": os.getpid(),
    }  # fmt: skip
    if plan["recall"]:
        found = reached.recall(plan["query"])
        if found is not None:
            memories: Sequence[Memory] = select(found, current)
            outcome["hits"] = memories
            work.recalled = True
            work.hits = len(memories)
    if plan["write"]:
        checkpoint = current["checkpoint"]
        text = task.memory_of(checkpoint["currentTask"], checkpoint["filesModified"][::-1])
        work.memory_id = outcome["memoryId"] = reached.write_task(
            text, source=current["role"], session=current["sessionId"]
        )
    if plan["recall"] or plan["write"]:
        try:
            current = _merge(current, outcome, now)
        except Failure as failure:  # the turn itself is on disk; what was recalled is recalled again next turn
            reached.faults.append({"step": "state", "code": failure.code, "message": failure.message})
    if gather is not None:
        current = gather(current, reached)
    reached.note(_events(current, turn, plan, work, now, set_aside=set_aside, flush=flush))
    work.errors = errors_of(reached.faults)
    return current, work


def _merge(current: SessionState, outcome: Outcome, now: int) -> SessionState:
    """Put the outcome into the state as it is on disk now. A session cleared meanwhile stays cleared."""
    with state_file.locked(current["sessionId"]):
        known, set_aside = state_file.load(current["sessionId"])
        if known is None and not set_aside:
            return zones.finish(current, outcome, now=now)
        merged = zones.finish(known or current, outcome, now=now)
        state_file.store(merged)
    return merged


def _events(
    current: SessionState, turn: Turn, plan: Plan, work: _Work, now: int, *, set_aside: str, flush: bool
) -> list[Event]:
    from otel.event import new_event

    checkpoint = current["checkpoint"]
    percent = turn["percent"]
    found: list[tuple[str, str, dict[str, Any]]] = []
    if set_aside:
        found.append(("session.state.set_aside", "warn", {"file": os.path.basename(set_aside)}))
    if "warm" in plan["entered"]:
        found.append((compacted.action("compaction.extract.warm", current["role"]), "info", {"percent": percent}))
    totals = {"recallHits": len(checkpoint["recallHits"]), "filesCount": len(checkpoint["filesModified"])}
    if plan["zone"] == "hot" and not flush and ("hot" in plan["entered"] or work.memory_id is not None):
        name = compacted.action("compaction.extract.hot", current["role"])
        found.append((name, "info", {"percent": percent, **totals}))
    if flush:
        found.append((compacted.action("compaction.before", current["role"]), "info", compacted.before(current, now)))
        found.append(
            (
                compacted.action("compaction.checkpoint", current["role"]),
                "info",
                {
                    **compacted.counted(current),
                    "contextPercent": checkpoint["contextPercentAtCapture"],
                    **totals,
                    "queriesCount": len(checkpoint["recallQueries"]),
                    "taskChars": len(checkpoint["currentTask"]),
                    "written": work.memory_id is not None,
                    "memoryId": work.memory_id,
                },
            )
        )
    return [
        new_event(
            name,
            source=current["role"],
            component=compacted.COMPONENT,
            level=level,
            metadata=metadata,
            session=current["sessionId"],
            role=current["role"],
            now=now,
        )
        for name, level, metadata in found
    ]


def _told(current: SessionState, turn: Turn, plan: Plan, work: _Work | None) -> dict[str, Any]:
    work = work or _Work()
    recalled = plan["recall"] and work.recalled
    recall_reason, write_reason = plan["recallReason"], plan["writeReason"]
    if plan["recall"] and not recalled:
        recall_reason = "failed"
    if plan["write"] and work.memory_id is None:
        write_reason = "failed"
    told: dict[str, Any] = {
        "percent": turn["percent"],
        "entered": plan["entered"],
        "recalled": recalled,
        "recallReason": recall_reason,
        "recallQuery": plan["query"],
        "hits": work.hits,
        "cachedHits": len(current["checkpoint"]["recallHits"]),
        "written": work.memory_id is not None,
        "writeReason": write_reason,
        "memoryId": work.memory_id,
        "currentTask": current["checkpoint"]["currentTask"],
        "filesModified": current["checkpoint"]["filesModified"],
        "taskHash": current["taskHash"],
        "compactionCount": current["checkpoint"]["compactionCount"],
        **work.errors,
    }
    return told


def _path(path: str) -> str:
    from core.redaction import redact
    from core.words import clean

    known = redact(clean(path))[0]
    line = one_line(known)
    if line != known:  # a line break tells some secrets from prose, and may part others
        line = redact(line)[0]
    return clip_path(line, schema.FILE_CHARS)
