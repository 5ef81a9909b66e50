"""Figures of durations and rates: percentiles, shares, and what counts as too little to say anything."""

from __future__ import annotations

from memory.reports import LEAST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    class Cost(TypedDict):
        """Durations in ms: how many, their sum, median, 95th percentile and the longest; None without any."""

        count: int
        totalMs: float
        p50: float | None
        p95: float | None
        max: float | None


def cost(durations: Sequence[float]) -> Cost:
    """The figures of durations in ms, in any order."""
    ordered = sorted(durations)
    return {
        "count": len(ordered),
        "totalMs": round(sum(ordered), 1),
        "p50": percentile(ordered, 50),
        "p95": percentile(ordered, 95),
        "max": round(ordered[-1], 1) if ordered else None,
    }


def percentile(ordered: Sequence[float], percent: float) -> float | None:
    """The smallest value that so many percent of them do not exceed (nearest rank); None without values.

    Args:
        ordered: ascending.
        percent: above 0, up to 100.
    """
    if not ordered:
        return None
    rank = -(-len(ordered) * percent // 100)
    return round(ordered[max(0, int(rank) - 1)], 1)


def rate(part: int, whole: int) -> float | None:
    """A share, 0 to 1; None of fewer than `memory.reports.LEAST`."""
    return round(part / whole, 4) if whole >= LEAST else None
