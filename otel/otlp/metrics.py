"""Events as metrics: counters and histograms of hook runs, recalls, injections and events.

Totals are cumulative and kept beside the cursor of their destination, so a point that is sent twice says the same
twice. With `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta` (or lowmemory) a point holds what came since the
last one.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)

from core import json_text
from otel.otlp import attributes
from otel.otlp.records import HOOK_OUTCOMES, RECALL_OUTCOMES, resource, scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.records import Event

BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""Buckets of the durations, in seconds: those that the semantic conventions advise for requests."""
MOST_SETS = 1_000
"""Sets of attributes kept of one metric; what comes after them is counted under `otel.metric.overflow`."""
_OVERFLOW = {"otel.metric.overflow": True}
_OUTCOME = "joelclaw.outcome"
_ABOUT = {
    "joelclaw.events": ("{event}", "Events that were stored."),
    "joelclaw.hook.runs": ("{run}", "Hooks that agents ran."),
    "joelclaw.hook.duration": ("s", "How long an agent waited for a hook."),
    "joelclaw.recalls": ("{recall}", "Questions to the memory."),
    "joelclaw.recall.duration": ("s", "How long a recall took."),
    "joelclaw.injections": ("{injection}", "Texts that were handed to agents, or were not."),
}
_INJECTIONS = {
    "compaction.inject": ("recovery", "injected"),
    "compaction.inject.skipped": ("recovery", "skipped"),
    "gateway.compaction.inject": ("gateway-recovery", "injected"),
    "gateway.compaction.inject.skipped": ("gateway-recovery", "skipped"),
    "memory.recall.injected": ("memory-recall", "injected"),
    "system_knowledge.injected": ("system-knowledge", "injected"),
    "project.context.injected": ("project-context", "injected"),
    "context.refresh.injected": ("context-refresh", "injected"),
}


class Totals:
    """Sums by machine, metric and attributes: `add` events, then `data` is what is sent and `kept` what is stored.

    Args:
        kept: what `kept` returned before, or empty.
    """

    def __init__(self, kept: str = "") -> None:
        previous: dict[str, Any] = json_text.loads(kept) if kept else {}
        self._since: int = previous.get("since", 0)
        self._sent_at: int = previous.get("sentAt", 0)
        self._sums: dict[str, dict[str, dict[str, Any]]] = previous.get("sums", {})
        self._delta = _delta_asked()
        if self._delta:
            self._sums = {}

    def add(self, events: Iterable[Event]) -> None:
        """Count events."""
        for event in events:
            if not self._since or event["timestamp"] < self._since:
                self._since = event["timestamp"] if not self._sent_at else self._since
            self._count(
                event, "joelclaw.events", {"joelclaw.level": event["level"], "joelclaw.source": event["source"]}
            )
            action = event["action"]
            if action in HOOK_OUTCOMES:
                self._hook(event, HOOK_OUTCOMES[action])
            elif action in RECALL_OUTCOMES:
                about = _named(event, {"joelclaw.backend": "backend", "joelclaw.budget": "budget"})
                about[_OUTCOME] = RECALL_OUTCOMES[action]
                self._count(event, "joelclaw.recalls", about)
                self._measure(event, "joelclaw.recall.duration", about)
            elif action in _INJECTIONS:
                kind, outcome = _INJECTIONS[action]
                self._count(event, "joelclaw.injections", {"joelclaw.injection": kind, _OUTCOME: outcome})

    def data(self, now: int) -> MetricsData:
        """Everything counted, as of `now` (ms since the epoch)."""
        start = min((self._sent_at if self._delta else 0) or self._since, now) * 1_000_000
        return MetricsData(
            [
                ResourceMetrics(
                    resource(system),
                    [ScopeMetrics(scope(), [self._metric(name, table[name], start, now) for name in table], "")],
                    "",
                )
                for system, table in self._sums.items()
            ]
        )

    def kept(self, now: int) -> str:
        """What the next export goes on from, once this one is taken."""
        return json_text.dumps({"since": self._since, "sentAt": now, "sums": {} if self._delta else self._sums})

    def _hook(self, event: Event, outcome: str) -> None:
        about = _named(event, {attributes.AGENT: "agent", "joelclaw.hook.event": "event"})
        about[_OUTCOME] = outcome
        self._count(event, "joelclaw.hook.runs", about)
        self._measure(event, "joelclaw.hook.duration", about)

    def _count(self, event: Event, name: str, about: dict[str, Any]) -> None:
        entry = self._entry(event["systemId"], name, about)
        entry["n"] = entry.get("n", 0) + 1

    def _measure(self, event: Event, name: str, about: dict[str, Any]) -> None:
        if "duration_ms" not in event:
            return
        seconds = event["duration_ms"] / 1000
        entry = self._entry(event["systemId"], name, about)
        if "n" not in entry:
            entry.update(n=0, sum=0.0, min=seconds, max=seconds, buckets=[0] * (len(BOUNDS_S) + 1))
        entry["n"] += 1
        entry["sum"] += seconds
        entry["min"] = min(entry["min"], seconds)
        entry["max"] = max(entry["max"], seconds)
        entry["buckets"][bisect_left(BOUNDS_S, seconds)] += 1

    def _entry(self, system: str, name: str, about: dict[str, Any]) -> dict[str, Any]:
        table = self._sums.setdefault(system, {}).setdefault(name, {})
        key = json_text.dumps(dict(sorted(about.items())))
        if key not in table and len(table) >= MOST_SETS:
            key = json_text.dumps(_OVERFLOW)
        entry: dict[str, Any] = table.setdefault(key, {})
        return entry

    def _metric(self, name: str, table: dict[str, Any], start: int, now: int) -> Metric:
        unit, what = _ABOUT[name]
        at = now * 1_000_000
        temporality = AggregationTemporality.DELTA if self._delta else AggregationTemporality.CUMULATIVE
        data: Histogram | Sum
        if unit == "s":
            data = Histogram(
                [
                    HistogramDataPoint(
                        json_text.loads(key), start, at, entry["n"], entry["sum"], entry["buckets"], BOUNDS_S,
                        entry["min"], entry["max"],
                    )
                    for key, entry in table.items()
                ],
                temporality,
            )  # fmt: skip
        else:
            points = [NumberDataPoint(json_text.loads(key), start, at, entry["n"]) for key, entry in table.items()]
            data = Sum(points, temporality, is_monotonic=True)
        return Metric(name, what, unit, data)


def _named(event: Event, names: dict[str, str]) -> dict[str, Any]:
    """Attributes from the metadata; what is no short text is left out."""
    found = {name: event["metadata"].get(key) for name, key in names.items()}
    return {name: value for name, value in found.items() if isinstance(value, str) and 0 < len(value) <= 80}


def _delta_asked() -> bool:
    asked = os.environ.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "").strip().lower()
    return asked in ("delta", "lowmemory")
