"""One session's life as one record: who, what for, its turns, what it was given and used, what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from core import clock
from core.config import Config
from core.errors import Failure
from core.records import Compaction, HookCall, Session
from core.store.history import hook_calls, injections, session_log
from core.store.sessions import name_rows, session_rows, turn_rows
from memory.noise import is_own
from session.records import SessionState
from session.session_report import listing, moment, timeline
from session.session_report.report import cost
from session.state import state_file

MOST_POINTS = 400
MEMORY_CHARS = 160


def of_session(db: apsw.Connection, session: str, config: Config) -> dict[str, Any]:
    """What is known of a session; times are ISO in UTC, durations ms; what is not known is None or ""."""
    state, problem = _state(session)
    about = _Kept(db, session)
    named = [name for one in about.injected for name in one["memories"]]
    named += [name for event in about.events if isinstance(name := event["metadata"].get("memoryId"), str)]
    texts = session_log.memory_texts(db, named, MEMORY_CHARS)
    moments = [
        *moment.of_events(about.events, about.injected, texts),
        *moment.of_compactions(about.events, about.compactions),
        *moment.of_hooks(about.hooks),
    ]
    turns = timeline.turns_of(
        about.hooks, about.prompts, about.calls, moments, zone_of=lambda percent: listing.zone(percent, config)
    )
    known = listing.Known(session, 0, about.archived, problem)
    known.state = state
    times = [one["at"] for one in (*about.hooks, *about.events, *about.prompts)] + [at for at, _, _ in about.calls]
    times += [state["startedAt"], state["updatedAt"]] if state else []
    times += [about.archived["updated_at"]] if about.archived else []
    times = [at for at in times if at > 0]
    percent = state["checkpoint"]["contextPercentAtCapture"] if state else None
    if percent is None:
        percent = next((one["percent"] for one in reversed(about.hooks) if one["percent"] is not None), None)
    happened = [one for turn in turns for one in turn["moments"]]
    kinds = [one["kind"] for one in happened]
    return {
        "sessionId": session,
        "client": known.client or next((one["client"] for one in about.hooks if one["client"]), ""),
        "role": state["role"] if state else "",
        "project": known.project,
        "folder": (about.archived["folder"] if about.archived else "") or (state["cwd"] if state else ""),
        "startedAt": clock.iso(min(times, default=None)),
        "updatedAt": clock.iso(max(times, default=None)),
        "task": state["messages"][-1]["text"]
        if state and state["messages"]
        else listing.last_task([one["text"] for one in about.prompts]),
        "contextPercent": percent,
        "zone": listing.zone(percent, config),
        "warmPercent": config.get_float("checkpoint.warm_percent"),
        "hotPercent": config.get_float("checkpoint.hot_percent"),
        "turnCount": sum(turn["number"] > 0 for turn in turns),
        "toolCalls": len(about.calls),
        "failedCalls": sum(failed for _, _, failed in about.calls),
        "compactions": max(state["checkpoint"]["compactionCount"] if state else 0, kinds.count("compaction")),
        "recalls": kinds.count("recall"),
        "injections": {
            "count": kinds.count("injection"),
            "tokens": sum(one["tokens"] for one in about.injected),
            "chars": sum(len(one["text"]) for one in about.injected),
        },
        "memories": _outcomes([handed for one in happened for handed in one.get("memories", ())]),
        "hooks": cost([one["ms"] for one in about.hooks if one["ms"] is not None]),
        "hooksByEvent": _by_event(about.hooks),
        "problem": problem,
        "turns": turns,
        "context": timeline.points_of(about.hooks, turns, MOST_POINTS),
    }


class _Kept:
    """What the store keeps of a session; nothing where there is no store."""

    def __init__(self, db: apsw.Connection, session: str) -> None:
        self.prompts = [
            one for one in turn_rows.timed_prompts(db, session) if one["text"].strip() and not is_own(one["text"])
        ]
        self.hooks = hook_calls.of_session(db, session)
        self.injected = injections.of_session(db, session)
        self.events = session_log.events(db, session)
        self.archived: Session | None = session_rows.session(db, session)
        self.calls = session_log.call_times(db, session)
        self.compactions: list[Compaction] = name_rows.compactions(db, session)


def _state(session: str) -> tuple[SessionState | None, str]:
    """The state, and why it cannot be read."""
    try:
        return state_file.peek(session), ""
    except Failure as failure:
        return None, failure.message


def _outcomes(handed: Sequence[dict[str, str]]) -> dict[str, int]:
    """How many memories the session was handed, each once, and what became of them."""
    last: dict[str, str] = {}
    for one in handed:
        if last.get(one["id"]) != "echo":
            last[one["id"]] = one["outcome"]
    found = list(last.values())
    return {"injected": len(found), **{name: found.count(name) for name in ("echo", "fizzle", "open")}}


def _by_event(hooks: Sequence[HookCall]) -> list[dict[str, Any]]:
    """What each event's hooks cost, the dearest event first."""
    groups: dict[str, list[HookCall]] = {}
    for one in hooks:
        groups.setdefault(one["event"], []).append(one)
    found = []
    for event, group in groups.items():
        known = [one["ms"] for one in group if one["ms"] is not None]
        bad = sum(one["outcome"] != "ok" for one in group)
        found.append({"event": event, **cost(known), "count": len(group), "notOk": bad})
    return sorted(found, key=lambda one: -one["totalMs"])
