"""A report over all sessions: what hooks cost, what was handed out, how much of it was used, what went wrong."""

from __future__ import annotations

from core import clock
from core.store.history import hook_calls, injections, session_log
from memory.reports import LEAST
from session.session_report.percentile import cost, rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    import apsw

    from session.session_report.percentile import Cost

    class HookRow(TypedDict):
        """The hooks of one client's event; `late` gave the empty answer at the deadline."""

        client: str
        event: str
        count: int
        totalMs: float
        p50: float | None
        p95: float | None
        max: float | None
        degraded: int
        failed: int
        late: int

    class Report(TypedDict):
        """A rate is 0 to 1, and None where fewer than `leastCounted` things were counted."""

        hours: float
        since: str
        computedAt: str
        leastCounted: int
        sessions: int
        compactions: int
        hooks: dict[str, Any]
        recalls: dict[str, Any]
        injections: dict[str, Any]
        feedback: dict[str, Any]
        errors: dict[str, Any]


_MOST_ERRORS = 12
_EMPTY = {"ok": 0, "degraded": 0, "failed": 0, "late": 0}


def of_all(db: apsw.Connection | None, *, hours: float, now: int) -> Report:
    """The report on the last `hours`; `now` in ms since the epoch.

    Raises:
        apsw.Error: the store cannot be read.
    """
    since = max(0, int(now - hours * clock.HOUR_MS))
    counted = session_log.counts(db, since) if db is not None else []
    actions: dict[str, int] = {}
    for _, action, number in counted:
        actions[action] = actions.get(action, 0) + number
    return {
        "hours": hours,
        "since": clock.iso(since),
        "computedAt": clock.iso(now),
        "leastCounted": LEAST,
        "sessions": hook_calls.sessions_since(db, since) if db is not None else 0,
        "compactions": actions.get("compaction.before", 0) + actions.get("gateway.compaction.before", 0),
        "hooks": _hooks(db, since),
        "recalls": _recalls(db, since),
        "injections": _injections(db, since),
        "feedback": _feedback(actions),
        "errors": _errors(db, since),
    }


def _hooks(db: apsw.Connection | None, since: int) -> dict[str, Any]:
    times: dict[tuple[str, str], list[float]] = {}
    for client, event, ms in hook_calls.times(db, since) if db is not None else ():
        times.setdefault((client, event), []).append(ms)
    became: dict[tuple[str, str], dict[str, int]] = {}
    for client, event, outcome, number in hook_calls.outcomes(db, since) if db is not None else ():
        became.setdefault((client, event), {**_EMPTY})[outcome] = number
    rows: list[HookRow] = []
    for (client, event), outcomes in became.items():
        figures: Cost = cost(times.get((client, event), ()))
        bad = {name: outcomes[name] for name in ("degraded", "failed", "late")}
        number = sum(outcomes.values())
        rows.append({"client": client, "event": event, **figures, "count": number, **bad})  # type: ignore[typeddict-item]
    total = {name: sum(one[name] for one in became.values()) for name in _EMPTY}
    whole = sum(total.values())
    every = [ms for group in times.values() for ms in group]
    return {
        **cost(every),
        "count": whole,
        **total,
        "answeredRate": rate(total["ok"] + total["degraded"], whole),
        "byEvent": sorted(rows, key=lambda one: (one["client"], -one["totalMs"], one["event"])),
    }


def _recalls(db: apsw.Connection | None, since: int) -> dict[str, Any]:
    found = session_log.recalls(db, since) if db is not None else []
    hits = sum(returned > 0 for returned, _ in found)
    return {
        **cost([ms for _, ms in found if ms is not None]),
        "count": len(found),
        "withHits": hits,
        "hitRate": rate(hits, len(found)),
    }


def _injections(db: apsw.Connection | None, since: int) -> dict[str, Any]:
    rows = injections.by_kind(db, since) if db is not None else []
    names = ("customType", "count", "tokens", "memories")
    return {
        "count": sum(row[1] for row in rows),
        "tokens": sum(row[2] for row in rows),
        "memories": sum(row[3] for row in rows),
        "byType": [dict(zip(names, row, strict=True)) for row in rows],
    }


def _feedback(actions: dict[str, int]) -> dict[str, Any]:
    echo, fizzle = actions.get("memory.echo", 0), actions.get("memory.fizzle", 0)
    return {"judged": echo + fizzle, "echo": echo, "fizzle": fizzle, "echoRate": rate(echo, echo + fizzle)}


def _errors(db: apsw.Connection | None, since: int) -> dict[str, Any]:
    kinds = session_log.errors(db, since, _MOST_ERRORS) if db is not None else []
    total = session_log.error_count(db, since) if db is not None else 0
    return {"total": total, "latest": [{**one, "at": clock.iso(one["at"])} for one in kinds]}
