"""An event on its way out: its ids, names, attributes and limits, its metrics and lines, and when it is tried again."""

from __future__ import annotations

import base64
import random
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW_MS
from opentelemetry.trace.status import StatusCode

from core import ids
from core.errors import Failure
from otel.otlp import attributes, destination, json_lines, records, transfer
from otel.otlp.metrics import BOUNDS_S, Totals

UUID = "019987a0-0000-7000-8000-00000000000a"


def event(action: str = "deploy.done", **more: Any) -> Any:
    return {
        "id": "e1", "timestamp": NOW_MS, "sessionId": "s", "systemId": "host", "level": "info", "source": "cli",
        "component": "c", "action": action, "success": True, "metadata": {}, **more,
    }  # fmt: skip


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    for variable in (
        "OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SDK_DISABLED",
        "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
    ):  # fmt: skip
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("session", "source", "kept"),
    [
        ("s", "cli", "s"),
        ("cli", "cli", ""),
        ("interactive", "cli", ""),
        ("gateway", "cli", ""),
        ("cli", "other", "cli"),
    ],
)
def test_the_session_of_an_event(session: str, source: str, kept: str) -> None:
    one = event(sessionId=session, source=source)
    assert attributes.session_of(one) == kept
    assert (attributes.trace_id(one) != 0) is bool(kept)
    about = attributes.common(one)
    assert about.get(attributes.SESSION) == (kept or None) and about.get(attributes.ROLE) == (None if kept else session)


def test_ids_are_made_from_the_session_and_the_event() -> None:
    assert attributes.trace_id(event(sessionId=UUID)) == int(UUID.replace("-", ""), 16)
    assert attributes.trace_id(event(sessionId="00000000-0000-0000-0000-000000000000")) == 1
    for odd in (f"{UUID}\n", f"{UUID}0", "s"):
        assert attributes.trace_id(event(sessionId=odd)) == int(ids.fingerprint(odd), 16)
    assert attributes.span_id(event()) == int(ids.fingerprint("e1")[:16], 16) < 2**64


@pytest.mark.parametrize(
    ("metadata", "error", "kind"),
    [
        ({"code": "STORE_FULL"}, "x", "STORE_FULL"), ({"code": ""}, "x", "_OTHER"), ({"code": 7}, "x", "_OTHER"),
        ({"code": "c" * 80}, "x", "c" * 80), ({"code": "c" * 81}, "x", "_OTHER"),
        ({}, "STORE_FULL: no room", "STORE_FULL"),
        ({}, "FULL: no room", "_OTHER"), ({}, "STORE_FULL no room", "_OTHER"), ({}, "ValueError", "ValueError"),
        ({}, "apsw.BusyError: locked", "apsw.BusyError"), ({}, "so it was: an Error", "_OTHER"),
    ],
)  # fmt: skip
def test_the_class_of_an_error(metadata: dict[str, Any], error: str, kind: str) -> None:
    assert attributes.error_type(event(metadata=metadata, error=error)) == kind


def test_attributes_of_a_log_record() -> None:
    found = attributes.of_log_record(event(duration_ms=1.5, error="bad", metadata={"n": 2**63, "m": [-(2**63), None]}))
    assert found == {
        "log.record.uid": "e1", "session.id": "s", "joelclaw.source": "cli", "joelclaw.component": "c",
        "joelclaw.success": True, "exception.message": "bad", "error.type": "_OTHER", "joelclaw.duration_ms": 1.5,
        "joelclaw.metadata.n": str(2**63), "joelclaw.metadata.m": [-(2**63), None],
    }  # fmt: skip
    for count, one in ((64, False), (65, True)):
        metadata = {f"k{number}": {"x": True} for number in range(count)}
        assert ("joelclaw.metadata" in attributes.of_log_record(event(metadata=metadata))) is one


def test_attributes_of_a_span_hold_no_maps() -> None:
    metadata = {"agent": "pi", "m": {"a": 1}, "texts": ["a"], "mixed": ["a", 1], "none": None, "big": 2**63}
    found = attributes.of_span(event(metadata=metadata))
    assert found[attributes.AGENT] == "pi" and "joelclaw.metadata.none" not in found
    assert [found[f"joelclaw.metadata.{name}"] for name in ("m", "texts", "mixed", "big")] == [
        '{"a": 1}', ["a"], '["a", 1]', str(2**63),
    ]  # fmt: skip
    for agent in ("", 7):
        assert attributes.AGENT not in attributes.of_span(event(metadata={"agent": agent}))
    many = attributes.of_span(event(metadata={f"k{number}": 1 for number in range(65)}))
    assert "joelclaw.metadata.k63" in many and "joelclaw.metadata.k64" not in many


def test_the_limits_of_the_standard_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    one = event(id="e" * 9, metadata={"a": ["xxxx"], "b": {"c": "yyyy"}, "n": 7})
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "3")
    found = attributes.of_log_record(one)
    assert found["log.record.uid"] == "e" * 9, "by its id it is told from others"
    assert (found["joelclaw.metadata.a"], found["joelclaw.metadata.b"]) == (["xxx"], {"c": "yyy"})
    monkeypatch.setenv("OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", "1")
    assert attributes.of_log_record(one)["joelclaw.metadata.a"] == ["x"]
    assert attributes.of_span(one)["joelclaw.metadata.a"] == ["xxx"]
    monkeypatch.setenv("OTEL_ATTRIBUTE_COUNT_LIMIT", "2")
    assert list(attributes.of_span(one)) == ["log.record.uid", "session.id"]
    monkeypatch.setenv("OTEL_ATTRIBUTE_COUNT_LIMIT", "0")
    assert attributes.of_span(one) == {}
    for odd in ("", "-1", "x", "٣"):
        monkeypatch.setenv("OTEL_ATTRIBUTE_COUNT_LIMIT", odd)
        assert len(attributes.of_span(one)) > 2


@pytest.mark.parametrize(
    ("action", "metadata", "name"),
    [
        ("hook.completed", {"event": "PreCompact"}, "hook PreCompact"), ("hook.failed", {"event": ""}, "hook"),
        ("hook.timeout", {"event": 7}, "hook"), ("hook.degraded", {}, "hook"),
        ("memory.recall.completed", {"event": "x"}, "recall"), ("memory.recall.failed", {}, "recall"),
    ],
)  # fmt: skip
def test_a_span_is_named_by_its_kind(action: str, metadata: dict[str, Any], name: str) -> None:
    [span] = records.spans([event(), event(action, metadata=metadata, duration_ms=1.5)])
    assert span.name == name
    assert (span.start_time, span.end_time) == (NOW_MS * 1_000_000 - 1_500_000, NOW_MS * 1_000_000)
    assert span.status.status_code is StatusCode.UNSET
    [failed] = records.spans([event(action, success=False, error="bad", timestamp=0, duration_ms=5)])
    assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, "bad")
    assert failed.start_time == failed.end_time == 0


def test_a_log_record_is_in_the_trace_of_its_session() -> None:
    plain, alone, span = records.log_records(
        [event(error="bad"), event(sessionId="cli"), event("hook.completed", sessionId="cli", level="fatal")]
    )
    one, none, own = plain.log_record, alone.log_record, span.log_record
    assert (one.body, one.trace_id, one.span_id, one.trace_flags) == (
        "deploy.done: bad", attributes.trace_id(event()), 0, 1,
    )  # fmt: skip
    assert (none.body, none.trace_id, none.trace_flags) == ("deploy.done", 0, 0)
    assert own.trace_id == int(ids.fingerprint("trace of e1"), 16) and own.span_id == attributes.span_id(event())
    assert (own.severity_text, own.timestamp) == ("FATAL", NOW_MS * 1_000_000)


def test_the_ids_of_a_file_are_hexadecimal() -> None:
    def found(name: str, inner: str, items: str) -> dict[str, Any]:
        coded = {one: base64.b64encode(bytes([10, 255])).decode() for one in ("traceId", "spanId", "parentSpanId")}
        return {name: [{inner: [{items: [{**coded, "name": "Cv8="}, {"name": "x"}]}, {}]}, {}]}

    for names in (("resourceLogs", "scopeLogs", "logRecords"), ("resourceSpans", "scopeSpans", "spans")):
        request = found(*names)
        json_lines._hexadecimal(request)
        first, second = request[names[0]][0][names[1]][0][names[2]]
        assert first == {"traceId": "0aff", "spanId": "0aff", "parentSpanId": "0aff", "name": "Cv8="}
        assert second == {"name": "x"}
    assert len(list(json_lines.lines([event()]))) == 1 and len(list(json_lines.lines([event("hook.completed")]))) == 2
    assert list(json_lines.every_line(None, json_lines.Written())) == []


def metric(totals: Totals, name: str, now: int = NOW_MS) -> Any:
    [system] = totals.data(now).resource_metrics
    [found] = [one for one in system.scope_metrics[0].metrics if one.name == name]
    return found.data


def test_durations_fall_into_buckets_with_their_bounds() -> None:
    totals = Totals()
    durations = (0, 5, 5.1, 10_000, 10_001)
    totals.add(event("hook.completed", duration_ms=ms, metadata={"agent": "pi", "event": "x" * 81}) for ms in durations)
    totals.add([event("hook.completed", metadata={"agent": "pi"})])
    [point] = metric(totals, "joelclaw.hook.duration").data_points
    assert point.bucket_counts == [2, 1, *[0] * (len(BOUNDS_S) - 3), 1, 1]
    assert (point.count, point.min, point.max) == (5, 0.0, 10.001) and point.sum == pytest.approx(20.0111)
    assert dict(point.attributes) == {"gen_ai.agent.name": "pi", "joelclaw.outcome": "completed"}
    [runs] = metric(totals, "joelclaw.hook.runs").data_points
    assert (runs.value, runs.start_time_unix_nano, runs.time_unix_nano) == (6, NOW_MS * 1_000_000, NOW_MS * 1_000_000)


def test_totals_begin_with_the_oldest_event_and_go_on() -> None:
    first = Totals()
    first.add([event(timestamp=NOW_MS), event(timestamp=NOW_MS - 5), event(timestamp=NOW_MS + 5)])
    second = Totals(first.kept(NOW_MS))
    second.add([event(timestamp=NOW_MS - 9)])
    [point] = metric(second, "joelclaw.events", NOW_MS + 9).data_points
    assert point.value == 4 and point.start_time_unix_nano == (NOW_MS - 5) * 1_000_000
    [early] = metric(second, "joelclaw.events", NOW_MS - 7).data_points
    assert early.start_time_unix_nano == (NOW_MS - 7) * 1_000_000, "it cannot begin after its end"


def test_a_delta_holds_what_came_since(monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("delta", " LowMemory "):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", word)
        first = Totals()
        first.add([event()])
        second = Totals(first.kept(NOW_MS + 7))
        second.add([event(timestamp=NOW_MS + 8)])
        [point] = metric(second, "joelclaw.events", NOW_MS + 9).data_points
        assert point.value == 1 and point.start_time_unix_nano == (NOW_MS + 7) * 1_000_000


@pytest.mark.parametrize(
    ("given", "size"), [("", 512), ("1", 1), ("0", 1), ("10000", 10_000), ("10001", 10_000), ("x", 512), ("-5", 512)]
)
def test_the_size_of_a_batch(monkeypatch: pytest.MonkeyPatch, given: str, size: int) -> None:
    monkeypatch.setenv("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", given)
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "7")
    assert (transfer.batch_size("logs"), transfer.batch_size("metrics"), transfer.batch_size("traces")) == (
        size,
        size,
        7,
    )


def test_the_wait_doubles_up_to_five_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    for share in (0.5, 1.0):
        monkeypatch.setattr(random, "uniform", lambda low, high, share=share: {0.5: low, 1.0: high}[share])
        waits = [transfer.backoff_s(failures) / share for failures in (0, 1, 2, 8, 9, 10, 99)]
        assert waits == [1, 2, 4, 256, 300, 300, 300]
    assert transfer.backoff_s(1, 50.0) == 50.0 and transfer.backoff_s(1, 0.1) == 2.0


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://u:p@h:4318/x?k=1", "http://h:4318/x"), ("https://[::1]:1/x", "https://[::1]:1/x"),
        ("http://h", "http://h"),
    ],
)  # fmt: skip
def test_an_endpoint_is_shown_without_its_secrets(monkeypatch: pytest.MonkeyPatch, url: str, shown: str) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", url)
    found = destination._destination("logs")
    assert (found.url, found.shown, found.signal) == (url, shown, "logs")
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h/")
    assert destination._destination("logs").url == "http://h/v1/logs"


@pytest.mark.parametrize("url", ["ftp://h", "http://", "h:4318", "http://[::1", "http://h:x"])
def test_an_endpoint_that_is_no_url(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", url)
    with pytest.raises(Failure, match="OTEL_EXPORTER_OTLP_LOGS_ENDPOINT is no http URL"):
        destination._destination("logs")


def test_what_an_export_tells_of_a_destination() -> None:
    done = destination.Delivered("logs", "http://h")
    assert done.shown() == {"signal": "logs", "endpoint": "http://h", "sent": 0, "rejected": 0, "waiting": 0}
    failed = destination.Delivered("logs", "http://h", 1, 2, 3, "bad", "late", 500, 9)
    assert failed.shown() == {
        "signal": "logs", "endpoint": "http://h", "sent": 1, "rejected": 2, "waiting": 3, "error": "bad",
        "warning": "late",
    }  # fmt: skip
    place = {"signal": "logs", "endpoint": "e", "current": True, "failures": 1, "lastError": "bad", "waiting": 2}
    about: dict[str, Any] = {"mode": "auto", "disabled": False, "destinations": [place]}
    assert destination.problems(about) == [
        {
            "code": "OTEL_EXPORT_FAILING",
            "message": "logs to e: bad",
            "fix": "2 events wait; `joelclaw otel export` tries now",
        }
    ]
    for other in (
        {"mode": "manual"}, {"disabled": True}, {"destinations": [{**place, "current": False}]},
        {"destinations": [{**place, "failures": 0}]},
    ):  # fmt: skip
        assert destination.problems({**about, **other}) == []
    wrong = {"code": "X"}
    assert destination.problems({**about, "problem": wrong, "destinations": []}) == [wrong]


@pytest.mark.parametrize(
    ("action", "kind", "outcome"),
    [
        ("compaction.inject", "recovery", "injected"), ("compaction.inject.skipped", "recovery", "skipped"),
        ("gateway.compaction.inject", "gateway-recovery", "injected"),
        ("gateway.compaction.inject.skipped", "gateway-recovery", "skipped"),
        ("memory.recall.injected", "memory-recall", "injected"),
        ("system_knowledge.injected", "system-knowledge", "injected"),
        ("project.context.injected", "project-context", "injected"),
        ("context.refresh.injected", "context-refresh", "injected"),
    ],
)  # fmt: skip
def test_an_injection_is_counted_by_its_kind(action: str, kind: str, outcome: str) -> None:
    totals = Totals()
    totals.add([event(action), event("deploy.done", level="warn")])
    [point] = metric(totals, "joelclaw.injections").data_points
    assert (point.value, dict(point.attributes)) == (1, {"joelclaw.injection": kind, "joelclaw.outcome": outcome})
    points = {
        point.attributes["joelclaw.level"]: point.value for point in metric(totals, "joelclaw.events").data_points
    }
    assert points == {"info": 1, "warn": 1}


def test_a_recall_is_counted_by_its_backend_and_budget() -> None:
    totals = Totals()
    about = {"backend": "sqlite", "budget": "b" * 80}
    recalls = [
        event("memory.recall.completed", duration_ms=1000, metadata=about),
        event("memory.recall.completed", metadata=about),
        event("memory.recall.failed", metadata={"backend": "", "budget": 7}),
    ]  # fmt: skip
    totals.add(recalls)
    found = [(point.value, dict(point.attributes)) for point in metric(totals, "joelclaw.recalls").data_points]
    named = {"joelclaw.backend": "sqlite", "joelclaw.budget": "b" * 80, "joelclaw.outcome": "completed"}
    assert found == [(2, named), (1, {"joelclaw.outcome": "failed"})]
    [took] = metric(totals, "joelclaw.recall.duration").data_points
    assert (took.count, took.sum, took.min, took.max, dict(took.attributes)) == (1, 1.0, 1.0, 1.0, named)


def test_a_metric_says_what_it_counts_and_how() -> None:
    totals = Totals()
    totals.add([event("hook.completed", duration_ms=1), event("memory.recall.failed", duration_ms=1, systemId="other")])
    data = totals.data(NOW_MS)
    found = {
        one.name: (one.unit, one.data) for group in data.resource_metrics for one in group.scope_metrics[0].metrics
    }
    units = {name: unit for name, (unit, _) in found.items()}
    assert units == {
        "joelclaw.events": "{event}", "joelclaw.hook.runs": "{run}", "joelclaw.hook.duration": "s",
        "joelclaw.recalls": "{recall}", "joelclaw.recall.duration": "s",
    }  # fmt: skip
    assert [group.resource.attributes["host.name"] for group in data.resource_metrics] == ["host", "other"]
    assert all(counted.aggregation_temporality.name == "CUMULATIVE" for _, counted in found.values())
    assert all(getattr(counted, "is_monotonic", True) is True for _, counted in found.values())


@pytest.mark.parametrize(
    ("given", "off"), [("true", True), (" TRUE ", True), ("1", False), ("", False), ("false", False)]
)
def test_the_sdk_is_switched_off_by_one_word(monkeypatch: pytest.MonkeyPatch, given: str, off: bool) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", given)
    assert destination.disabled() is off


def test_the_destinations_of_an_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(destination.os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)
    base = "http://localhost:4318/v1/"
    assert [(one.signal, one.url) for one in destination.every()] == [
        ("logs", f"{base}logs"), ("traces", f"{base}traces"), ("metrics", f"{base}metrics"),
    ]  # fmt: skip
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", " None ")
    monkeypatch.setenv("OTEL_LOGS_EXPORTER", "OTLP")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "HTTP/protobuf")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    assert [one.signal for one in destination.every()] == ["logs"]
    for name, value, message in (
        ("OTEL_METRICS_EXPORTER", "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc'; joelclaw speaks http/protobuf only"),
        ("OTEL_LOGS_EXPORTER", "console", "OTEL_LOGS_EXPORTER is 'console'; joelclaw sends OTLP only"),
    ):
        monkeypatch.setenv(name, value)
        with pytest.raises(Failure) as raised:
            destination.every()
        assert (raised.value.code, raised.value.message, raised.value.exit_code) == ("OTEL_EXPORT_CONFIG", message, 2)
