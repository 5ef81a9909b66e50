"""A report over all sessions: what hooks cost, what was handed out, how much of it was used, what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from core import clock
from core.store.history import hook_calls, injections, session_log
from memory.reports import LEAST

_MOST_ERRORS = 12
_OUTCOMES = ("ok", "degraded", "failed", "late")
"""Of a hook; `late` gave the empty answer at the deadline."""


def of_all(db: apsw.Connection, *, hours: float, now: int) -> dict[str, Any]:
    """The report on the last `hours`; `now` in ms since the epoch.

    A rate is 0 to 1, and None where fewer than `leastCounted` things were counted."""
    since = max(0, int(now - hours * clock.HOUR_MS))
    actions: dict[str, int] = {}
    for _, action, number in session_log.counts(db, since):
        actions[action] = actions.get(action, 0) + number
    echo, fizzle = actions.get("memory.echo", 0), actions.get("memory.fizzle", 0)
    return {
        "hours": hours,
        "since": clock.iso(since),
        "computedAt": clock.iso(now),
        "leastCounted": LEAST,
        "sessions": hook_calls.sessions_since(db, since),
        "compactions": actions.get("compaction.before", 0) + actions.get("gateway.compaction.before", 0),
        "hooks": _hooks(db, since),
        "recalls": _recalls(db, since),
        "injections": _injections(db, since),
        "feedback": {"judged": echo + fizzle, "echo": echo, "fizzle": fizzle, "echoRate": rate(echo, echo + fizzle)},
        "errors": _errors(db, since),
    }


def cost(durations: Sequence[float]) -> dict[str, Any]:
    """The figures of durations in ms, in any order; None where there are none."""
    ordered = sorted(durations)
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


def _hooks(db: apsw.Connection, since: int) -> dict[str, Any]:
    times: dict[tuple[str, str], list[float]] = {}
    for client, event, ms in hook_calls.times(db, since):
        times.setdefault((client, event), []).append(ms)
    became: dict[tuple[str, str], dict[str, int]] = {}
    for client, event, outcome, number in hook_calls.outcomes(db, since):
        became.setdefault((client, event), dict.fromkeys(_OUTCOMES, 0))[outcome] = number
    rows: list[dict[str, Any]] = []
    for (client, event), outcomes in became.items():
        bad = {name: outcomes[name] for name in _OUTCOMES[1:]}
        figures = {**cost(times.get((client, event), ())), "count": sum(outcomes.values())}
        rows.append({"client": client, "event": event, **figures, **bad})
    total = {name: sum(one[name] for one in became.values()) for name in _OUTCOMES}
    whole = sum(total.values())
    return {
        **cost([ms for group in times.values() for ms in group]),
        "count": whole,
        **total,
        "answeredRate": rate(total["ok"] + total["degraded"], whole),
        "byEvent": sorted(rows, key=lambda one: (one["client"], -one["totalMs"], one["event"])),
    }


def _recalls(db: apsw.Connection, since: int) -> dict[str, Any]:
    found = session_log.recalls(db, since)
    hits = sum(returned > 0 for returned, _ in found)
    figures = cost([ms for _, ms in found if ms is not None])
    return {**figures, "count": len(found), "withHits": hits, "hitRate": rate(hits, len(found))}


def _injections(db: apsw.Connection, since: int) -> dict[str, Any]:
    names = ("customType", "count", "tokens", "memories")
    rows = [dict(zip(names, row, strict=True)) for row in injections.by_kind(db, since)]
    return {**{name: sum(row[name] for row in rows) for name in names[1:]}, "byType": rows}


def _errors(db: apsw.Connection, since: int) -> dict[str, Any]:
    kinds = session_log.errors(db, since, _MOST_ERRORS)
    return {
        "total": session_log.error_count(db, since),
        "latest": [{**one, "at": clock.iso(one["at"])} for one in kinds],
    }
