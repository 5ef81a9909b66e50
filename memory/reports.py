"""What there is in memory, and how well it does: `memory recent`, `memory stats` and `memory scorecard`."""

from __future__ import annotations

from core import TYPE_CHECKING, clock
from core.store import overview, sessions
from core.store.rows import COLLECTIONS
from memory.gate import VERDICTS
from recall import categories

if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.records import EventQuery

NOT_ENOUGH = "not enough yet"
LEAST = 5
"""Of fewer things a rate says nothing: one that failed would be a fifth or more."""
_MOST_EVENTS = 200_000
_MOST_NAMED = 50
_SHOWN = 120
# What a metric says, what it is of, and its bounds for green and yellow: high is good where the first is the higher.
_METRICS = {
    "rewrite_fallback_rate": ("rewrites of a query that fell back to the query as it was", "rewrites", 0.1, 0.3),
    "memory_yield_rate": ("recalls that returned at least one memory", "recalls", 0.7, 0.5),
    "usage_coverage_rate": (
        "recalls with results whose use was recorded", "recalls with results", 0.95, 0.85
    ),
    "observe_skip_rate": ("observations that the write gate discarded", "observations", 0.3, 0.5),
    "hook_answer_rate": ("hooks that answered in time", "hooks", 0.99, 0.95),
}  # fmt: skip


def recent(db: apsw.Connection, *, hours: float, count: int, now: int) -> list[dict[str, Any]]:
    """The newest observations of the last `hours` that were not forgotten, whatever the gate said of them."""
    from core.store import documents  # `memory stats` is hot

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


def stats(db: apsw.Connection) -> dict[str, Any]:
    """Counts of what was not forgotten; `forgotten` counts the rest. The largest 50 sources and projects are named."""
    counts, span = overview.counts(db), overview.span(db)
    archived, kept = sessions.totals(db)
    category, source, project = (overview.largest(db, name, _MOST_NAMED) for name in ("category", "source", "project"))
    return {
        "total": sum(entry["total"] for entry in counts.values()),
        "forgotten": sum(entry["forgotten"] for entry in counts.values()),
        "merged": span["merges"],
        "sessions": archived,
        "toolCalls": kept,
        "collections": {name: counts[name]["total"] for name in COLLECTIONS},
        "verdicts": {name: sum(entry.get(name, 0) for entry in counts.values()) for name in VERDICTS},
        "categories": category,
        "sources": source,
        "projects": project,
        **{name: None if (at := span[name]) is None else clock.iso(at) for name in ("oldest", "newest")},
    }


def scorecard(db: apsw.Connection, *, hours: float, now: int) -> dict[str, Any]:
    """The rates over the last `hours`; `now` in ms. The overall status is that of the worst, the red ones breach."""
    metrics = [_metric(name, *counted) for name, counted in _counted(db, int(now - hours * clock.HOUR_MS)).items()]
    statuses = [metric["status"] for metric in metrics if metric["status"] != NOT_ENOUGH]
    return {
        "hours": hours,
        "computedAt": clock.iso(now),
        "metrics": metrics,
        "overallStatus": min(statuses, key=("red", "yellow", "green").index, default=NOT_ENOUGH),
        "gatesBreached": [metric["name"] for metric in metrics if metric["status"] == "red"],
    }


def _metric(name: str, part: int, whole: int) -> dict[str, Any]:
    description, what, green, yellow = _METRICS[name]
    about = {"name": name, "value": None, "description": description}
    if whole < LEAST:
        return {**about, "status": NOT_ENOUGH, "detail": f"{whole or 'no'} {what} in this time, {LEAST} are needed"}
    value = part / whole
    good, fair = ((value >= bound) if green > yellow else (value <= bound) for bound in (green, yellow))
    status = "green" if good else "yellow" if fair else "red"
    return {**about, "value": round(value, 4), "status": status, "detail": f"{part} of {whole} {what}"}


def _counted(db: apsw.Connection, since: int) -> dict[str, tuple[int, int]]:
    """Of each metric how many of how many; a recall's use is noted when a memory was used at or after it, less 1 s."""
    from core.store import events, hook_calls  # `memory stats` is hot

    asked: EventQuery = {
        "any_of": [["recall", "completed"]], "levels": [], "sources": [], "components": ["recall-cli"], "session": "",
        "system": "", "success": None, "since": since,
    }  # fmt: skip
    recalls = [one for one in events.newest(db, asked, _MOST_EVENTS) if one["action"] == "memory.recall.completed"]
    told = [one["metadata"].get("rewrite") for one in recalls]
    strategies = [str((one.get("strategy") if isinstance(one, dict) else one) or "") for one in told]
    tried = [one for one in strategies if one and not one.startswith(("skip", "disabled"))]
    answered = [one for one in recalls if one["metadata"].get("returned")]
    last = (overview.last_used(db) if answered else None) or 0
    written = overview.verdicts_since(db, "observations", since)
    hooks = hook_calls.of_session(db, since=since)
    in_time = sum(one["outcome"] in ("ok", "degraded") for one in hooks)
    return {
        "rewrite_fallback_rate": (sum("fallback" in one or "fail" in one for one in tried), len(tried)),
        "memory_yield_rate": (len(answered), len(recalls)),
        "usage_coverage_rate": (sum(last >= one["timestamp"] - 1000 for one in answered), len(answered)),
        "observe_skip_rate": (written.get("discard", 0), sum(written.values())),
        "hook_answer_rate": (in_time, len(hooks)),
    }
