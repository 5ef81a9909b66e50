"""What `inject recovery` does: decide under the lock, recall and note outside it."""

from __future__ import annotations

import os
import time

from core import clock
from core.errors import Failure
from core.quoting import cost
from session import session_event
from session.inject import query_selection, runner, signpost
from session.state import compacted, schema, state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.config import Config
    from session.inject.signpost import Signpost
    from session.session_store import Store
    from session.state.schema import Memory, SessionState

RAPID = "rapid-recompaction"


def recover(session_id: str, role: str, config: Config, reached: Store | None = None) -> dict[str, Any]:
    """The signpost after a compaction, or why there is none.

    Raises:
        Failure: the state cannot be read or written (STATE_...).
    """
    began = time.perf_counter()
    now = clock.now_ms()
    role = state_file.role_name(role)
    set_aside = ""
    current: SessionState | None = None
    rapid = False
    query_selection.wait(session_id)
    if os.path.exists(state_file.path_of(session_id)):
        with state_file.locked(session_id):
            current, set_aside = state_file.load(session_id)
            if current is not None:
                current["role"] = role or current["role"]
                rapid = compacted.is_rapid(current, now, config.number("inject.cooldown_seconds") * 1000)
                current = compacted.take_compaction(current, now, injecting=not rapid and _says_something(current))
                if not rapid and _says_something(current):
                    current["counts"]["injections"] += 1
                state_file.store(current)
    if reached is None:
        from session.session_store import Store

        reached = Store(config, now)
    if current is None:
        if set_aside:
            reached.note([session_event.set_aside_event(role, session_id, set_aside, now)])
        return runner.skipped(session_id, runner.NO_CHECKPOINT, reached, set_aside)
    name = compacted.action("compaction.inject", current["role"])
    if rapid:
        about = {**compacted.counted(current), "reason": RAPID}
        reached.note([session_event.event(name + ".skipped", current["role"], session_id, about, now)])
        return {**runner.skipped(session_id, RAPID, reached), **compacted.counted(current)}
    signpost = _signpost(current, reached, config)
    if signpost is None:
        return {**runner.skipped(session_id, runner.NO_CHECKPOINT, reached), **compacted.counted(current)}
    identifiers = [memory["id"] for memory in signpost["memories"]]
    told = {
        **compacted.counted(current),
        "filesCount": signpost["files"],
        "recallHitsCount": len(identifiers),
        "queriesCount": len(signpost["queries"]),
        "contentChars": len(signpost["content"]),
        "estimatedTokens": cost(signpost["content"]),
        "timeSinceSessionStartMs": max(0, now - current["startedAt"]),
        "memoryIds": identifiers,
        "duration_ms": round((time.perf_counter() - began) * 1000, 2),
    }
    reached.note([session_event.event(name, current["role"], session_id, told, now)], recalled=identifiers)
    try:
        with state_file.locked(session_id):
            known, _ = state_file.load(session_id)
            if known is not None:
                known["signpost"] = {"text": signpost["content"], "memoryIds": identifiers}
                state_file.store(runner.remember(known, signpost["memories"], known["checkpoint"]["currentTask"]))
    except Failure:
        pass  # whether they are used is not seen then, and no more is lost
    return runner.injected(session_id, _custom(current), signpost["content"], told, reached)


def again(session_id: str, reached: Store) -> dict[str, Any]:
    """The last signpost once more, for another process of a client that takes up a session; no compaction is counted.

    Raises:
        Failure: the state cannot be read (STATE_...).
    """
    current = state_file.peek(session_id)
    signpost = current["signpost"] if current is not None else None
    if current is None or signpost is None:
        return runner.skipped(session_id, runner.NO_CHECKPOINT, reached)
    told = {
        **compacted.counted(current),
        "memoryIds": signpost["memoryIds"],
        "contentChars": len(signpost["text"]),
        "estimatedTokens": cost(signpost["text"]),
        "duration_ms": 0,
    }
    name = compacted.action("compaction.inject.repeated", current["role"])
    reached.note(
        [session_event.event(name, current["role"], session_id, told, clock.now_ms())], recalled=signpost["memoryIds"]
    )
    return runner.injected(session_id, _custom(current), signpost["text"], told, reached)


def _says_something(current: SessionState) -> bool:
    checkpoint = current["checkpoint"]
    return bool(checkpoint["currentTask"] or checkpoint["filesModified"] or checkpoint["recallHits"])


def _custom(current: SessionState) -> str:
    return "gateway-recovery" if current["role"] == compacted.GATEWAY else "compaction-recovery"


def _signpost(current: SessionState, reached: Store, config: Config) -> Signpost | None:
    """The signpost from the state; where the cache is empty, from one recall for the task."""
    checkpoint = current["checkpoint"]
    memories: Sequence[Memory] = schema.memories(current["recallCache"])
    queries = checkpoint["recallQueries"]
    if not queries:
        from session.state import task

        query = task.query_of(current["messages"])
        found = reached.recall(query) if query else None
        if found:
            from session.inject.selection import select

            memories = select(found, current)
        # Found or not, the query leads to whatever is written about the task from now on.
        queries = [query] if query else []
    return signpost.compose(
        checkpoint["currentTask"], checkpoint["filesModified"], memories, queries, config.whole("inject.max_tokens")
    )
