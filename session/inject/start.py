"""What `inject memory` does when a session starts: memories for its kind of work, once (ADR-0204, change 1)."""

from __future__ import annotations

import os
import time

from core import clock
from core.quoting import cost
from session import session_event
from session.inject import runner, startup
from session.state import compacted, schema, state_file, zones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.config import Config
    from session.session_store import Store
    from session.state.schema import SessionState

COMPONENT = "memory-enforcer"


def start(
    session_id: str, role: str, config: Config, *, query: str = "", project: str = "", reached: Store | None = None
) -> dict[str, Any]:
    """Memories for a session that starts, once per session, or why there are none.

    Args:
        role: "" for the role the session has.
        query: "" for the role's own.

    Raises:
        Failure: the state cannot be read or written (STATE_...).
    """
    began = time.perf_counter()
    now = clock.now_ms()
    role = state_file.role_name(role)
    with state_file.locked(session_id):
        known, set_aside = state_file.load(session_id)
        current = known or schema.blank(session_id, role or "interactive", now)
        current["role"] = role or current["role"]
        done = startup.CUSTOM_TYPE in current["injectedKinds"]
        busy = zones.is_busy(current["injectionInFlight"], now, state_file.is_alive)
        if not done and not busy:
            current["injectionInFlight"] = {"hash": startup.CUSTOM_TYPE, "pid": os.getpid(), "startedAt": now}
            current["updatedAt"] = now
            state_file.store(current)
    if reached is None:
        from session.session_store import Store

        reached = Store(config, now)
    if done or busy:
        return runner.skipped(session_id, "already-injected" if done else "in-flight", reached)
    query = query or config.text("inject.gateway_query" if current["role"] == compacted.GATEWAY else "inject.query")
    found = reached.recall(query, project=project, least="inject.startup_min_score")
    from session.inject.selection import select

    # Of a session that is taken up again the agent has its own turns before it.
    foreign = [hit for hit in found or () if hit["session"] != session_id]
    handout = startup.compose(select(foreign, current)) if foreign else None

    def change(known: SessionState) -> SessionState:
        if handout is None:  # what found nothing may be tried again
            return known
        known = {**known, "injectedKinds": {**known["injectedKinds"], startup.CUSTOM_TYPE: now}}
        return runner.handed_out(known, handout["memories"], query)

    runner.settle(current, reached, change)
    events = [session_event.set_aside_event(current["role"], session_id, set_aside, now)] if set_aside else []
    if handout is None:
        reached.note(events)
        reason = "no-results" if found is not None else "failed"
        return {**runner.skipped(session_id, reason, reached, set_aside), "query": query}
    identifiers = [memory["id"] for memory in handout["memories"]]
    told = {
        "result_count": len(identifiers),
        "memoryIds": identifiers,
        "duration_ms": round((time.perf_counter() - began) * 1000, 2),
        "query": query,
        "contentChars": len(handout["content"]),
        "estimatedTokens": cost(handout["content"]),
    }
    name = "memory.recall.injected"
    events.append(session_event.event(name, current["role"], session_id, told, now, component=COMPONENT))
    reached.note(events, recalled=identifiers)
    return runner.injected(session_id, startup.CUSTOM_TYPE, handout["content"], told, reached, set_aside)
