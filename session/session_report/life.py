"""One session's life as one record: who, what for, its turns, what it was given and used, what it cost."""

from __future__ import annotations

from core import clock
from core.errors import Failure
from core.store.history import hook_calls, injections, session_log
from core.store.sessions import call_search, calls
from session.session_report import listing, moment, timeline
from session.session_report.percentile import cost
from session.state import state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    import apsw

    from core.config import Config
    from core.records import HookCall, Prompt, Session
    from session.session_report.percentile import Cost
    from session.session_report.timeline import Point, Turn
    from session.state.schema import SessionState

    class HookCost(TypedDict):
        """What the hooks of one event cost."""

        event: str
        count: int
        totalMs: float
        p50: float | None
        p95: float | None
        max: float | None
        notOk: int

    class Life(TypedDict):
        """A session's life. Times are ISO in UTC, durations ms; what is not known is None or ""."""

        sessionId: str
        client: str
        role: str
        project: str
        folder: str
        startedAt: str
        updatedAt: str
        task: str
        contextPercent: float | None
        zone: str
        warmPercent: float
        hotPercent: float
        turnCount: int
        toolCalls: int
        failedCalls: int
        compactions: int
        recalls: int
        injections: dict[str, int]
        memories: dict[str, int]
        hooks: Cost
        hooksByEvent: list[HookCost]
        problem: str
        turns: list[Turn]
        context: list[Point]


MOST_POINTS = 400
MEMORY_CHARS = 160


def of_session(db: apsw.Connection | None, session: str, config: Config) -> Life:
    """What is known of a session; `session.session_report.chosen` says which it is.

    Raises:
        apsw.Error: the store cannot be read.
    """
    state, problem = _state(session)
    about = _Kept(db, session)
    named = [name for one in about.injected for name in one["memories"]]
    named += [name for event in about.events if isinstance(name := event["metadata"].get("memoryId"), str)]
    texts = session_log.memory_texts(db, named, MEMORY_CHARS) if db is not None else {}
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
    percent = _percent(state, about.hooks)
    times = _times(state, about)
    outcomes = _outcomes(turns)
    happened = [one for turn in turns for one in turn["moments"]]
    return {
        "sessionId": session,
        "client": known.client or next((one["client"] for one in about.hooks if one["client"]), ""),
        "role": state["role"] if state else "",
        "project": known.project,
        "folder": (about.archived["folder"] if about.archived else "") or (state["cwd"] if state else ""),
        "startedAt": clock.iso(min(times, default=None)),
        "updatedAt": clock.iso(max(times, default=None)),
        "task": _task(state, about.prompts),
        "contextPercent": percent,
        "zone": listing.zone(percent, config),
        "warmPercent": config.number("checkpoint.warm_percent"),
        "hotPercent": config.number("checkpoint.hot_percent"),
        "turnCount": sum(turn["number"] > 0 for turn in turns),
        "toolCalls": len(about.calls),
        "failedCalls": sum(failed for _, _, failed in about.calls),
        "compactions": max(
            state["checkpoint"]["compactionCount"] if state else 0,
            sum(one["kind"] == "compaction" for one in happened),
        ),
        "recalls": sum(one["kind"] == "recall" for one in happened),
        "injections": {
            "count": sum(one["kind"] == "injection" for one in happened),
            "tokens": sum(one["tokens"] for one in about.injected),
            "chars": sum(len(one["text"]) for one in about.injected),
        },
        "memories": outcomes,
        "hooks": cost([one["ms"] for one in about.hooks if one["ms"] is not None]),
        "hooksByEvent": _by_event(about.hooks),
        "problem": problem,
        "turns": turns,
        "context": timeline.points_of(about.hooks, turns, MOST_POINTS),
    }


class _Kept:
    """What the store keeps of a session; nothing where there is no store."""

    __slots__ = ("archived", "calls", "compactions", "events", "hooks", "injected", "prompts")

    def __init__(self, db: apsw.Connection | None, session: str) -> None:
        has_calls = db is not None and call_search.exists(db)
        self.archived: Session | None = calls.session(db, session) if db is not None and has_calls else None
        self.hooks = hook_calls.of_session(db, session) if db is not None else []
        self.injected = injections.of_session(db, session) if db is not None else []
        self.events = session_log.events(db, session) if db is not None else []
        self.prompts = _asked(session_log.prompts(db, session)) if db is not None else []
        self.calls = session_log.call_times(db, session) if db is not None and has_calls else []
        self.compactions = calls.compactions(db, session) if db is not None and has_calls else []


def _asked(prompts: Sequence[Prompt]) -> list[Prompt]:
    """What a person said: not our own texts come back."""
    from memory.noise import is_own

    return [one for one in prompts if one["text"].strip() and not is_own(one["text"])]


def _state(session: str) -> tuple[SessionState | None, str]:
    """The state, and why it cannot be read."""
    try:
        return state_file.peek(session), ""
    except Failure as failure:
        return None, failure.message


def _percent(state: SessionState | None, hooks: Sequence[HookCall]) -> float | None:
    if state is not None and state["checkpoint"]["contextPercentAtCapture"] is not None:
        return state["checkpoint"]["contextPercentAtCapture"]
    return next((one["percent"] for one in reversed(hooks) if one["percent"] is not None), None)


def _times(state: SessionState | None, about: _Kept) -> list[int]:
    """When anything was that is known of it, in ms since the epoch."""
    times = [one["at"] for one in (*about.hooks, *about.events, *about.prompts)]
    times += [at for at, _, _ in about.calls if at]
    if state is not None:
        times += [state["startedAt"], state["updatedAt"]]
    if about.archived is not None:
        times.append(about.archived["updated_at"])
    return [at for at in times if at > 0]


def _task(state: SessionState | None, prompts: Sequence[Prompt]) -> str:
    if state is not None and state["messages"]:
        return state["messages"][-1]["text"]
    return listing.last_task([one["text"] for one in prompts])


def _outcomes(turns: Sequence[Turn]) -> dict[str, int]:
    """How many memories the session was handed, each once, and what became of them."""
    last: dict[str, str] = {}
    for turn in turns:
        for one in turn["moments"]:
            for handed in one.get("memories", ()):
                if last.get(handed["id"]) != "echo":
                    last[handed["id"]] = handed["outcome"]
    found = list(last.values())
    return {"injected": len(found), **{name: found.count(name) for name in ("echo", "fizzle", "open")}}


def _by_event(hooks: Sequence[HookCall]) -> list[HookCost]:
    """What each event's hooks cost, the dearest event first."""
    groups: dict[str, list[HookCall]] = {}
    for one in hooks:
        groups.setdefault(one["event"], []).append(one)
    found: list[Any] = []
    for event, group in groups.items():
        known = [one["ms"] for one in group if one["ms"] is not None]
        bad = sum(one["outcome"] not in ("ok",) for one in group)
        found.append({"event": event, **cost(known), "count": len(group), "notOk": bad})
    return sorted(found, key=lambda one: -one["totalMs"])
