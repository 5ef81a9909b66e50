"""Counters and histograms: cumulative over exports, by agent, event and outcome, equal when they are sent again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import NOW_MS, Run
from otlp_receiver import Do, Receiver, attributes

from otel.otlp.metrics import BOUNDS_S, MOST_SETS, Totals

CUMULATIVE, DELTA = 2, 1


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    started = Receiver().start()
    yield started
    started.stop()


def hook(run: Run, outcome: str = "completed", *, agent: str = "pi", event: str = "turn_end", took: float = 40) -> None:
    about = json.dumps({"agent": agent, "event": event})
    run("otel", "emit", f"hook.{outcome}", "--duration-ms", str(took), "--metadata", about, "--timestamp", str(NOW_MS))


def sums(receiver: Receiver, name: str) -> dict[tuple[Any, ...], int]:
    return {
        tuple(attributes(point.attributes).values()): point.as_int for point in receiver.metrics()[name].sum.data_points
    }


def test_hook_runs_by_agent_event_and_outcome(run: Run, receiver: Receiver) -> None:
    hook(run)
    hook(run)
    hook(run, "failed")
    hook(run, agent="claude", event="PreCompact")
    run("otel", "export", env=receiver.env)
    assert sums(receiver, "joelclaw.hook.runs") == {
        ("pi", "turn_end", "completed"): 2,
        ("pi", "turn_end", "failed"): 1,
        ("claude", "PreCompact", "completed"): 1,
    }
    metric = receiver.metrics()["joelclaw.hook.runs"]
    assert (metric.unit, metric.sum.is_monotonic, metric.sum.aggregation_temporality) == ("{run}", True, CUMULATIVE)


def test_durations_are_a_histogram_in_seconds(run: Run, receiver: Receiver) -> None:
    for took in (4, 5, 30, 20_000):
        hook(run, took=took)
    run("otel", "export", env=receiver.env)
    metric = receiver.metrics()["joelclaw.hook.duration"]
    (point,) = metric.histogram.data_points
    assert metric.unit == "s"
    assert tuple(point.explicit_bounds) == BOUNDS_S
    assert (point.count, point.min, point.max) == (4, 0.004, 20.0)
    assert point.sum == pytest.approx(20.039)
    assert list(point.bucket_counts) == [2, 0, 0, 1, *[0] * 10, 1]


def test_recalls_and_injections_are_counted(run: Run, receiver: Receiver) -> None:
    run("recall", "what is there", "--budget", "lean")
    for action in ("compaction.inject", "compaction.inject.skipped", "memory.recall.injected"):
        run("otel", "emit", action)
    run("otel", "export", env=receiver.env)
    assert sums(receiver, "joelclaw.recalls") == {("sqlite", "lean", "completed"): 1}
    assert sums(receiver, "joelclaw.injections") == {
        ("recovery", "injected"): 1, ("recovery", "skipped"): 1, ("memory-recall", "injected"): 1
    }  # fmt: skip


def test_totals_go_on_from_the_last_export(run: Run, receiver: Receiver) -> None:
    hook(run)
    run("otel", "export", env=receiver.env)
    start = receiver.metrics()["joelclaw.hook.runs"].sum.data_points[0].start_time_unix_nano
    run("otel", "prune", "--days", "0")  # what was counted stays counted
    hook(run)
    run("otel", "export", env=receiver.env)
    (point,) = receiver.metrics()["joelclaw.hook.runs"].sum.data_points
    assert (point.as_int, point.start_time_unix_nano) == (2, start)
    assert point.time_unix_nano > start


def test_totals_that_were_lost_on_the_way_are_not_counted_twice(run: Run, receiver: Receiver) -> None:
    hook(run)
    receiver.plan = lambda path, *_: Do(0 if path == "/v1/metrics" else 200)  # kept, and no answer
    run("otel", "export", env=receiver.env, ok=False)
    receiver.plan = lambda *_: Do()
    run("otel", "export", env=receiver.env)
    assert len(receiver.bodies("/v1/metrics")) == 2
    assert sums(receiver, "joelclaw.hook.runs") == {("pi", "turn_end", "completed"): 1}


def test_delta_holds_what_came_since(run: Run, receiver: Receiver) -> None:
    env = {**receiver.env, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta"}
    hook(run)
    run("otel", "export", env=env)
    first = receiver.metrics()["joelclaw.hook.runs"]
    assert first.sum.aggregation_temporality == DELTA
    hook(run)
    run("otel", "export", env=env)
    (point,) = receiver.metrics()["joelclaw.hook.runs"].sum.data_points
    assert point.as_int == 1
    assert point.start_time_unix_nano == first.sum.data_points[0].time_unix_nano


def test_the_number_of_attribute_sets_is_bounded() -> None:
    def event(number: int) -> Any:
        about = {"agent": f"a{number}", "event": "e"}
        return {
            "id": str(number), "timestamp": NOW_MS, "sessionId": "s", "systemId": "box", "level": "info",
            "source": "cli", "component": "hook", "action": "hook.completed", "success": True, "metadata": about,
        }  # fmt: skip

    totals = Totals()
    totals.add(event(number) for number in range(MOST_SETS + 50))
    again = Totals(totals.kept(NOW_MS))
    (group,) = again.data(NOW_MS).resource_metrics
    runs = next(metric for metric in group.scope_metrics[0].metrics if metric.name == "joelclaw.hook.runs")
    points = {tuple((point.attributes or {}).items()): point.value for point in runs.data.data_points}  # type: ignore[union-attr]
    assert len(points) == MOST_SETS + 1
    assert points[(("otel.metric.overflow", True),)] == 50
