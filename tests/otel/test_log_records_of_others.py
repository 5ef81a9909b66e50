"""A log record of anybody's as an event: each form of a value, what stands for what, and what says nothing."""

from __future__ import annotations

import json
from typing import Any

import apsw
import pytest
from conftest import NOW_MS

from core.store import migrations
from otel import log
from otel.otlp import importer


def attributes(**values: Any) -> list[dict[str, Any]]:
    forms = {str: "stringValue", bool: "boolValue", int: "intValue", float: "doubleValue"}
    return [{"key": key.replace("__", "."), "value": {forms[type(value)]: value}} for key, value in values.items()]


def test_of_others_the_attributes_become_metadata() -> None:
    item = {
        "eventName": "push", "body": {"stringValue": "pushed"}, "traceId": "0f", "spanId": "00", "severityNumber": 17,
        "attributes": attributes(a=1, event__name="x", session__id="s", exception__message="bad", error__type="T"),
        "timeUnixNano": "5000000",
    }  # fmt: skip
    made: Any = importer.event(item, {"service.name": "web", "host.name": "h"}, "lib", NOW_MS)
    assert made.pop("id").startswith("otlp-")
    assert made == {
        "timestamp": 5, "sessionId": "s", "systemId": "h", "level": "error", "source": "web", "component": "lib",
        "action": "push", "success": False, "metadata": {"a": 1, "body": "pushed", "traceId": "0f"}, "error": "bad",
    }  # fmt: skip
    bare: Any = importer.event({"body": {"intValue": 0}}, {}, "", NOW_MS)
    assert bare.pop("id") == importer._made_id({"body": {"intValue": 0}}, {}, "")
    assert bare == {
        "timestamp": NOW_MS, "sessionId": "otlp", "systemId": "unknown", "level": "info", "source": "otlp",
        "component": "otlp", "action": "log", "success": True, "metadata": {"body": 0},
    }  # fmt: skip
    named: Any = importer.event(
        {"attributes": attributes(event__name="n"), "body": {"stringValue": "n"}, "severityNumber": 24}, {}, "", NOW_MS
    )
    assert (named["action"], named["metadata"], named["success"]) == ("n", {}, False)


def test_ours_comes_back_as_it_was() -> None:
    about = {
        "joelclaw__source": "cli", "joelclaw__component": "c", "joelclaw__success": False, "joelclaw__duration_ms": 2.5,
        "joelclaw__metadata__k": 1, "other": 2, "log__record__uid": "e1", "joelclaw__session": "gateway",
    }  # fmt: skip
    item = {"eventName": "a.b", "body": {"stringValue": "a.b"}, "attributes": attributes(**about)}
    resource = {"joelclaw.system.id": "y", "host.name": "h", "service.name": "web"}
    assert importer.event(item, resource, "lib", NOW_MS) == {
        "id": "e1", "timestamp": NOW_MS, "sessionId": "gateway", "systemId": "y", "level": "info", "source": "cli",
        "component": "c", "action": "a.b", "success": False, "metadata": {"k": 1}, "duration_ms": 2.5,
        "error": "operation_failed",
    }  # fmt: skip
    whole = {"key": "joelclaw.metadata", "value": {"kvlistValue": {"values": attributes(m=1)}}}
    for kept, session in (
        ({"joelclaw__source": "s", "joelclaw__component": "c"}, ""),
        ({"joelclaw__source": "s"}, "otlp"),
    ):
        made: Any = importer.event({"eventName": "a", "attributes": [*attributes(**kept), whole]}, {}, "", NOW_MS)
        assert made["sessionId"] == session
        assert made["metadata"].get("m") == (1 if "joelclaw__component" in kept else None)
    for duration in (True, "x"):
        item = {"eventName": "a", "attributes": attributes(joelclaw__duration_ms=duration, joelclaw__success="no")}
        odd: Any = importer.event(item, {}, "", NOW_MS)
        assert "duration_ms" not in odd and odd["success"] is True


@pytest.mark.parametrize(
    ("item", "says"),
    [({}, False), ({"body": {"stringValue": ""}}, False), ({"body": {}}, False), ({"eventName": " "}, False),
     ({"eventName": "a"}, True), ({"body": {"boolValue": False}}, True), ({"body": {"stringValue": "t"}}, True),
     ({"attributes": attributes(event__name="n")}, True), ({"eventName": 7}, True), ({"eventName": True}, False)],
)  # fmt: skip
def test_a_record_that_says_nothing_is_none(item: dict[str, Any], says: bool) -> None:
    assert (importer.event(item, {}, "", NOW_MS) is not None) is says


def test_what_a_line_holds_is_counted() -> None:
    report = importer.Report()

    def taken(line: bytes | None, number: int = 1) -> list[str]:
        return [one["action"] for one in importer._events(number, line, report, NOW_MS)]

    records = [{"eventName": "a"}, {}, 7, {"eventName": "b"}]
    scopes = [{"scope": {"name": "lib"}, "logRecords": records}, {"scope": 7, "logRecords": [{"eventName": "c"}]}, 7]
    groups = [{"resource": {"attributes": attributes(service__name="w")}, "scopeLogs": scopes}, {"resource": 7}, 7]
    assert taken(json.dumps({"resourceLogs": groups}).encode(), 3) == ["a", "b", "c"]
    assert (report.records, report.failed, report.others) == (4, 1, 0)
    assert report.errors == [{"line": 3, "reason": "a log record with neither event name nor body"}]
    for line in (b'{"resourceSpans": []}', b'{"resourceMetrics": []}'):
        assert taken(line) == []
    assert (report.failed, report.others) == (1, 2)
    for line, reason in ((None, "the line is too long"), (b"[]", "no JSON object"), (b"{}", "no resourceLogs")):
        assert taken(line, 9) == []
        assert report.errors[-1] == {"line": 9, "reason": reason}
    assert taken(b"{") == [] and report.errors[-1]["reason"].startswith("no JSON: ")
    for number in range(30):
        taken(b"{}", number)
    assert (report.failed, len(report.errors)) == (35, 20)


def test_lines_are_stored_in_batches_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    db = apsw.Connection(":memory:")
    for step in migrations.STEPS:
        db.execute(step)
    monkeypatch.setattr(importer, "_BATCH", 2)
    stored: list[int] = []
    append = log.append

    def appended(db: Any, events: Any, *, debug_limit: int) -> int:
        stored.append(len(events))
        return append(db, events, debug_limit=debug_limit)

    monkeypatch.setattr(log, "append", appended)

    def line(*names: str) -> bytes:
        records = [{"eventName": name, "timeUnixNano": "5000000"} for name in names]
        return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()

    lines = [line("a"), b" \n", line("b", "c", "d", "e"), None, b"", line("a"), b"{}", b'{"resourceSpans": []}']
    read: list[int] = []
    report = importer.import_lines(db, enumerate(lines, 1), now=NOW_MS, progress=read.append)
    errors = [{"line": 4, "reason": "the line is too long"}, {"line": 7, "reason": "no resourceLogs"}]
    assert report == importer.Report(lines=6, records=6, added=5, duplicates=1, others=1, failed=2, errors=errors)
    assert stored == [2, 2, 2] and read == [len(one or b"") for one in lines]
    assert importer.import_lines(db, [], now=NOW_MS) == importer.Report() and len(stored) == 3
