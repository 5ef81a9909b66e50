"""Log records in OTLP/JSON, ours or anybody's, as events.

Ours come back as they were. Of others the attributes become metadata, and the service and the scope take the places of
source and component. All of it passes through `otel.event`, so that it is redacted and no larger than it may be.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import apsw
import orjson
from google.protobuf import json_format  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from core import ids
from core.records import Event
from otel import log
from otel.event import OPENTELEMETRY_LEVELS, new_event, parse_level
from otel.otlp import records as names

_BATCH = 500
_LONGEST_REASON = 200
_MOST_ERRORS = 20
_NO_LIMIT = 1 << 40
_OURS = frozenset(
    (
        names.UID, names.SESSION, names.ROLE, names.SYSTEM, names.ERROR, names.ERROR_TYPE, names.SOURCE,
        names.COMPONENT, names.SUCCESS, names.DURATION, "event.name",
    )
)  # fmt: skip


@dataclass
class Report:
    """What became of an input."""

    lines: int = 0
    records: int = 0
    added: int = 0
    duplicates: int = 0
    others: int = 0
    failed: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)

    def fail(self, line: int, reason: str) -> None:
        """Count a failure, and keep the first ones."""
        self.failed += 1
        if len(self.errors) < _MOST_ERRORS:
            self.errors.append({"line": line, "reason": reason})


def import_lines(
    db: apsw.Connection, lines: Iterable[tuple[int, bytes | None]], *, now: int, progress: Callable[[int], None]
) -> Report:
    """Store the log records of numbered lines; None stands for a line that is too long."""
    report = Report()
    batch: list[Event] = []

    def store() -> None:
        added = log.append(db, batch, debug_limit=_NO_LIMIT) if batch else 0
        report.added += added
        report.duplicates += len(batch) - added
        batch.clear()

    for number, line in lines:
        progress(len(line or b""))
        if line is not None and not line.strip():
            continue
        report.lines += 1
        for event in _events(number, line, report, now):
            batch.append(event)
            if len(batch) >= _BATCH:
                store()
    store()
    return report


def _events(number: int, line: bytes | None, report: Report, now: int) -> Iterator[Event]:
    request = ExportLogsServiceRequest()
    try:
        found = orjson.loads(line) if line is not None else None
        if isinstance(found, dict) and "resourceLogs" in found:
            json_format.ParseDict(found, request, ignore_unknown_fields=True)
    except orjson.JSONDecodeError as error:
        report.fail(number, f"no JSON: {error}")
        return
    except json_format.ParseError as error:
        report.fail(number, f"no OTLP: {error}"[:_LONGEST_REASON])
        return
    if line is None:
        report.fail(number, "the line is too long")
    elif not isinstance(found, dict):
        report.fail(number, "no JSON object")
    elif "resourceLogs" not in found:
        report.others += "resourceSpans" in found or "resourceMetrics" in found
        if "resourceSpans" not in found and "resourceMetrics" not in found:
            report.fail(number, "no resourceLogs")
    for of_resource in request.resource_logs:
        resource = _table(of_resource.resource.attributes)
        for of_scope in of_resource.scope_logs:
            for record in of_scope.log_records:
                report.records += 1
                made = _event(record, resource, of_scope.scope.name, now)
                if made is None:
                    report.fail(number, "a log record with neither event name nor body")
                else:
                    yield made


def _event(record: LogRecord, resource: dict[str, Any], scope: str, now: int) -> Event | None:
    """The event that a log record stands for; None for one that says nothing."""
    attributes = _table(record.attributes)
    body = _plain(record.body)
    action = record.event_name.strip() or _text(attributes.get("event.name"))
    if not action and body in (None, ""):
        return None
    number = record.severity_number
    by_name = parse_level(record.severity_text) or "info"
    level = OPENTELEMETRY_LEVELS[(number - 1) // 4] if 1 <= number <= 24 else by_name
    ours = names.COMPONENT in attributes and names.SOURCE in attributes
    success, duration = attributes.get(names.SUCCESS), attributes.get(names.DURATION)
    whole = f"{resource} {scope} {record}"
    return new_event(
        action or "log",
        source=_text(attributes.get(names.SOURCE)) or _text(resource.get("service.name")) or "otlp",
        component=_text(attributes.get(names.COMPONENT)) or scope or "otlp",
        level=level,
        success=success if isinstance(success, bool) else level not in ("error", "fatal"),
        metadata=_metadata(attributes) if ours else _foreign(attributes, body, action, record),
        duration_ms=duration if isinstance(duration, (int, float)) and not isinstance(duration, bool) else None,
        error=_text(attributes.get(names.ERROR)) or None,
        # A blank one stays empty; with none given the record would take this process's own.
        session=_text(attributes.get(names.SESSION)) or _text(attributes.get(names.ROLE)) or (" " if ours else "otlp"),
        system=_text(resource.get(names.SYSTEM)) or _text(resource.get("host.name")) or "unknown",
        now=(record.time_unix_nano or record.observed_time_unix_nano) // 1_000_000 or now,
        # The same id for the same record, so that a file taken in twice is stored once.
        id=_text(attributes.get(names.UID)) or "otlp-" + ids.fingerprint(whole),
    )


def _metadata(attributes: dict[str, Any]) -> dict[str, Any]:
    whole = attributes.get(names.METADATA)
    found: dict[str, Any] = dict(whole) if isinstance(whole, dict) else {}
    start = names.METADATA + "."
    return found | {key[len(start) :]: value for key, value in attributes.items() if key.startswith(start)}


def _foreign(attributes: dict[str, Any], body: object, action: str, record: LogRecord) -> dict[str, Any]:
    found = {key: value for key, value in attributes.items() if key not in _OURS}
    if body not in (None, "", action):
        found["body"] = body
    # They are hexadecimal in this form, where protobuf reads base64.
    spelled = {"traceId": b64encode(record.trace_id).decode(), "spanId": b64encode(record.span_id).decode()}
    return found | {name: value for name, value in spelled.items() if value.strip("0")}


def _text(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""


def _plain(value: AnyValue) -> Any:
    form = value.WhichOneof("value")
    if form == "array_value":
        return [_plain(entry) for entry in value.array_value.values]
    if form == "kvlist_value":
        return _table(value.kvlist_value.values)
    return None if form is None else getattr(value, form)


def _table(entries: Iterable[KeyValue]) -> dict[str, Any]:
    return {entry.key: _plain(entry.value) for entry in entries}
