"""`otel import`: OTLP/JSON lines become events; ours come back as they were, and nothing is taken in twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import NOW_MS, Run
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from secret_samples import fill

from otel.event import LEVELS, new_event
from otel.otlp import json_lines, records


def line(*records: dict[str, Any], resource: dict[str, Any] | None = None, scope: str = "lib") -> str:
    """One request as a collector's file exporter writes it."""
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in (resource or {}).items()]
    return json.dumps(
        {
            "resourceLogs": [
                {
                    "resource": {"attributes": attributes},
                    "scopeLogs": [{"scope": {"name": scope}, "logRecords": list(records)}],
                }
            ]
        }
    )


def said(**values: str) -> list[dict[str, Any]]:
    return [{"key": key.replace("_", "."), "value": {"stringValue": value}} for key, value in values.items()]


def listed(run: Run, **env: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run("otel", "list", "--hours", "800000", "--limit", "200", env=env).result["events"]
    return found


def test_what_was_exported_comes_back_the_same(run: Run, tmp_path: Path) -> None:
    run(
        *("otel", "emit", "build.broke", "--level", "fatal", "--success", "false", "--error", "exit 1"),
        *("--session", "s-1", "--duration-ms", "12.5", "--timestamp", str(NOW_MS)),
        *("--metadata", '{"n": 3, "f": 1.0, "deep": [1, null, {"": [], "x": {}}], "text": "ä\\n⚙"}'),
    )
    run("otel", "emit", "plain", "--level", "debug", "--source", "interactive")
    run("recall", "what is there")
    for _ in range(20):
        run("otel", "emit", "noise", "--level", "info")
    file = tmp_path / "events.jsonl"
    made = run("otel", "export", "--to", str(file)).result
    assert made["events"] == 24
    assert file.stat().st_mode & 0o777 == 0o600
    there = {"JOELCLAW_HOME": str(tmp_path / "other"), "SLOG_SESSION_ID": "mine", "SLOG_SYSTEM_ID": "elsewhere"}
    report = run("otel", "import", str(file), env=there).result
    assert (report["added"], report["duplicates"], report["failed"], report["others"]) == (24, 0, 0, 1)
    assert listed(run, **there) == listed(run)
    again = run("otel", "import", str(file), env=there).result
    assert (again["added"], again["duplicates"]) == (0, 24)


def test_export_to_stdout_is_lines_that_import_takes(run: Run, tmp_path: Path) -> None:
    made = run("otel", "emit", "a").result["event"]
    out = run("otel", "export", "--to", "-").out
    assert [next(iter(json.loads(one))) for one in out.splitlines()] == ["resourceLogs"]
    there = {"JOELCLAW_HOME": str(tmp_path / "other")}
    assert run("otel", "import", "-", stdin=out, env=there).result["added"] == 1
    assert listed(run, **there)[0]["id"] == made["id"]


def test_ids_in_the_lines_are_hexadecimal(run: Run) -> None:
    session = "5b8efff7-9803-4103-a269-b633813fc60c"
    run("otel", "emit", "hook.completed", "--session", session, "--duration-ms", "40")
    lines = [json.loads(one) for one in run("otel", "export", "--to", "-").out.splitlines()]
    (log,) = [one["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0] for one in lines if "resourceLogs" in one]
    (span,) = [one["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for one in lines if "resourceSpans" in one]
    assert log["traceId"] == span["traceId"] == session.replace("-", "")
    assert len(bytes.fromhex(span["spanId"])) == 8


def test_export_to_a_file_leaves_the_cursors_alone(run: Run, tmp_path: Path) -> None:
    run("otel", "emit", "a")
    run("otel", "export", "--to", str(tmp_path / "x.jsonl"))
    assert {one["waiting"] for one in run("otel", "export", "--status").result["destinations"]} == {1}


def test_a_file_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    failed = run("otel", "export", "--to", str(tmp_path / "no" / "x.jsonl"), ok=False)
    assert failed.json["error"]["code"] == "OTEL_EXPORT_FAILED"


def test_debug_events_are_not_thinned_out(run: Run) -> None:
    records = [{"eventName": "tick", "severityNumber": 5, "timeUnixNano": f"{NOW_MS + n}000000"} for n in range(40)]
    assert run("otel", "import", "-", stdin=line(*records)).result["added"] == 40


def test_records_of_others_become_events(run: Run) -> None:
    n = {"intValue": "7"}
    record = {
        "timeUnixNano": f"{NOW_MS}000000",
        "severityNumber": 13,
        "severityText": "WARNING",
        "body": {"stringValue": "disk is nearly full"},
        "attributes": [*said(session_id="web-1"), {"key": "n", "value": n}, {"key": "exception.message", "value": n}],
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "eee19b7ec3c1b174",
    }
    run("otel", "import", "-", stdin=line(record, resource={"service.name": "shop", "host.name": "box"}))
    (event,) = listed(run)
    assert event["action"] == "log"
    assert (event["source"], event["component"], event["systemId"]) == ("shop", "lib", "box")
    assert (event["sessionId"], event["level"], event["success"]) == ("web-1", "warn", True)
    assert (event["ts"], event["error"]) == ("2026-09-21T14:13:20.000Z", "7")
    assert event["metadata"] == {
        "n": 7, "body": "disk is nearly full", "traceId": record["traceId"], "spanId": record["spanId"]
    }  # fmt: skip


def test_a_record_without_an_id_is_taken_once(run: Run) -> None:
    text = line({"eventName": "a", "timeUnixNano": f"{NOW_MS}000000"}, {"eventName": "b"})
    assert run("otel", "import", "-", stdin=text).result["added"] == 2
    assert run("otel", "import", "-", stdin=text).result["duplicates"] == 2


def test_bad_lines_are_counted_and_the_rest_is_taken(run: Run) -> None:
    text = "\n".join(
        (
            line({"eventName": "good"}),
            "{no json",
            "[]",
            '{"resourceSpans": []}',
            "",
            '{"resourceMetrics": []}',
            '{"x": 1}',
            line({"severityNumber": 9}),
            line({"eventName": "last"}),
        )
    )
    report = run("otel", "import", "-", stdin=text).result
    assert (report["lines"], report["added"], report["others"], report["failed"]) == (8, 2, 2, 4)
    assert [error["line"] for error in report["errors"]] == [2, 3, 7, 8]
    assert report["errors"][0]["reason"].startswith("not JSON")


def test_an_input_without_any_good_line_fails(run: Run) -> None:
    failed = run("otel", "import", "-", stdin="nonsense\n", ok=False)
    assert failed.code == 1
    assert failed.json["error"]["code"] == "OTEL_IMPORT_FAILED"
    assert failed.json["error"]["message"].startswith("none of 1 lines is OTLP/JSON; line 1: not JSON")
    assert "resourceLogs" in failed.json["fix"]


def test_a_file_that_is_not_there(run: Run) -> None:
    failed = run("otel", "import", "nowhere.jsonl", ok=False)
    assert (failed.code, failed.json["error"]["code"]) == (2, "OTEL_INVALID_ARGS")


def test_secrets_are_redacted(run: Run, home: Path) -> None:
    secret = "ghp_" + fill(36)
    record = {
        "eventName": "push",
        "body": {"stringValue": f"pushed with {secret}"},
        "attributes": said(exception_message=f"denied for {secret}", note=f"token={secret}"),
    }
    run("otel", "import", "-", stdin=line(record, resource={"service.name": secret}, scope=secret))
    assert all(secret.encode() not in path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert "[redacted:" in listed(run)[0]["error"]


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e300, 1e300) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(
    metadata=st.dictionaries(TEXTS, VALUES, max_size=6),
    error=st.none() | TEXTS,
    success=st.booleans(),
    level=st.sampled_from(LEVELS),
    duration=st.none() | st.floats(0, 1e9),
    session=TEXTS,
)
def test_any_event_survives_the_round_trip(
    metadata: dict[str, Any], error: str | None, success: bool, level: str, duration: float | None, session: str
) -> None:
    event = new_event(
        "a.b", metadata=metadata, error=error, success=success, level=level, duration_ms=duration,
        session=session, system="box", now=NOW_MS,
    )  # fmt: skip
    exported = json_lines._line(encode_logs(records.log_records([event])))
    assert json_lines.read_line(1, exported, json_lines.Report(), NOW_MS) == [event]


NAMES = st.sampled_from(
    "resourceLogs resourceSpans scopeLogs logRecords attributes key value stringValue body intValue arrayValue"
    " kvlistValue values eventName severityNumber timeUnixNano traceId resource scope name".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=30,
)


@settings(deadline=None)
@given(whole=JSON, resource=JSON, item=st.dictionaries(NAMES, JSON, max_size=6))
def test_no_json_makes_it_fail(whole: Any, resource: Any, item: Any) -> None:
    report = json_lines.Report()
    json_lines.read_line(1, json.dumps(whole).encode(), report, NOW_MS)
    given_line = {"resourceLogs": [resource, {"scopeLogs": [{"logRecords": [item]}]}]}
    events = json_lines.read_line(2, json.dumps(given_line).encode(), report, NOW_MS)
    assert len(events) + report.failed >= 1
