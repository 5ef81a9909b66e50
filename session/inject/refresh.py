"""Memories for a session that lasts, on what it talks about now (ADR-0204, change 2).

They come where the context is half full, after a pause and after half an hour; never in a session's first minutes.
Between them a prompt that names a file or a function gets what somebody noted about that.
"""

from __future__ import annotations

from core.names import names_in
from session.inject.runner import Decision
from session.state import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Hit
    from session.inject.runner import Situation
    from session.records import SessionState, Text

NAME = "refresh"
LEAST = "inject.min_score"
CUSTOM_TYPE = "context-refresh"
HEADING = "## Context Refresh"
NOT_DUE, NO_TOPIC = "not-due", "no-seed"
INTERVAL, IDLE, HALF, NAMED = "interval", "idle", "half-full", "named"
MAX_TOKENS = 350
_SHOWN, _NAMED_SHOWN, _NAMES_TOLD = 3, 2, 3
_MINUTE_MS = 60_000
_QUIET_MS = 5 * _MINUTE_MS


def due(state: SessionState, situation: Situation) -> Decision:
    """Where something may have changed, or the prompt names something; and only on a topic."""
    named = situation.context.config.get_bool("refresh.named") and bool(names_in(situation.message)[0])
    trigger = trigger_of(state, situation) or (NAMED if named else "")
    if not trigger:
        return Decision(NOT_DUE, about={"trigger": trigger})
    from session.inject import topics

    query = topics.query_of((), situation.message) if named else ""
    if not query and trigger != NAMED:
        query = topics.query_of(state["messages"], situation.message)
    return Decision("" if query else NO_TOPIC, query=query, about={"trigger": trigger, "query": query})


def trigger_of(state: SessionState, situation: Situation) -> str:
    """What lets it be expected that something changed: HALF, IDLE, INTERVAL, or "" for nothing."""
    config, now = situation.context.config, situation.context.now
    message, percent, last = situation.message, situation.percent, state["lastRefreshAt"]
    cooldown_ms = config.get_float("inject.cooldown_seconds") * 1000
    if rules.is_rapid(state, now, cooldown_ms) or (last is not None and 0 <= now - last < cooldown_ms):
        return ""
    half = config.get_float("refresh.percent")
    if half and percent is not None and percent >= half and not state["halfRefreshed"]:
        return HALF
    if not message or now - state["startedAt"] < _QUIET_MS:
        return ""
    idle, minutes = config.get_float("refresh.idle_minutes"), config.get_float("refresh.minutes")
    before = situation.context.previous or state
    active_at = max(before["updatedAt"], before["lastMessageAt"] or 0)
    if idle and now - active_at >= idle * _MINUTE_MS:
        return IDLE
    since = state["startedAt"] if last is None or last > now else last
    return INTERVAL if minutes and now - since > minutes * _MINUTE_MS else ""


def compose(state: SessionState, situation: Situation, decision: Decision, hits: Sequence[Hit]) -> Text | None:
    """Memories that the agent does not have before it; of a prompt that names something, those that name it too."""
    from session.inject.selection import fit, kept_by_somebody, names_shared, select

    trigger = decision.about["trigger"]
    fresh = [hit for hit in kept_by_somebody(hits, state) if hit["id"] not in state["injectedMemories"]]
    if trigger == NAMED:
        asked = names_in(situation.message)[0]
        shared = {hit["id"]: names for hit in fresh if (names := names_shared(hit, asked))}
        memories = select([hit for hit in fresh if hit["id"] in shared], state)[:_NAMED_SHOWN]
        told = dict.fromkeys(name for memory in memories for name in shared[memory["id"]])
        why = f"the user names {', '.join(list(told)[:_NAMES_TOLD])}"
    else:
        memories, why = select(fresh, state), _why(trigger, state, situation)
    head = [HEADING, f"**Why:** {why}", "**Related memories:**"]
    content, shown = fit(CUSTOM_TYPE, head, memories, mark="- [{category}] ", most=_SHOWN, max_tokens=MAX_TOKENS)
    if not content:
        return None
    return {
        "content": content,
        "memories": shown,
        "customType": CUSTOM_TYPE,
        "event": "context.refresh.injected",
        "about": {},
        "eventAbout": {"reason": trigger},
    }


def apply(state: SessionState, situation: Situation, decision: Decision, text: Text | None) -> SessionState:
    """When it was looked at, with or without anything to tell; what a prompt names puts no refresh off."""
    trigger = decision.about["trigger"]
    if trigger == NAMED:
        return state
    half = state["halfRefreshed"] or trigger == HALF
    return {**state, "lastRefreshAt": situation.context.now, "halfRefreshed": half}


def _why(trigger: str, state: SessionState, situation: Situation) -> str:
    if trigger == HALF:
        return f"the context is {situation.percent or 0:.0f} % full"
    if trigger == IDLE:
        return "the conversation goes on after a pause"
    since = state["startedAt"] if state["lastRefreshAt"] is None else state["lastRefreshAt"]
    return f"{max(0, situation.context.now - since) // _MINUTE_MS} minutes since the last one"
