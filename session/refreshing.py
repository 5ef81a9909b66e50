"""What `inject refresh` does: decide under the lock, recall and look around outside it, note what was handed out."""

from __future__ import annotations

import os
import time

from core import clock
from session import daily_log, injection, seeds, session_event, shape, state, zones
from session import refresh as rules
from session.text import cost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from core.config import Config
    from session.refresh import Bounds
    from session.shape import SessionState
    from session.store import Store

    class Decided(TypedDict):
        """What was decided under the lock."""

        state: SessionState
        now: int
        due: str
        """What makes a refresh due, "" where nothing does."""
        query: str
        begun: bool
        """It is due, and marked as in flight."""
        reason: str
        """Why it was not begun."""
        why: str
        """What brought it, for the agent."""


NOT_DUE = "not-due"
NO_SEED = "no-seed"
_WINDOW_MS = 2 * clock.HOUR_MS


def refresh(
    session_id: str,
    role: str,
    config: Config,
    *,
    message: str = "",
    percent: float | None = None,
    active_at: int | None = None,
    reached: Store | None = None,
) -> dict[str, Any]:
    """What changed since the session began or was last told, where that is due, or why there is nothing.

    Args:
        role: "" for the role the session has.
        message: what the user just said, as typed; "" where they said nothing.
        percent: context usage, None where it is not known.
        active_at: when the session did something before this message (ms since the epoch); None to tell it from the
            state, which knows it unless this very hook has written the state.

    Raises:
        Failure: the state cannot be read or written (STATE_...).
    """
    now = clock.now_ms()
    role = state.role_name(role)
    with state.locked(session_id):
        known, set_aside = state.load(session_id)
        current = known or shape.blank(session_id, role or "interactive", now)
        current["role"] = role or current["role"]
        decided = decide(current, config, now, message=message, percent=percent, active_at=active_at)
        if message.strip() or decided["begun"]:
            state.store(current)
    if reached is None:
        from session.store import Store

        reached = Store(config, now)
    return hand_out(decided, config, reached, set_aside)


def decide(
    current: SessionState,
    config: Config,
    now: int,
    *,
    message: str = "",
    percent: float | None = None,
    active_at: int | None = None,
) -> Decided:
    """Whether a refresh is due; noted in `current`, which the caller has locked and writes.

    Args:
        now: ms since the epoch; the others as of `refresh`.
    """
    message = message.strip()
    due = rules.trigger(current, message=message, percent=percent, active_at=active_at, now=now, bounds=_bounds(config))
    query = seeds.query_of(current["messages"], message) if due else ""
    busy = bool(query) and zones.is_busy(current["injectionInFlight"], now, state.is_alive)
    begun = bool(query) and not busy
    why = _why(due, current, percent, now)
    if begun:
        current["injectionInFlight"] = {"hash": rules.CUSTOM_TYPE, "pid": os.getpid(), "startedAt": now}
    if message:
        current["lastMessageAt"] = now
    reason = NOT_DUE if not due else NO_SEED if not query else "in-flight" if busy else ""
    return {"state": current, "now": now, "due": due, "query": query, "begun": begun, "reason": reason, "why": why}


def hand_out(decided: Decided, config: Config, reached: Store, set_aside: str = "") -> dict[str, Any]:
    """What `decide` found due, recalled and put together; the result of `refresh`.

    Args:
        set_aside: where a damaged state was set aside to.
    """
    began = time.perf_counter()
    current, due, query, now = decided["state"], decided["due"], decided["query"], decided["now"]
    session_id = current["sessionId"]
    if not decided["begun"]:
        return {**injection.skipped(session_id, decided["reason"], reached, set_aside), "trigger": due}
    found = reached.recall(query)
    made = None
    if found is not None:
        from session.selection import select

        known_ids = rules.known_ids(current)
        memories = [memory for memory in select(found, current) if memory["id"] not in known_ids]
        happened = reached.happened(now - _WINDOW_MS)
        events = rules.event_lines(*happened, now) if happened else []
        logged = daily_log.today(now, rules.LOG_SHOWN, without=session_id, config=config)
        made = rules.compose(decided["why"], memories, events, logged)

    def change(known: SessionState) -> None:
        if found is not None:  # a store that failed leaves the refresh due
            known["lastRefreshAt"] = now
            known["halfRefreshed"] = known["halfRefreshed"] or due == rules.HALF

    memories_told = made["memories"] if made else ()
    injection.settle(current, reached, injected=made is not None, memories=memories_told, query=query, change=change)
    noted = [session_event.set_aside_event(current["role"], session_id, set_aside, now)] if set_aside else []
    if made is None:
        reached.note(noted)
        reason = "no-results" if found is not None else "failed"
        return {**injection.skipped(session_id, reason, reached, set_aside), "trigger": due, "query": query}
    identifiers = [memory["id"] for memory in made["memories"]]
    told = {
        "trigger": due,
        "query": query,
        "memoryIds": identifiers,
        "eventsCount": made["events"],
        "dailyLog": made["log"] > 0,
        "contentChars": len(made["content"]),
        "estimatedTokens": cost(made["content"]),
        "duration_ms": round((time.perf_counter() - began) * 1000, 2),
    }
    about = {"reason": due, **told}
    noted.append(session_event.event("context.refresh.injected", current["role"], session_id, about, now))
    reached.note(noted, recalled=identifiers)
    return injection.injected(session_id, rules.CUSTOM_TYPE, made["content"], told, reached, set_aside)


def _bounds(config: Config) -> Bounds:
    return {
        "minutes": config.number("refresh.minutes"),
        "idleMinutes": config.number("refresh.idle_minutes"),
        "percent": config.number("refresh.percent"),
        "cooldownMs": config.number("inject.cooldown_seconds") * 1000,
    }


def _why(due: str, current: SessionState, percent: float | None, now: int) -> str:
    """What brought the refresh, for the agent."""
    if due == rules.STATUS:
        return "the user asks how things stand"
    if due == rules.HALF:
        return f"the context is {percent or 0:.0f} % full"
    if due == rules.IDLE:
        return "the conversation goes on after a pause"
    last = current["lastRefreshAt"]
    since = current["startedAt"] if last is None else last
    return f"{max(0, now - since) // 60_000} minutes since the last one"
