"""What `inject refresh` does: decide under the lock, recall and look around outside it, note what was handed out."""

from __future__ import annotations

import os
import time

from core import clock
from core.quoting import cost
from session.inject import refresh_rules as rules
from session.inject import topics
from session.state import schema, state_file, zones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from core.config import Config
    from session.inject.refresh_rules import Bounds, Refresh
    from session.session_store import Store
    from session.state.schema import SessionState

    class Decided(TypedDict):
        """Whether a refresh is due."""

        now: int
        due: str
        """What makes it due, "" where nothing does."""
        query: str
        begun: bool
        """It is due, and no other process is at it."""
        reason: str
        """Why it is not begun."""
        why: str
        """What brought it, for the agent."""

    class Prepared(TypedDict):
        """A refresh before it is handed out."""

        decided: Decided
        failed: bool
        """The store did not answer."""
        made: Refresh | None
        """None where there is nothing to tell."""
        began: float
        """By `time.perf_counter()`."""


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
    role = state_file.role_name(role)
    with state_file.locked(session_id):
        known, set_aside = state_file.load(session_id)
        current = known or schema.blank(session_id, role or "interactive", now)
        current["role"] = role or current["role"]
        decided = decide(current, config, now, message=message, percent=percent, active_at=active_at)
        if decided["begun"]:
            current["injectionInFlight"] = {"hash": rules.CUSTOM_TYPE, "pid": os.getpid(), "startedAt": now}
        if message.strip():
            current["lastMessageAt"] = now
        if message.strip() or decided["begun"]:
            state_file.store(current)
    from session.inject import runner

    if reached is None:
        from session.session_store import Store

        reached = Store(config, now)
    if not decided["begun"]:
        return {**runner.skipped(session_id, decided["reason"], reached, set_aside), "trigger": decided["due"]}
    prepared = prepare(current, decided, config, reached)
    runner.settle(current, reached, lambda known: settled(known, prepared))
    return told(current, prepared, reached, set_aside)


def decide(
    current: SessionState,
    config: Config,
    now: int,
    *,
    message: str = "",
    percent: float | None = None,
    active_at: int | None = None,
) -> Decided:
    """Whether a refresh is due by what `current` says, and whether it may begin.

    Args:
        now: ms since the epoch; the others as of `refresh`.
    """
    message = message.strip()
    due = rules.trigger(current, message=message, percent=percent, active_at=active_at, now=now, bounds=_bounds(config))
    query = topics.query_of(current["messages"], message) if due else ""
    busy = bool(query) and zones.is_busy(current["injectionInFlight"], now, state_file.is_alive)
    return {
        "now": now,
        "due": due,
        "query": query,
        "begun": bool(query) and not busy,
        "reason": NOT_DUE if not due else NO_SEED if not query else "in-flight" if busy else "",
        "why": _why(due, current, percent, now),
    }


def prepare(current: SessionState, decided: Decided, config: Config, reached: Store) -> Prepared:
    """Recall for a refresh that is due, and put it together. Nothing is noted, no lock is held."""
    began = time.perf_counter()
    query, now = decided["query"], decided["now"]
    found = reached.recall(query)
    made = None
    if found is not None:
        from session import daily_log
        from session.inject.selection import select

        known_ids = rules.known_ids(current)
        memories = [memory for memory in select(found, current) if memory["id"] not in known_ids]
        happened = reached.happened(now - _WINDOW_MS)
        events = rules.event_lines(*happened, now) if happened else []
        logged = daily_log.today(now, rules.LOG_SHOWN, without=current["sessionId"], config=config)
        made = rules.compose(decided["why"], memories, events, logged)
    return {"decided": decided, "failed": found is None, "made": made, "began": began}


def settled(current: SessionState, prepared: Prepared) -> SessionState:
    """The state after the refresh was handed out, or after there was nothing to tell; as it was where recall failed."""
    if prepared["failed"]:  # the refresh stays due
        return current
    from session.inject import runner

    decided, made = prepared["decided"], prepared["made"]
    current = {
        **current,
        "lastRefreshAt": decided["now"],
        "halfRefreshed": current["halfRefreshed"] or decided["due"] == rules.HALF,
    }
    return runner.handed_out(current, made["memories"], decided["query"]) if made is not None else current


def told(current: SessionState, prepared: Prepared, reached: Store, set_aside: str = "") -> dict[str, Any]:
    """The result of `refresh`, and its events.

    Args:
        set_aside: where a damaged state was set aside to.
    """
    from session import session_event
    from session.inject import runner

    session_id = current["sessionId"]
    decided, made = prepared["decided"], prepared["made"]
    due, query, now = decided["due"], decided["query"], decided["now"]
    noted = [session_event.set_aside_event(current["role"], session_id, set_aside, now)] if set_aside else []
    if made is None:
        reached.note(noted)
        reason = "failed" if prepared["failed"] else "no-results"
        return {**runner.skipped(session_id, reason, reached, set_aside), "trigger": due, "query": query}
    identifiers = [memory["id"] for memory in made["memories"]]
    about = {
        "trigger": due,
        "query": query,
        "memoryIds": identifiers,
        "eventsCount": made["events"],
        "dailyLog": made["log"] > 0,
        "contentChars": len(made["content"]),
        "estimatedTokens": cost(made["content"]),
        "duration_ms": round((time.perf_counter() - prepared["began"]) * 1000, 2),
    }
    action = "context.refresh.injected"
    noted.append(session_event.event(action, current["role"], session_id, {"reason": due, **about}, now))
    reached.note(noted, recalled=identifiers)
    return runner.injected(session_id, rules.CUSTOM_TYPE, made["content"], about, reached, set_aside)


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
