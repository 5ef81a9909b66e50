"""`memory recent`, `memory stats` and `memory scorecard`: the contents and the use of the memory. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, clock
from core.store import overview, sessions
from core.store.rows import COLLECTIONS
from memory.gate import VERDICTS
from recall.query import short_category

if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.records import EventQuery

NOT_ENOUGH = "not enough yet"
MIN_COUNT = 5  # of fewer things, a single failure would be more than a fifth
# Description, unit, and the contract's bounds for green and yellow; high values are good if green is the higher bound.
METRICS = {
    "rewrite_fallback_rate": ("rewrites of a query that fell back to the query as it was", "rewrites", 0.1, 0.3),
    "memory_yield_rate": ("recalls that returned at least one memory", "recalls", 0.7, 0.5),
    "usage_coverage_rate": ("recalls with results whose use was recorded", "recalls with results", 0.95, 0.85),
    "observe_skip_rate": ("observations that the write gate discarded", "observations", 0.3, 0.5),
    "hook_answer_rate": ("hooks that answered in time", "hooks", 0.99, 0.95),
}


def recent(db: apsw.Connection, *, hours: float, count: int, now: int) -> list[dict[str, Any]]:
    """The newest observations of the last `hours` that were not forgotten, with any verdict of the write gate."""
    from core.store import documents  # `memory stats` does not need it

    return [
        {
            "id": document["id"],
            "at": clock.iso(document["created_at"]),
            "observation": document["text"][:120],
            "category": short_category(document["category_id"]),
            "source": document["source"],
            "verdict": document["write_verdict"],
        }
        for document in documents.recent(db, "observations", int(now - hours * clock.HOUR_MS), count)
    ]


def stats(db: apsw.Connection) -> dict[str, Any]:
    """Counts of the memories that were not forgotten, and of those that were; the 50 largest sources and projects."""
    counts, span = overview.counts(db), overview.span(db)
    archived, calls = sessions.totals(db)
    category, source, project = (overview.largest(db, name, 50) for name in ("category", "source", "project"))
    return {
        "total": sum(entry["total"] for entry in counts.values()),
        "forgotten": sum(entry["forgotten"] for entry in counts.values()),
        "merged": span["merges"],
        "sessions": archived,
        "toolCalls": calls,
        "collections": {name: counts[name]["total"] for name in COLLECTIONS},
        "verdicts": {name: sum(entry.get(name, 0) for entry in counts.values()) for name in VERDICTS},
        "categories": category,
        "sources": source,
        "projects": project,
        **{name: None if (at := span[name]) is None else clock.iso(at) for name in ("oldest", "newest")},
    }


def scorecard(db: apsw.Connection, *, hours: float, now: int) -> dict[str, Any]:
    """The contract's rates over the last `hours`. The overall status is the worst; a red metric breaches its gate."""
    counts = _counts(db, int(now - hours * clock.HOUR_MS))
    metrics = [_metric(name, part, whole) for name, (part, whole) in counts.items()]
    statuses = [metric["status"] for metric in metrics if metric["status"] != NOT_ENOUGH]
    return {
        "hours": hours,
        "computedAt": clock.iso(now),
        "metrics": metrics,
        "overallStatus": min(statuses, key=("red", "yellow", "green").index, default=NOT_ENOUGH),
        "gatesBreached": [metric["name"] for metric in metrics if metric["status"] == "red"],
    }


def _metric(name: str, part: int, whole: int) -> dict[str, Any]:
    description, unit, green, yellow = METRICS[name]
    about = {"name": name, "value": None, "description": description}
    if whole < MIN_COUNT:
        return {**about, "status": NOT_ENOUGH, "detail": f"{whole or 'no'} {unit} in this time, {MIN_COUNT} are needed"}
    value = part / whole
    is_green, is_yellow = ((value >= bound) if green > yellow else (value <= bound) for bound in (green, yellow))
    status = "green" if is_green else "yellow" if is_yellow else "red"
    return {**about, "value": round(value, 4), "status": status, "detail": f"{part} of {whole} {unit}"}


def _counts(db: apsw.Connection, since: int) -> dict[str, tuple[int, int]]:
    """For each metric: how many of how many. A recall was used if a memory was marked as used after it."""
    from core.store import events, hook_calls  # `memory stats` does not need them

    query: EventQuery = {
        "any_of": [["recall", "completed"]], "levels": [], "sources": [], "components": ["recall-cli"], "session": "",
        "system": "", "success": None, "since": since,
    }  # fmt: skip
    recalls = [event for event in events.newest(db, query, 200_000) if event["action"] == "memory.recall.completed"]
    rewrites = [event["metadata"].get("rewrite") for event in recalls]
    strategies = [str((entry.get("strategy") if isinstance(entry, dict) else entry) or "") for entry in rewrites]
    tried = [strategy for strategy in strategies if strategy and not strategy.startswith(("skip", "disabled"))]
    with_results = [event for event in recalls if event["metadata"].get("returned")]
    last_used = (overview.last_used(db) if with_results else None) or 0
    noted = sum(last_used >= event["timestamp"] - 1000 for event in with_results)
    verdicts = overview.verdicts_since(db, "observations", since)
    hooks = hook_calls.of_session(db, since=since)
    in_time = sum(hook["outcome"] in ("ok", "degraded") for hook in hooks)
    return {
        "rewrite_fallback_rate": (sum("fallback" in name or "fail" in name for name in tried), len(tried)),
        "memory_yield_rate": (len(with_results), len(recalls)),
        "usage_coverage_rate": (noted, len(with_results)),
        "observe_skip_rate": (verdicts.get("discard", 0), sum(verdicts.values())),
        "hook_answer_rate": (in_time, len(hooks)),
    }
