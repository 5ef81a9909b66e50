"""One session in detail, and a report over all: what hooks cost, what was injected and used, what failed."""

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from core import clock
from core.config import Config
from core.store import history
from core.store.sessions import name_rows, session_rows
from memory.noise import is_own
from memory.reports import LEAST
from session.session_report import listing
from session.session_report import turns as telling
from session.state import rules

_MEMORY_CHARS = 160
_MOST_ERRORS = 12
_OUTCOMES = ("ok", "degraded", "failed", "late")
"""Of a hook; `late` gave the empty answer at the deadline."""


def of_session(db: apsw.Connection, session: str, config: Config) -> dict[str, Any]:
    """What is known of a session."""
    archived = session_rows.session(db, session)
    about = listing.Known(session, 0, archived, hooks=history.extent(db, session)).read()
    state = about.state
    hooks, events = history.hooks_of(db, session), history.events(db, session)
    injected = history.injected(db, session)
    prompts = [
        one for one in session_rows.timed_prompts(db, session) if one["text"].strip() and not is_own(one["text"])
    ]
    calls = history.call_times(db, session)
    named = [name for one in injected for name in one["memories"]]
    named += [name for event in events if isinstance(name := event["metadata"].get("memoryId"), str)]
    texts = history.memory_texts(db, named, _MEMORY_CHARS)
    moments = telling.of_events(events, injected, texts)
    moments += telling.of_compactions(events, name_rows.compactions(db, session)) + telling.of_hooks(hooks)
    turns = telling.turns_of(hooks, prompts, calls, moments, zone_of=lambda percent: rules.zone_of(percent, config))
    times = [one["at"] for kind in (hooks, events, prompts) for one in kind] + [at for at, _, _ in calls]
    times += [state["startedAt"], state["updatedAt"]] if state else []
    times = [at for at in (*times, archived["updated_at"] if archived else 0) if at > 0]
    row = listing.row(db, about, config)
    percent = row["contextPercent"]
    if percent is None:
        percent = next((one["percent"] for one in reversed(hooks) if one["percent"] is not None), None)
    happened = [one for turn in turns for one in turn["moments"]]
    kinds = [one["kind"] for one in happened]
    outcomes: dict[str, str] = {}
    for handed in (memory for one in happened for memory in one.get("memories", ())):
        if outcomes.get(handed["id"]) != "echo":
            outcomes[handed["id"]] = handed["outcome"]
    became = list(outcomes.values())
    return {
        **row,
        "role": state["role"] if state else "",
        "folder": (archived["folder"] if archived else "") or (state["cwd"] if state else ""),
        "startedAt": clock.iso(min(times, default=None)),
        "updatedAt": clock.iso(max(times, default=None)),
        "contextPercent": percent,
        "zone": rules.zone_of(percent, config),
        "turnCount": sum(turn["number"] > 0 for turn in turns),
        "toolCalls": len(calls),
        "failedCalls": sum(failed for _, _, failed in calls),
        "compactions": max(row["compactions"], kinds.count("compaction")),
        "recalls": sum(event["action"] in telling.RECALLS for event in events),
        "injections": {
            "count": kinds.count("injection"),
            "tokens": sum(one["tokens"] for one in injected),
            "chars": sum(len(one["text"]) for one in injected),
        },
        "memories": {"injected": len(became), **{name: became.count(name) for name in ("echo", "fizzle", "open")}},
        "hooks": _figures(hooks),
        "hooksByEvent": _by(hooks, "event"),
        "problem": about.problem,
        "turns": turns,
    }


def of_all(db: apsw.Connection, *, hours: float, now: int) -> dict[str, Any]:
    """The report on the last `hours`; `now` in ms since the epoch."""
    since = max(0, int(now - hours * clock.HOUR_MS))
    actions: dict[str, int] = {}
    for action, number in history.event_counts(db, since).items():
        action = action.removeprefix("gateway.")
        actions[action] = actions.get(action, 0) + number
    echo, fizzle = actions.get("memory.echo", 0), actions.get("memory.fizzle", 0)
    recalls, hooks = history.recalls(db, since), history.hooks_of(db, since=since)
    figures = _figures(hooks)
    hits = sum(returned > 0 for returned, _ in recalls)
    names = ("customType", "count", "tokens", "memories")
    given = [dict(zip(names, row, strict=True)) for row in history.injections_by_kind(db, since)]
    errors = history.errors(db, since)
    return {
        "hours": hours,
        "since": clock.iso(since),
        "computedAt": clock.iso(now),
        "leastCounted": LEAST,
        "sessions": len({one["session"] for one in hooks if one["outcome"] in ("ok", "degraded")}),
        "compactions": actions.get("compaction.before", 0),
        "hooks": {
            **figures,
            "answeredRate": rate(figures["ok"] + figures["degraded"], figures["count"]),
            "byEvent": _by(hooks, "client", "event"),
        },
        "recalls": {
            **cost(ms for _, ms in recalls),
            "count": len(recalls),
            "withHits": hits,
            "hitRate": rate(hits, len(recalls)),
        },
        "injections": {**{name: sum(row[name] for row in given) for name in names[1:]}, "byType": given},
        "feedback": {"judged": echo + fizzle, "echo": echo, "fizzle": fizzle, "echoRate": rate(echo, echo + fizzle)},
        "errors": {
            "total": sum(one["count"] for one in errors),
            "latest": [{**one, "at": clock.iso(one["at"])} for one in errors[:_MOST_ERRORS]],
        },
    }


def cost(durations: Iterable[float | None]) -> dict[str, Any]:
    """The figures of durations in ms, in any order, unknown ones left out; None where there are none."""
    ordered = sorted(one for one in durations if one is not None)
    return {
        "count": len(ordered),
        "totalMs": round(sum(ordered), 1),
        "p50": percentile(ordered, 50),
        "p95": percentile(ordered, 95),
        "max": round(ordered[-1], 1) if ordered else None,
    }


def percentile(ordered: Sequence[float], percent: int) -> float | None:
    """The smallest value of ascending ones that so many percent do not exceed (nearest rank); None without any."""
    rank = -(-len(ordered) * percent // 100)
    return round(ordered[max(0, rank - 1)], 1) if ordered else None


def rate(part: int, whole: int) -> float | None:
    """A share, 0 to 1; None of fewer than `memory.reports.LEAST`."""
    return round(part / whole, 4) if whole >= LEAST else None


def _figures(hooks: Sequence[Any]) -> dict[str, Any]:
    became = {name: sum(one["outcome"] == name for one in hooks) for name in _OUTCOMES}
    return {**cost(one["ms"] for one in hooks), "count": len(hooks), **became}


def _by(hooks: Sequence[Any], *names: str) -> list[dict[str, Any]]:
    groups: dict[tuple[str, ...], list[Any]] = {}
    for one in hooks:
        groups.setdefault(tuple(one[name] for name in names), []).append(one)
    rows = [{**dict(zip(names, key, strict=True)), **_figures(group)} for key, group in groups.items()]
    return sorted(rows, key=lambda one: (one.get("client", ""), -one["totalMs"], one["event"]))
