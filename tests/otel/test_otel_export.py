"""`otel export`: events as OTLP log records, each once, and hook runs and recalls as spans."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NOW, NOW_MS, ROOT, Run, begin, clean_environment, until
from otlp_receiver import Do, Receiver, attributes, plain

from core import files

SESSION = "0198c5f0-1111-7222-8333-444455556666"
PATIENCE_S = 60.0
STOP = json.dumps({"hook_event_name": "Stop", "session_id": "s"})


def test_an_event_goes_out_as_a_log_record(run: Run, receiver: Receiver) -> None:
    emitted = run(
        *("otel", "emit", "build.broke", "--level", "error", "--success", "false", "--session", SESSION),
        *("--error", "ValueError: no such flag", "--duration-ms", "12.5", "--timestamp", str(NOW_MS)),
        *("--source", "ci", "--component", "builder", "--metadata", '{"n": 3, "of": {"a": [1, null, "x"]}}'),
    ).result["event"]
    done = run("otel", "export", env=receiver.env).result
    sent = {place["signal"]: place["sent"] for place in done["destinations"]}
    assert sent == {"logs": 1, "traces": 0, "metrics": 1}
    ((resource, record),) = receiver.records()
    assert record.event_name == "build.broke"
    assert (record.severity_number, record.severity_text) == (17, "ERROR")
    assert record.time_unix_nano == record.observed_time_unix_nano == NOW_MS * 1_000_000
    assert plain(record.body) == "build.broke: ValueError: no such flag"
    assert attributes(record.attributes) == {
        "log.record.uid": emitted["id"],
        "session.id": SESSION,
        "gen_ai.conversation.id": SESSION,
        "joelclaw.source": "ci",
        "joelclaw.component": "builder",
        "joelclaw.success": False,
        "joelclaw.duration_ms": 12.5,
        "exception.message": "ValueError: no such flag",
        "error.type": "ValueError",
        "joelclaw.metadata.n": 3,
        "joelclaw.metadata.of": {"a": [1, None, "x"]},
    }
    assert record.trace_id.hex() == SESSION.replace("-", "")
    assert resource["service.name"] == "joelclaw"
    assert resource["service.version"]
    assert resource["host.name"] == emitted["systemId"]
    assert len(resource["service.instance.id"]) == 36


def test_another_endpoint_gets_everything(run: Run, receiver: Receiver) -> None:
    run("otel", "emit", "a")
    run("otel", "export", env=receiver.env)
    other = Receiver().start()
    try:
        run("otel", "export", env=other.env)
        assert other.ids() == receiver.ids() != []
    finally:
        other.stop()


def test_the_standard_variables_hold(run: Run, receiver: Receiver) -> None:
    run("otel", "emit", "a", env={"SLOG_SYSTEM_ID": "box"})
    run(
        "otel", "export",
        env={
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1/",
            "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": receiver.url + "/v1/logs",
            "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=one,authorization=Basic%20abc",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,host.name=other,service.name=no",
            "OTEL_SERVICE_NAME": "my-agents",
            "OTEL_TRACES_EXPORTER": "none",
            "OTEL_METRICS_EXPORTER": "none",
        },
    )  # fmt: skip
    (request,) = receiver.requests
    assert request.headers["x-tenant"] == "one"
    assert request.headers["authorization"] == "Basic abc"
    assert request.headers["content-encoding"] == "gzip"
    ((resource, _),) = receiver.records()
    assert resource["service.name"] == "my-agents"
    assert resource["deployment.environment.name"] == "test"
    assert resource["host.name"] == "other"
    assert resource["joelclaw.system.id"] == "box"


def test_metrics_count_events_and_durations_over_their_own_times(run: Run, receiver: Receiver) -> None:
    for at, took in ((0, 4), (1_000, 40), (2_000, 400)):
        run("otel", "emit", "build.ok", "--duration-ms", str(took), "--timestamp", str(NOW_MS + at))
    run("otel", "emit", "build.broke", "--level", "error", "--success", "false", "--timestamp", str(NOW_MS + 500))
    run("otel", "export", env=receiver.env)
    (body,) = receiver.bodies("/v1/metrics")
    (group,) = body.resource_metrics
    assert attributes(group.resource.attributes)["service.name"] == "joelclaw"
    (scope,) = group.scope_metrics
    assert scope.schema_url.startswith("https://opentelemetry.io/schemas/")
    metrics = {metric.name: metric for metric in scope.metrics}
    events, duration = metrics["joelclaw.events"], metrics["joelclaw.duration"]
    assert (events.name, events.sum.is_monotonic, events.sum.aggregation_temporality) == ("joelclaw.events", True, 1)
    counts = {attributes(point.attributes)["joelclaw.action"]: point.as_int for point in events.sum.data_points}
    assert counts == {"build.ok": 3, "build.broke": 1}
    (point,) = duration.histogram.data_points
    assert (point.count, point.sum, point.min, point.max) == (3, 444, 4, 400)
    assert sum(point.bucket_counts) == 3 and len(point.bucket_counts) == len(point.explicit_bounds) + 1
    start, end = NOW_MS * 1_000_000, (NOW_MS + 2_000) * 1_000_000
    assert (point.start_time_unix_nano, point.time_unix_nano) == (start, end)


def test_disabled_sends_nothing_and_says_so(run: Run, receiver: Receiver) -> None:
    run("otel", "emit", "a")
    done = run("otel", "export", env={**receiver.env, "OTEL_SDK_DISABLED": "true"}).result
    assert done == {"disabled": True, "destinations": []}
    assert not receiver.requests


@pytest.mark.parametrize(("variables", "message"), [
    ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http/protobuf"),
    ({"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/json"}, "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL"),
    ({"OTEL_LOGS_EXPORTER": "console"}, "OTEL_LOGS_EXPORTER"),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4317"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://[::1"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:port"}, "OTEL_EXPORTER_OTLP_ENDPOINT"),
])  # fmt: skip
def test_variables_that_mean_nothing_here_are_named(run: Run, variables: dict[str, str], message: str) -> None:
    run("otel", "emit", "a")
    failed = run("otel", "export", env=variables, ok=False)
    assert failed.code == 2
    assert failed.json["error"]["code"] == "OTEL_EXPORT_CONFIG"
    assert message in failed.json["error"]["message"] + failed.json["fix"]


def test_a_password_in_the_endpoint_is_neither_stored_nor_shown(run: Run, receiver: Receiver, home: Path) -> None:
    run("otel", "emit", "a")
    url = receiver.url.replace("http://", "http://me:Zq7Rw2Xv9Kt4@") + "?token=Zq7Rw2Xv9Kt4"
    shown = run("otel", "export", env={"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": url, **receiver.env}, ok=False).out
    shown += run("otel", "export", "--status", env={"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": url, **receiver.env}).out
    assert "Zq7Rw2Xv9Kt4" not in shown
    assert all(b"Zq7Rw2Xv9Kt4" not in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_status_says_what_waits_and_what_went_wrong(run: Run, receiver: Receiver) -> None:
    run("otel", "emit", "a", env=NOW)
    first = run("otel", "export", "--status", env=receiver.env).result
    assert {destination["waiting"] for destination in first["destinations"]} == {1}
    run("otel", "export", env={**receiver.env, "JOELCLAW_NOW_MS": str(NOW_MS)})
    receiver.plan = lambda *_: Do(503, body="out of memory")
    run("otel", "emit", "b")
    run("otel", "export", env={**receiver.env, "JOELCLAW_NOW_MS": str(NOW_MS + 60_000)}, ok=False)
    logs = run("otel", "export", "--status", env=receiver.env).result["destinations"][0]
    assert (logs["signal"], logs["waiting"], logs["exported"], logs["failures"]) == ("logs", 1, 1, 1)
    assert logs["lastExportAt"] == "2026-09-21T14:13:20.000Z"
    assert logs["lastFailureAt"] == "2026-09-21T14:14:20.000Z"
    assert "503" in logs["lastError"]
    assert "out of memory" in logs["lastError"]


def test_a_status_never_loads_the_sdk(home: Path) -> None:
    code = (
        "import sys; sys.argv = ['joelclaw', 'otel', 'export', '--status']\n"
        "from cli.start import main\nmain()\n"
        "sys.exit(any(name.startswith(('opentelemetry', 'requests')) for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=clean_environment(home), cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done


def test_two_exports_at_once_send_everything_once(run: Run, receiver: Receiver, home: Path) -> None:
    for number in range(5):
        run("otel", "emit", f"a{number}")
    receiver.plan = lambda *_: Do(after_s=0.3)
    both = [begin(home, "otel", "export", **receiver.env) for _ in range(2)]
    assert [process.communicate(timeout=PATIENCE_S) and process.returncode for process in both] == [0, 0]
    assert len(receiver.ids()) == len(set(receiver.ids())) == 5


def test_a_hook_run_is_a_span_that_ends_when_its_event_was_made(run: Run, receiver: Receiver) -> None:
    about = {"agent": "claude", "event": "PreCompact", "injected": ["a", "b"], "deep": {"x": 1}, "none": None}
    words = ("--session", SESSION, "--timestamp", str(NOW_MS), "--duration-ms", "42.5", "--metadata", json.dumps(about))
    identifier = run("otel", "emit", "hook.completed", *words).result["event"]["id"]
    run("otel", "export", env=receiver.env)
    (span,) = receiver.spans()
    assert span.name == "hook PreCompact"
    assert span.end_time_unix_nano == NOW_MS * 1_000_000
    assert span.end_time_unix_nano - span.start_time_unix_nano == 42_500_000
    assert span.status.code == 0
    values = attributes(span.attributes)
    assert values["log.record.uid"] == identifier
    assert values["gen_ai.agent.name"] == "claude"
    assert values["session.id"] == SESSION
    assert values["joelclaw.metadata.injected"] == '["a", "b"]'
    assert values["joelclaw.metadata.deep"] == '{"x": 1}'
    assert "joelclaw.metadata.none" not in values


def switched_on(receiver: Receiver, minute: int) -> dict[str, str]:
    return {**receiver.env, "JOELCLAW_OTEL_EXPORT": "auto", "JOELCLAW_NOW_MS": str(NOW_MS + minute * 60_000)}


def switched_on_in_file(receiver: Receiver, home: Path) -> None:
    """Hooks take the collector only from the user's file."""
    variables = "".join(f"{name} = {json.dumps(value)}\n" for name, value in receiver.env.items())
    (home / "config.toml").write_text(f'[otel]\nexport = "auto"\n[environment]\n{variables}')


def ended(home: Path) -> None:
    until(lambda: not files.is_locked(str(home / "cache" / "otel-export.lock")))


def sent(receiver: Receiver, home: Path) -> list[str]:
    """The names of the events that came, once the export has ended."""
    ended(home)
    return [record.event_name for _, record in receiver.records()]


@pytest.mark.parametrize(
    ("words", "stdin"),
    [(("otel", "emit", "build.ok"), None), (("hook", "claude"), STOP), (("memory", "recent"), None)],
    ids=["a hot command", "a hook", "a command of Typer's"],
)
def test_events_go_out(run: Run, receiver: Receiver, home: Path, words: tuple[str, ...], stdin: str | None) -> None:
    run("otel", "emit", "before", env=NOW)
    if words[0] == "hook":
        switched_on_in_file(receiver, home)
    run(*words, stdin=stdin, env=switched_on(receiver, 1))
    assert "before" in sent(receiver, home)


def test_status_reports_a_failing_export(run: Run, receiver: Receiver, home: Path) -> None:
    assert run("status").result["otelExport"] is None
    receiver.stop()
    run("otel", "emit", "build.ok", env=switched_on(receiver, 0))
    ended(home)
    result = run("status", env=switched_on(receiver, 0)).result
    assert "OTEL_EXPORT_FAILING" in [problem["code"] for problem in result["problems"]]
    assert result["otelExport"]["destinations"][0]["waiting"] == 1
