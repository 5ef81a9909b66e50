"""What an operator sees: hooks and commands as spans with their steps, and metrics under the dashboard's names."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import Transcript
from conftest import ROOT, Run
from conftest import at_second as at
from otlp_receiver import Receiver, attributes, plain

SESSION = "0198c5f0-1111-7222-8333-444455556666"
FOLDER = Path(ROOT, "docs/operators")
UNITS = {"ms": "_milliseconds", "s": "_seconds", "By": "_bytes"}


@pytest.fixture
def exported(run: Run, receiver: Receiver, tmp_path: Path) -> Receiver:
    """What a collector got of a session with hooks and commands, a hook that failed, and recalls."""
    run("memory", "write", "The pier is painted in April, never in the rain", env=at(0))
    transcript = Transcript(tmp_path / f"{SESSION}.jsonl")
    transcript.user("paint the pier")
    transcript.assistant("The pier is painted.")
    hook = {"session_id": SESSION, "cwd": str(tmp_path), "transcript_path": str(transcript.path)}
    start = {**hook, "hook_event_name": "SessionStart", "source": "startup"}
    run("hook", "claude", stdin=json.dumps(start), env=at(1))
    run("hook", "claude", stdin=json.dumps({**hook, "hook_event_name": "Stop"}), env=at(2))
    run("hook", "claude", "Stop", stdin="no JSON", env=at(3))
    words = ("--session", SESSION)
    run("checkpoint", "save", *words, "--percent", "65", "-m", "paint the pier in April", env=at(4))
    run("checkpoint", "flush", *words, env=at(5))
    run("inject", "recovery", *words, env=at(6))
    for query in ("painting the pier", "nothing of the kind"):
        run("recall", query, env={**at(7), "JOELCLAW_SESSION_ID": SESSION})
    run("otel", "export", env={**receiver.env, **at(8)})
    return receiver


def test_hooks_and_commands_are_traces_with_their_steps(exported: Receiver) -> None:
    spans = exported.spans()
    own = {span.span_id: span for span in spans}
    roots = [span for span in spans if not span.parent_span_id]
    names = [span.name for span in roots]
    assert names[:3] == ["hook SessionStart", "hook Stop", "hook Stop"]
    assert {"checkpoint save", "checkpoint flush", "inject recovery", "recall"} <= set(names)
    steps: dict[str, list[str]] = {}
    for span in spans:
        if span.parent_span_id:
            parent = own[span.parent_span_id]
            assert (parent.trace_id, plain_session(parent)) == (span.trace_id, plain_session(span))
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
            steps.setdefault(parent.name, []).append(span.name)
    assert {"archive", "startup"} <= {*steps["hook SessionStart"], *steps["hook Stop"]}
    assert "recall" in steps["hook SessionStart"]
    assert {"task", "recall", "write"} <= set(steps["checkpoint save"])
    assert "recovery" in steps["inject recovery"]
    assert "search" in steps["recall"]
    assert len({span.trace_id for span in roots if plain_session(span) == SESSION}) == 1
    (failed,) = [span for span in roots if span.status.code == 2]
    assert attributes(failed.attributes)["error.type"] == "INVALID_JSON"


def plain_session(span: Any) -> Any:
    about = attributes(span.attributes)
    assert about.get("session.id") == about.get("gen_ai.conversation.id")
    return about.get("session.id")


def test_bodies_can_be_read_and_name_their_conventions(exported: Receiver) -> None:
    bodies = {record.event_name: plain(record.body) for _, record in exported.records()}
    assert re.fullmatch(
        r"memory.recall.completed: [\d.]+ ms, query [a-z ]+, budget \w+, found 0, .*", bodies["memory.recall.completed"]
    )
    assert bodies["hook.failed"].startswith("hook.failed: INVALID_JSON: ")
    (body, *_) = exported.bodies("/v1/logs")
    group = body.resource_logs[0]
    assert group.schema_url == group.scope_logs[0].schema_url != ""


def test_metrics_say_what_hooks_and_recalls_did(exported: Receiver) -> None:
    points = {name: found for name, _, found in metrics(exported)}
    hooks = [attributes(point.attributes) for point in points["joelclaw.hook.duration"]]
    assert {"joelclaw.hook.event": "SessionStart", "gen_ai.agent.name": "claude"} in hooks
    failed = {"joelclaw.hook.event": "Stop", "gen_ai.agent.name": "claude", "error.type": "INVALID_JSON"}
    assert failed in hooks and sum(point.count for point in points["joelclaw.hook.duration"]) == 3
    hits = {}
    for point in points["joelclaw.recalls"]:
        about = attributes(point.attributes)
        hits[about["joelclaw.action"], about["joelclaw.recall.has_hits"]] = point.as_int
    assert hits["memory.recall.completed", True] == hits["memory.recall.completed", False] == 1
    assert sum(point.as_int for point in points["joelclaw.injected.tokens"]) > 0
    assert sum(point.as_int for point in points["joelclaw.archived"]) > 100
    assert points["joelclaw.store.size"][0].as_int > 10_000
    assert sum(point.as_int for point in points["joelclaw.faults"]) == 1


def test_the_dashboard_and_the_alerts_use_what_is_exported(exported: Receiver) -> None:
    names, labels = set(), {"le"}
    for name, unit, points in metrics(exported):
        bare = name.replace(".", "_") + UNITS.get(unit, "")
        kind = (
            "histogram" if hasattr(points[0], "bucket_counts") else "sum" if name != "joelclaw.store.size" else "gauge"
        )
        suffixes = {"histogram": ("_bucket", "_sum", "_count"), "sum": ("_total",), "gauge": ("",)}[kind]
        names |= {bare + suffix for suffix in suffixes}
        labels |= {key.replace(".", "_") for point in points for key in attributes(point.attributes)}
    dashboard = json.loads(FOLDER.joinpath("dashboard.json").read_text())
    variable = dashboard["templating"]["list"][0]["query"]["query"]
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    alerts_yaml = " ".join(FOLDER.joinpath("alerts.yaml").read_text().split())
    alerts = re.findall(r"expr: (?:>- )?(.*?) (?:for|annotations):", alerts_yaml)
    assert len(queries) >= 8 and len(alerts) >= 3
    for query in (*queries, *alerts):  # a counter that begins with its first fault has not increased
        for counter, window in re.findall(r"increase\((.+?)\[(\w+)\]\)", query):
            assert f"({counter} unless {counter} offset {window}) or increase({counter}" in query
    used = " ".join([variable, *queries, *alerts])
    used_names = set(re.findall(r"joelclaw_\w+(?:_total|_bytes|_bucket|_count|_sum)\b", used))
    assert used_names <= names
    used_labels = set(re.findall(r"\w+", " ".join(re.findall(r"by \((.*?)\)", used))))
    used_labels |= set(re.findall(r"(\w+)(?:=~|!=|=)\"", used))
    assert used_labels <= labels
    assert set(re.findall(r"\b(?:joelclaw|gen_ai)_\w+", used)) <= names | labels
    assert {name.removesuffix("_bucket").removesuffix("_count") for name in used_names} >= {
        "joelclaw_hook_duration_seconds", "joelclaw_faults_total", "joelclaw_recalls_total",
        "joelclaw_injected_tokens_total", "joelclaw_archived_bytes_total", "joelclaw_store_size_bytes",
    }  # fmt: skip


def test_the_alerts_name_commands_that_exist(run: Run) -> None:
    todos = re.findall(r'todo: "(.*)"', FOLDER.joinpath("alerts.yaml").read_text())
    for command in [command for todo in todos for command in todo.split("; ")]:
        assert run(*shlex.split(command)[1:], "--help", ok=True).out


def metrics(exported: Receiver) -> list[tuple[str, str, Any]]:
    """Name, unit and points of every exported metric."""
    return [
        (metric.name, metric.unit, getattr(metric, metric.WhichOneof("data")).data_points)
        for body in exported.bodies("/v1/metrics")
        for group in body.resource_metrics
        for scope in group.scope_metrics
        for metric in scope.metrics
    ]
