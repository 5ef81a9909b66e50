"""The text of a refresh: memories, what happened in the system, what other sessions did; within 350 tokens."""

from __future__ import annotations

from core import clock
from core.names import names_in
from core.quoting import clip, cost, enclose, one_line
from session.inject import refresh
from session.inject.selection import kept_by_somebody, names_shared, select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.records import Event, Hit
    from session.inject.runner import Situation
    from session.records import Memory, SessionState, Text
    from session.session_store import Work

HEADING = "## Context Refresh"
CUSTOM_TYPE = "context-refresh"
MAX_TOKENS = 350
NAMED_SHOWN = 2
_NAMES_TOLD = 3
EVENTS_SHOWN = 5
LOG_SHOWN = 3
_MINUTE_MS = 60_000
_WINDOW_MS = 2 * clock.HOUR_MS
_TASK_CHARS = 100
# What joelclaw itself does is no news.
_OWN = frozenset("session-lifecycle memory-enforcer memory-feedback recall-cli hook knowledge-cli observe".split())
_OWN_ACTIONS = frozenset(("project.file_dropped", "home.modes.corrected"))
_BAD = ("warn", "error", "fatal")
# Tried in this order: entries of each kind, tokens of each.
_STEPS = ((3, 60), (3, 40), (3, 28), (2, 28), (1, 20))


def compose(state: SessionState, situation: Situation, trigger: str, hits: Sequence[Hit]) -> Text | None:
    """The text; None where there is nothing to tell. Where a name in the prompt brings it, what names it too."""
    fresh = [hit for hit in kept_by_somebody(hits, state) if hit["id"] not in state["injectedMemories"]]
    events: list[str] = []
    log: list[str] = []
    others: list[str] = []
    if trigger == refresh.NAMED:
        asked = names_in(situation.message)[0]
        shared = {hit["id"]: names for hit in fresh if (names := names_shared(hit, asked))}
        memories = select([hit for hit in fresh if hit["id"] in shared], state)[:NAMED_SHOWN]
        told = dict.fromkeys(name for memory in memories for name in shared[memory["id"]])
        why = f"the user names {', '.join(list(told)[:_NAMES_TOLD])}"
    else:
        memories = select(fresh, state)
        why = _why(trigger, state, situation)
        events, log, others = _changes(state, situation)
    return text_of(why, trigger, memories, events, log, others)


def text_of(
    why: str,
    trigger: str,
    memories: Sequence[Memory],
    events: Sequence[str],
    log: Sequence[str],
    others: Sequence[str] = (),
) -> Text | None:
    """The text within 350 estimated tokens; None where there is nothing to tell.

    Args:
        why: what brought it, in our own words.
        log: entries of today's log, oldest first.
        others: what other sessions of the project did.
    """
    recalled = [memory for memory in memories if one_line(memory["text"])]
    bullets = [f"[{clip(one_line(one['category']), 30) or 'memory'}] {one_line(one['text'])}" for one in recalled]
    elsewhere, happened, logged = ([line for line in map(one_line, given) if line] for given in (others, events, log))
    for most, tokens in _STEPS if bullets or elsewhere or happened or logged else ():
        parts = (
            ("**Related memories:**", bullets[:most], 230),
            ("**Meanwhile in this project:**", elsewhere[:most], 200),
            ("**Last 2 h:**", happened[: most + 2], 140),
            ("**Today:**", logged[-most:], 160),
        )
        lines = [HEADING, f"**Why:** {why}"]
        for heading, entries, characters in parts:
            lines += [heading] if entries else []
            lines += [f"- {clip(entry, characters, tokens)}" for entry in entries]
        content = enclose(CUSTOM_TYPE, lines)
        if cost(content) <= MAX_TOKENS:
            return {
                "content": content,
                "memories": recalled[:most],
                "customType": CUSTOM_TYPE,
                "event": "context.refresh.injected",
                "about": {"eventsCount": len(parts[2][1]), "dailyLog": bool(logged)},
                "eventAbout": {"reason": trigger},
            }
    return None


def _changes(state: SessionState, situation: Situation) -> tuple[list[str], list[str], list[str]]:
    """What happened, what other sessions wrote today, and what others of the project did, since the last refresh."""
    from session import daily_log

    context, last, own = situation.context, state["lastRefreshAt"], state["sessionId"]
    since = context.now - _WINDOW_MS if last is None else max(last, context.now - _WINDOW_MS)
    project = situation.project_of(state)
    everywhere = not project and context.serves_all(state)
    happened = context.store.happened(since, project=project, session=own, everywhere=everywhere)
    events = event_lines(*happened, context.now) if happened else []
    began = state["startedAt"] if last is None else last
    others = _meanwhile(context.store.meanwhile(project, began, without=own), context.now)
    if others:  # they say more than the log's lines of the same sessions
        return events, [], others
    logged = daily_log.today(
        context.now, LOG_SHOWN, context.config,
        without=own, project=project, apart=not everywhere, since=began, notes=last is None,
    )  # fmt: skip
    return events, logged, []


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
        ours = component in _OWN or action in _OWN_ACTIONS
        if level not in ("debug", *_BAD) and not ours and (action, source) not in groups:
            counts[action, source] = counts.get((action, source), 0) + number
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [*lines, *(f"{action} ({source}) ×{number}" for (action, source), number in ranked)][:EVENTS_SHOWN]


def _meanwhile(sessions: Sequence[Work], now: int) -> list[str]:
    """What other sessions of the project did: who, when, for what; a line each."""
    if not sessions:
        return []
    from session.inject import work

    lines = []
    for one in sessions:
        task = work.opening(work.last_task(one["prompts"]), _TASK_CHARS)
        files = work.files_at_work(one["names"], one["session"]["calls"], 2)
        what = "; ".join(filter(None, (task, f"at work in {', '.join(files)}" if files else "")))
        if what:
            minutes = max(0, now - one["session"]["updated_at"]) // _MINUTE_MS
            lines.append(f"{one['session']['client']}, {minutes} min ago: {what}")
    return lines


def _why(trigger: str, state: SessionState, situation: Situation) -> str:
    """What brought the refresh, for the agent."""
    if trigger == refresh.STATUS:
        return "the user asks how things stand"
    if trigger == refresh.HALF:
        return f"the context is {situation.percent or 0:.0f} % full"
    if trigger == refresh.IDLE:
        return "the conversation goes on after a pause"
    since = state["startedAt"] if state["lastRefreshAt"] is None else state["lastRefreshAt"]
    return f"{max(0, situation.context.now - since) // _MINUTE_MS} minutes since the last one"
