"""What a session that lasts is told from time to time (ADR-0204, change 2).

A refresh is for what changed while a session went on: memories on what it talks about now, what happened in the
system, what other sessions wrote into today's log. A short session gets none unless it asks. Between them a prompt
that names a file or a function gets what was said of it before and is out of sight: by another session of the project,
or by this one before a compaction.
"""

from __future__ import annotations

from core import clock
from core.names import names_in
from core.quoting import clip, cost, enclose, one_line
from session.inject import topics
from session.inject.topics import is_status_question
from session.state import zones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypedDict

    from core.config import Config
    from core.records import Event, Hit
    from session.inject.runner import Moment, Text
    from session.session_store import Work
    from session.state.schema import Memory, SessionState

    class Bounds(TypedDict):
        """The settings that say when; 0 switches a trigger off."""

        minutes: float
        idleMinutes: float
        percent: float
        cooldownMs: float
        named: bool

    class Refresh(TypedDict):
        """A refresh text and what went into it."""

        content: str
        memories: list[Memory]
        events: int
        log: int


NAME = "refresh"
LEAST = "inject.min_score"
NEEDS_RECALL = True
NOT_DUE, NO_TOPIC = "not-due", "no-seed"
HEADING = "## Context Refresh"
CUSTOM_TYPE = "context-refresh"
MAX_TOKENS = 350
STATUS, INTERVAL, IDLE, HALF, NAMED = "status-question", "interval", "idle", "half-full", "named"
NAMED_SHOWN = 2
_NAMES_TOLD = 3
EVENTS_SHOWN = 5
LOG_SHOWN = 3
OTHERS_CHARS = 100
OTHERS_FILES = 2
_MINUTE_MS = 60_000
_QUIET_MS = 5 * _MINUTE_MS
_WINDOW_MS = 2 * clock.HOUR_MS
_HERE_MS = 5_000
"""A state that was written within this time was written by the hook that asks."""
# What joelclaw itself does is no news.
_OWN = frozenset("session-lifecycle memory-enforcer memory-feedback recall-cli hook knowledge-cli observe".split())
_OWN_ACTIONS = frozenset(("project.file_dropped", "home.modes.corrected"))
_BAD = ("warn", "error", "fatal")
# Tried in this order: memories and characters and tokens of each, events and tokens, entries of the log and tokens.
_STEPS = (
    (3, 200, 200, 5, 40, 3, 40),
    (3, 150, 45, 5, 30, 3, 30),
    (3, 150, 30, 4, 22, 2, 30),
    (2, 120, 30, 3, 20, 2, 25),
    (2, 100, 25, 2, 20, 1, 25),
    (1, 80, 20, 1, 20, 1, 20),
)


def due(state: SessionState, moment: Moment) -> str:
    """Where the user asks, the context is half full, a pause is over, or half an hour has passed; and on a topic."""
    context = moment.context
    active_at = moment.active_at
    if active_at is None and context.previous is not None:  # this event is in `state` already
        active_at = _active_at(context.previous, context.now)
    trigger = trigger_of(
        state,
        message=moment.message,
        percent=moment.percent,
        active_at=active_at,
        now=context.now,
        bounds=_bounds(context.config),
    )
    moment.about = {"trigger": trigger}
    if not trigger:
        return NOT_DUE
    asked = query(state, moment)
    moment.about["query"] = asked
    return "" if asked else NO_TOPIC


def query(state: SessionState, moment: Moment) -> str:
    """What the session talks about; of a prompt that names something, what that says."""
    names = names_in(moment.message)[0]
    asked = topics.query_of((), moment.message) if names else ""
    return asked if asked or moment.about["trigger"] == NAMED else topics.query_of(state["messages"], moment.message)


def compose(state: SessionState, moment: Moment, hits: Sequence[Hit]) -> Text | None:
    """Memories that the agent does not have before it, what happened, and what other sessions wrote today.

    Where a name in the prompt is all that brings it, the memories that begin with that name.
    """
    from session.inject import selection

    trigger, already = moment.about["trigger"], frozenset(state["injectedMemories"])
    said = moment.message or " ".join(entry["text"] for entry in state["messages"])
    fresh = {hit["id"]: hit for hit in selection.bearing(hits, state, said) if hit["id"] not in already}
    changes: tuple[list[str], list[str], list[str]] = ([], [], [])
    if trigger == NAMED:
        named = names_in(moment.message)[0]
        shared = {
            identifier: selection.names_shared(hit, named)
            for identifier, hit in fresh.items()
            if hit["score"] >= selection.TURN_LEAST
        }
        chosen = selection.select([fresh[one] for one, names in shared.items() if names], state)[:NAMED_SHOWN]
        told = dict.fromkeys(name for memory in chosen for name in shared[memory["id"]])
        why = f"the user names {', '.join(list(told)[:_NAMES_TOLD])}"
    else:
        chosen = selection.select(list(fresh.values()), state)
        why, changes = _why(trigger, state, moment.percent, moment.context.now), _changes(state, moment)
    memories: list[Memory] = [{**memory, "category": _label(fresh[memory["id"]], memory, state)} for memory in chosen]
    made = text_of(why, memories, *changes)
    if made is None:
        return None
    return {
        "content": made["content"],
        "memories": made["memories"],
        "customType": CUSTOM_TYPE,
        "event": "context.refresh.injected",
        "about": {"eventsCount": made["events"], "dailyLog": made["log"] > 0},
        "eventAbout": {"reason": trigger},
    }


def _changes(state: SessionState, moment: Moment) -> tuple[list[str], list[str], list[str]]:
    """What happened, what other sessions wrote today, and what others of the project did, since the last refresh."""
    from session import daily_log

    context, last = moment.context, state["lastRefreshAt"]
    since = context.now - _WINDOW_MS if last is None else max(last, context.now - _WINDOW_MS)
    project = moment.project_of(state)
    everywhere = not project and context.serves_all(state)
    happened = context.store.happened(since, project=project, session=state["sessionId"], everywhere=everywhere)
    events = event_lines(*happened, context.now) if happened else []
    began = state["startedAt"] if last is None else last
    others = meanwhile(context.store.meanwhile(project, began, without=state["sessionId"]), context.now)
    if others:  # they say more than the log's lines of the same sessions
        return events, [], others
    logged = daily_log.today(
        context.now,
        LOG_SHOWN,
        without=state["sessionId"],
        project=project,
        apart=not everywhere,
        since=began,
        notes=last is None,
        config=context.config,
    )
    return events, logged, []


def _label(hit: Hit, memory: Memory, state: SessionState) -> str:
    """What stands before a memory: its category; of a turn, where it was said."""
    if hit["collection"] != "episodes":
        return memory["category"]
    own = hit["session"] == state["sessionId"]
    return "earlier in this session" if own else f"another session, {hit['timestamp'][:10]}"


def apply(state: SessionState, moment: Moment, text: Text | None) -> SessionState:
    """When it was looked at, with or without anything to tell; what a prompt names puts no refresh off."""
    if moment.about["trigger"] == NAMED:
        return state
    is_half = moment.about["trigger"] == HALF
    return {
        **state,
        "lastRefreshAt": moment.context.now,
        "halfRefreshed": state["halfRefreshed"] or is_half,
    }


def trigger_of(
    state: SessionState, *, message: str, percent: float | None, active_at: int | None, now: int, bounds: Bounds
) -> str:
    """What makes a refresh due: one of STATUS, HALF, IDLE, INTERVAL, else NAMED; "" where nothing does.

    Args:
        message: what the user just said, "" where they said nothing.
        percent: context usage, None where it is not known.
        active_at: when the session did something before this message; None to tell it from the state.
        now: ms since the epoch, like all times.
    """
    if bounds["named"] and message and names_in(message)[0]:
        return _changed(state, message, percent, active_at, now, bounds) or NAMED
    return _changed(state, message, percent, active_at, now, bounds)


def _changed(
    state: SessionState, message: str, percent: float | None, active_at: int | None, now: int, bounds: Bounds
) -> str:
    """What lets it be expected that something changed."""
    last = state["lastRefreshAt"]
    if zones.is_rapid(state, now, bounds["cooldownMs"]):  # what was recovered is all there is to know
        return ""
    if last is not None and 0 <= now - last < bounds["cooldownMs"]:
        return ""
    if message and is_status_question(message):
        return STATUS
    if bounds["percent"] and percent is not None and percent >= bounds["percent"] and not state["halfRefreshed"]:
        return HALF
    if not message or now - state["startedAt"] < _QUIET_MS:
        return ""
    since = state["startedAt"] if last is None or last > now else last
    active_at = _active_at(state, now) if active_at is None else active_at
    if bounds["idleMinutes"] and now - active_at >= bounds["idleMinutes"] * _MINUTE_MS:
        return IDLE
    return INTERVAL if bounds["minutes"] and now - since > bounds["minutes"] * _MINUTE_MS else ""


def _active_at(state: SessionState, now: int) -> int:
    known = state["lastMessageAt"]
    last = state["startedAt"] if known is None else known
    return last if now - state["updatedAt"] < _HERE_MS else max(last, state["updatedAt"])


def event_lines(bad: Sequence[Event], tally: Iterable[tuple[str, str, str, str, int]], now: int) -> list[str]:
    """What happened, a line each and at most five: what went wrong first, the newest first, then counts by action.

    Args:
        bad: failures, warnings and errors, newest first.
        tally: level, source, component, action and how many.
    """
    groups: dict[tuple[str, str], list[Event]] = {}
    for event in bad:
        if event["component"] not in _OWN and event["action"] not in _OWN_ACTIONS:
            groups.setdefault((event["action"], event["source"]), []).append(event)
    lines = []
    for (action, source), events in groups.items():
        newest = events[0]
        level = newest["level"] if newest["level"] in _BAD else "failed"
        times = f" ×{len(events)}" if len(events) > 1 else ""
        said = f": {newest['error']}" if newest.get("error") not in (None, "", "operation_failed") else ""
        minutes = max(0, now - newest["timestamp"]) // _MINUTE_MS
        lines.append(f"{level} {action} ({source}){times}, {minutes} min ago{said}")
    counts: dict[tuple[str, str], int] = {}
    for level, source, component, action, number in tally:
        if (
            level not in ("debug", *_BAD)
            and component not in _OWN
            and action not in _OWN_ACTIONS
            and (action, source) not in groups
        ):
            counts[action, source] = counts.get((action, source), 0) + number
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines += [f"{action} ({source}) ×{number}" for (action, source), number in ranked[:EVENTS_SHOWN]]
    return lines[:EVENTS_SHOWN]


def meanwhile(sessions: Sequence[Work], now: int) -> list[str]:
    """What other sessions of the project did: who, when, for what, and the files most at work; a line each."""
    if not sessions:
        return []
    from session.inject import work

    lines = []
    for one in sessions:
        minutes = max(0, now - one["session"]["updated_at"]) // _MINUTE_MS
        task = work.opening(work.last_task(one["prompts"]), OTHERS_CHARS)
        total = one["session"]["calls"]
        files = work.working_set(one["names"], total, without=(), characters=OTHERS_CHARS, most_files=OTHERS_FILES)
        named = ", ".join(file for file, _ in files if file)
        what = "; ".join(filter(None, (task, f"at work in {named}" if named else "")))
        if what:
            lines.append(f"{one['session']['client']}, {minutes} min ago: {what}")
    return lines


def text_of(
    why: str,
    memories: Sequence[Memory],
    events: Sequence[str],
    log: Sequence[str],
    others: Sequence[str] = (),
) -> Refresh | None:
    """The text within 350 estimated tokens; None where there is nothing to tell.

    Args:
        why: what brought it, in our own words.
        log: entries of today's log, oldest first.
        others: what other sessions of the project did.
    """
    elsewhere = [line for line in map(one_line, others) if line]
    recalled = [(memory, one_line(memory["category"]), one_line(memory["text"])) for memory in memories]
    recalled = [entry for entry in recalled if entry[2]]
    happened = [line for line in map(one_line, events) if line]
    logged = [line for line in map(one_line, log) if line]
    if not (recalled or happened or logged or elsewhere):
        return None
    for most, characters, tokens, most_events, event_tokens, most_log, log_tokens in _STEPS:
        shown = recalled[:most]
        lines = [HEADING, f"**Why:** {why}"]
        if shown:
            lines.append("**Related memories:**")
            lines += [
                f"- [{clip(category, 30, 12) or 'memory'}] {clip(text, characters, tokens)}"
                for _, category, text in shown
            ]
        if elsewhere:
            lines.append("**Meanwhile in this project:**")
            lines += [f"- {clip(line, 200, log_tokens + 20)}" for line in elsewhere[:most_log]]
        if happened:
            lines.append("**Last 2 h:**")
            lines += [f"- {clip(line, 140, event_tokens)}" for line in happened[:most_events]]
        if logged:
            lines.append("**Today:**")
            lines += [f"- {clip(line, 160, log_tokens)}" for line in logged[-most_log:]]
        content = enclose(CUSTOM_TYPE, lines)
        if cost(content) <= MAX_TOKENS:
            return {
                "content": content,
                "memories": [memory for memory, _, _ in shown],
                "events": len(happened[:most_events]),
                "log": len(logged[-most_log:]),
            }
    return None


def _bounds(config: Config) -> Bounds:
    return {
        "minutes": config.number("refresh.minutes"),
        "idleMinutes": config.number("refresh.idle_minutes"),
        "percent": config.number("refresh.percent"),
        "cooldownMs": config.number("inject.cooldown_seconds") * 1000,
        "named": config.flag("refresh.named"),
    }


def _why(due: str, current: SessionState, percent: float | None, now: int) -> str:
    """What brought the refresh, for the agent."""
    if due == STATUS:
        return "the user asks how things stand"
    if due == HALF:
        return f"the context is {percent or 0:.0f} % full"
    if due == IDLE:
        return "the conversation goes on after a pause"
    last = current["lastRefreshAt"]
    since = current["startedAt"] if last is None else last
    return f"{max(0, now - since) // 60_000} minutes since the last one"
