"""What there is in memory, and how well it does: `memory recent`, `memory stats` and `memory scorecard`.

The scorecard is made of the store's own events, observations and hooks; its names and bounds are the mirrored CLI's. A
rate of fewer than `LEAST` things has the value None and the status `not enough yet`; it breaches nothing.
"""

from __future__ import annotations

from core import clock
from core.store import documents, events, overview
from core.store.history import hook_calls
from core.store.layout import COLLECTIONS
from core.store.sessions import session_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    import apsw

    from core.records import Event, EventQuery

    class Stats(TypedDict):
        """Counts of what was not forgotten; `forgotten` counts the rest. The largest 50 sources and projects are
        named."""

        total: int
        forgotten: int
        merged: int
        sessions: int
        toolCalls: int
        collections: dict[str, int]
        verdicts: dict[str, int]
        categories: dict[str, int]
        sources: dict[str, int]
        projects: dict[str, int]
        oldest: str | None
        newest: str | None

    class Metric(TypedDict):
        """One rate, 0 to 1, and what it was computed from."""

        name: str
        value: float | None
        description: str
        status: str
        detail: str

    class Scorecard(TypedDict):
        """`gatesBreached` are the names of the red metrics; `overallStatus` is that of the worst."""

        hours: float
        computedAt: str
        metrics: list[Metric]
        overallStatus: str
        gatesBreached: list[str]


NOT_ENOUGH = "not enough yet"
LEAST = 5
"""Of fewer things a rate says nothing: one that failed would be a fifth or more."""
_ORDER = ("red", "yellow", "green")
_MOST_EVENTS = 200_000
_MOST_NAMED = 50
_SHOWN = 120


def recent(db: apsw.Connection | None, *, hours: float, count: int, now: int) -> list[dict[str, Any]]:
    """The newest observations of the last `hours` that were not forgotten, whatever the gate said of them."""
    if db is None:
        return []
    from recall import categories

    return [
        {
            "id": document["id"],
            "at": clock.iso(document["created_at"]),
            "observation": document["text"][:_SHOWN],
            "category": categories.short(document["category_id"]),
            "source": document["source"],
            "verdict": document["write_verdict"],
        }
        for document in documents.recent(db, "observations", int(now - hours * clock.HOUR_MS), count)
    ]


def stats(db: apsw.Connection | None) -> Stats:
    """Count the store; all is zero where there is none."""
    if db is None:
        return {
            "total": 0, "forgotten": 0, "merged": 0, "sessions": 0, "toolCalls": 0,
            "collections": dict.fromkeys(COLLECTIONS, 0), "verdicts": {}, "categories": {}, "sources": {},
            "projects": {}, "oldest": None, "newest": None,
        }  # fmt: skip
    counts = overview.counts(db)
    span = overview.span(db)
    sessions, kept_calls = session_rows.totals(db)
    verdicts = ("allow", "hold", "discard")
    return {
        "total": sum(entry["total"] for entry in counts.values()),
        "forgotten": sum(entry["forgotten"] for entry in counts.values()),
        "merged": span["merges"],
        "sessions": sessions,
        "toolCalls": kept_calls,
        "collections": {name: entry["total"] for name, entry in counts.items()},
        "verdicts": {name: sum(entry.get(name, 0) for entry in counts.values()) for name in verdicts},
        "categories": overview.largest(db, "category", _MOST_NAMED),
        "sources": overview.largest(db, "source", _MOST_NAMED),
        "projects": overview.largest(db, "project", _MOST_NAMED),
        "oldest": None if span["oldest"] is None else clock.iso(span["oldest"]),
        "newest": None if span["newest"] is None else clock.iso(span["newest"]),
    }


def scorecard(db: apsw.Connection | None, *, hours: float, now: int) -> Scorecard:
    """The rates over the last `hours`; `now` in ms since the epoch."""
    since = int(now - hours * clock.HOUR_MS)
    recalls = _recalls(db, since) if db is not None else []
    metrics = [_fallbacks(recalls), _yield(recalls), _coverage(db, recalls), _skips(db, since), _hooks(db, since)]
    statuses = [metric["status"] for metric in metrics if metric["status"] != NOT_ENOUGH]
    return {
        "hours": hours,
        "computedAt": clock.iso(now),
        "metrics": metrics,
        "overallStatus": min(statuses, key=_ORDER.index, default=NOT_ENOUGH),
        "gatesBreached": [metric["name"] for metric in metrics if metric["status"] == "red"],
    }


def _recalls(db: apsw.Connection, since: int) -> list[Event]:
    query: EventQuery = {
        "words": ["recall", "completed"], "levels": [], "sources": [], "components": ["recall-cli"], "session": "",
        "system": "", "success": None, "since": since,
    }  # fmt: skip
    return [event for event in events.newest(db, query, _MOST_EVENTS) if event["action"] == "memory.recall.completed"]


def _metric(
    name: str, description: str, part: int, whole: int, what: str, bounds: tuple[float, float], low_is_good: bool
) -> Metric:
    if whole < LEAST:
        return {
            "name": name,
            "value": None,
            "description": description,
            "status": NOT_ENOUGH,
            "detail": f"{whole or 'no'} {what} in this time, {LEAST} are needed",
        }
    value = part / whole
    green, yellow = ((value <= b) if low_is_good else (value >= b) for b in bounds)
    return {
        "name": name,
        "value": round(value, 4),
        "description": description,
        "status": "green" if green else "yellow" if yellow else "red",
        "detail": f"{part} of {whole} {what}",
    }


def _fallbacks(recalls: Sequence[Event]) -> Metric:
    """A rewrite that was skipped on purpose (a short query, the lean budget) is none that fell back."""
    tried = [
        strategy for strategy in map(_strategy, recalls) if strategy and not strategy.startswith(("skip", "disabled"))
    ]
    fell = sum("fallback" in strategy or "fail" in strategy for strategy in tried)
    return _metric(
        "rewrite_fallback_rate", "rewrites of a query that fell back to the query as it was", fell, len(tried),
        "rewrites", (0.1, 0.3), low_is_good=True,
    )  # fmt: skip


def _strategy(event: Event) -> str:
    value = event["metadata"].get("rewrite")
    if isinstance(value, dict):
        value = value.get("strategy")
    return value if isinstance(value, str) else ""


def _returned(event: Event) -> int:
    value = event["metadata"].get("returned")
    return int(value) if isinstance(value, (int, float)) else 0


def _yield(recalls: Sequence[Event]) -> Metric:
    useful = sum(_returned(event) > 0 for event in recalls)
    return _metric(
        "memory_yield_rate", "recalls that returned at least one memory", useful, len(recalls), "recalls", (0.7, 0.5),
        low_is_good=False,
    )  # fmt: skip


def _coverage(db: apsw.Connection | None, recalls: Sequence[Event]) -> Metric:
    """A recall's use is noted when some memory was marked as used at or after it (less a second, for clocks)."""
    answered = [event for event in recalls if _returned(event)]
    last = overview.last_used(db) if db is not None and answered else None
    noted = sum(last is not None and last >= event["timestamp"] - 1000 for event in answered)
    return _metric(
        "usage_coverage_rate", "recalls with an answer whose use was noted in the memories", noted, len(answered),
        "recalls with an answer", (0.95, 0.85), low_is_good=False,
    )  # fmt: skip


def _skips(db: apsw.Connection | None, since: int) -> Metric:
    counted = overview.verdicts_since(db, "observations", since) if db is not None else {}
    return _metric(
        "observe_skip_rate", "observations that the write gate discarded", counted.get("discard", 0),
        sum(counted.values()), "observations", (0.3, 0.5), low_is_good=True,
    )  # fmt: skip


def _hooks(db: apsw.Connection | None, since: int) -> Metric:
    """A hook that did only a part of its work has answered; one that failed, or was late, gave an empty answer."""
    found = hook_calls.outcomes(db, since) if db is not None else []
    answered = sum(number for _, _, outcome, number in found if outcome in ("ok", "degraded"))
    return _metric(
        "hook_answer_rate", "hooks that answered in time", answered, sum(number for *_, number in found), "hooks",
        (0.99, 0.95), low_is_good=False,
    )  # fmt: skip
