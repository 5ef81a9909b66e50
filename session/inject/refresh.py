"""What a session that lasts is told from time to time (ADR-0204, change 2).

A refresh is for what changed while a session went on: memories on what it talks about now, what happened in the
system, what other sessions wrote into today's log. A short session gets none unless it asks. Between them a prompt
that names a file or a function gets what was noted about it. This module decides when; `refresh_text` composes.
"""

from __future__ import annotations

from core.names import names_in
from session.inject.runner import Decision
from session.state import zones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Hit
    from session.inject.runner import Situation
    from session.records import SessionState, Text

NAME = "refresh"
LEAST = "inject.min_score"
NOT_DUE, NO_TOPIC = "not-due", "no-seed"
STATUS, INTERVAL, IDLE, HALF, NAMED = "status-question", "interval", "idle", "half-full", "named"
_MINUTE_MS = 60_000
_QUIET_MS = 5 * _MINUTE_MS
_LONGEST_QUESTION = 120
"""With the greeting and the spaces around it."""
_ASKING = tuple("status update what where how news progress anything sitrep catch bring fill".split())
_HERE_MS = 5_000
"""A state that was written within this time was written by the hook that asks."""


def due(state: SessionState, situation: Situation) -> Decision:
    """Where the user asks, the context is half full, a pause is over, or half an hour has passed; and on a topic."""
    named = situation.context.config.get_bool("refresh.named") and bool(names_in(situation.message)[0])
    trigger = trigger_of(state, situation) or (NAMED if named else "")
    if not trigger:
        return Decision(NOT_DUE, about={"trigger": trigger})
    from session.inject import topics

    query = topics.query_of((), situation.message) if named else ""
    if not query and trigger != NAMED:
        query = topics.query_of(state["messages"], situation.message)
    return Decision("" if query else NO_TOPIC, query=query, about={"trigger": trigger, "query": query})


def compose(state: SessionState, situation: Situation, decision: Decision, hits: Sequence[Hit]) -> Text | None:
    """Memories that the agent does not have before it, what happened, and what other sessions wrote today."""
    from session.inject import refresh_text

    return refresh_text.compose(state, situation, decision.about["trigger"], hits)


def apply(state: SessionState, situation: Situation, decision: Decision, text: Text | None) -> SessionState:
    """When it was looked at, with or without anything to tell; what a prompt names puts no refresh off."""
    trigger = decision.about["trigger"]
    if trigger == NAMED:
        return state
    half = state["halfRefreshed"] or trigger == HALF
    return {**state, "lastRefreshAt": situation.context.now, "halfRefreshed": half}


def trigger_of(state: SessionState, situation: Situation) -> str:
    """What lets it be expected that something changed: STATUS, HALF, IDLE, INTERVAL, or "" for nothing."""
    config, now = situation.context.config, situation.context.now
    message, percent = situation.message, situation.percent
    cooldown_ms = config.get_float("inject.cooldown_seconds") * 1000
    last = state["lastRefreshAt"]
    if zones.is_rapid(state, now, cooldown_ms):  # what was recovered is all there is to know
        return ""
    if last is not None and 0 <= now - last < cooldown_ms:
        return ""
    if _asks_for_status(message):
        return STATUS
    half = config.get_float("refresh.percent")
    if half and percent is not None and percent >= half and not state["halfRefreshed"]:
        return HALF
    if not message or now - state["startedAt"] < _QUIET_MS:
        return ""
    idle, minutes = config.get_float("refresh.idle_minutes"), config.get_float("refresh.minutes")
    if idle and now - _active_at(state, situation) >= idle * _MINUTE_MS:
        return IDLE
    since = state["startedAt"] if last is None or last > now else last
    return INTERVAL if minutes and now - since > minutes * _MINUTE_MS else ""


def _asks_for_status(message: str) -> bool:
    """Whether the user asks how things stand; most prompts hold none of the words that such a question has."""
    lower = message[:_LONGEST_QUESTION].lower()
    if len(message) > _LONGEST_QUESTION or not any(word in lower for word in _ASKING):
        return False
    from session.inject import topics

    return topics.is_status_question(message)


def _active_at(state: SessionState, situation: Situation) -> int:
    """When the session did something before this message, which may be in `state` already."""
    if situation.active_at is not None:
        return situation.active_at
    before = situation.context.previous or state
    last = before["startedAt"] if before["lastMessageAt"] is None else before["lastMessageAt"]
    is_here = situation.context.now - before["updatedAt"] < _HERE_MS
    return last if is_here else max(last, before["updatedAt"])
