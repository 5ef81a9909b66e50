"""Events as OTLP/JSON lines, one request a line, as a collector's file exporter writes them: there and back."""

import base64
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import apsw
import orjson
from google.protobuf import json_format  # type: ignore[import-untyped]
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from core import home_files, ids
from core.records import Event
from core.store import export_cursor
from core.store import history as stored
from otel import log
from otel.event import LEVELS, new_event, parse_level
from otel.otlp import records
from otel.otlp.transfer import BATCH, BATCH_BYTES

_BATCH = 500
_LONGEST_REASON = 200
_MOST_ERRORS = 20
_NO_LIMIT = 1 << 40
_OURS = frozenset(
    (
        records.UID, records.SESSION, records.ROLE, records.SYSTEM, records.ERROR, records.ERROR_TYPE, records.SOURCE,
        records.COMPONENT, records.SUCCESS, records.DURATION, "event.name",
    )
)  # fmt: skip


def write_file(db: apsw.Connection | None, path: str) -> dict[str, int]:
    """Write all events into a new file that takes the place of an older one once it is whole; how much that is."""
    written = {"events": 0, "lines": 0, "bytes": 0}
    home_files.sweep_beside(path)
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as handle:
            for events, line in every_line(db):
                handle.write(line)
                written["events"] += events
                written["lines"] += 1
                written["bytes"] += len(line)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return written


def every_line(db: apsw.Connection | None) -> Iterator[tuple[int, bytes]]:
    """The lines of all events, each with how many it is the first to hold; the export's cursors do not move."""
    if db is None:
        return
    upto, at = stored.last_seq(db), 0
    while True:
        events, at = export_cursor.batch(db, at, upto, BATCH, BATCH_BYTES)
        if not events:
            return
        yield len(events), _line(encode_logs(records.log_records(events)))
        if spans := records.spans(events):
            yield 0, _line(encode_spans(spans))


def _line(request: Any) -> bytes:
    found = json_format.MessageToDict(request, use_integers_for_enums=True)
    for group, scopes, items in (("resourceLogs", "scopeLogs", "logRecords"), ("resourceSpans", "scopeSpans", "spans")):
        for of_resource in found.get(group, ()):
            for of_scope in of_resource.get(scopes, ()):
                for item in of_scope.get(items, ()):
                    for name in ("traceId", "spanId"):
                        if name in item:
                            item[name] = base64.b64decode(item[name]).hex()
    return bytes(orjson.dumps(found)) + b"\n"


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
    events: list[Event] = []
    for number, line in chain(lines, [(0, b"")]):
        progress(len(line or b""))
        if line is None or line.strip():
            report.lines += 1
            events += read_line(number, line, report, now)
        if len(events) >= _BATCH or not number:
            added = log.append(db, events, debug_limit=_NO_LIMIT)
            report.added += added
            report.duplicates += len(events) - added
            events = []
    return report


def read_line(number: int, line: bytes | None, report: Report, now: int) -> list[Event]:
    """The events of a line; what is wrong with it goes into the report."""
    request = ExportLogsServiceRequest()
    reason = ""
    try:
        found = orjson.loads(line) if line is not None else None
        if line is None:
            reason = "the line is too long"
        elif not isinstance(found, dict):
            reason = "not a JSON object"
        elif "resourceLogs" in found:
            json_format.ParseDict(found, request, ignore_unknown_fields=True)
        elif "resourceSpans" in found or "resourceMetrics" in found:
            report.others += 1
        else:
            reason = "no resourceLogs"
    except orjson.JSONDecodeError as error:
        reason = f"not JSON: {error}"
    except json_format.ParseError as error:
        request, reason = ExportLogsServiceRequest(), f"not OTLP: {error}"[:_LONGEST_REASON]
    if reason:
        report.fail(number, reason)
    events = []
    for of_resource in request.resource_logs:
        resource = _table(of_resource.resource.attributes)
        for of_scope in of_resource.scope_logs:
            for record in of_scope.log_records:
                report.records += 1
                event = _event(record, resource, of_scope.scope.name, now)
                if event is None:
                    report.fail(number, "a log record with neither event name nor body")
                else:
                    events.append(event)
    return events


def _event(record: LogRecord, resource: dict[str, Any], scope: str, now: int) -> Event | None:
    attributes = _table(record.attributes)
    body = _plain(record.body)
    action = record.event_name.strip() or _text(attributes.get("event.name"))
    if not action and body in (None, ""):
        return None
    number = record.severity_number
    by_name = parse_level(record.severity_text) or "info"
    level = ("debug", *LEVELS)[(number - 1) // 4] if 1 <= number <= 24 else by_name  # a severity has four numbers
    ours = records.COMPONENT in attributes and records.SOURCE in attributes
    success, duration = attributes.get(records.SUCCESS), attributes.get(records.DURATION)
    session = _text(attributes.get(records.SESSION)) or _text(attributes.get(records.ROLE))
    return new_event(
        action or "log",
        source=_text(attributes.get(records.SOURCE)) or _text(resource.get("service.name")) or "otlp",
        component=_text(attributes.get(records.COMPONENT)) or scope or "otlp",
        level=level,
        success=success if isinstance(success, bool) else level not in ("error", "fatal"),
        metadata=_metadata(attributes) if ours else _foreign(attributes, body, action, record),
        duration_ms=duration if isinstance(duration, (int, float)) and not isinstance(duration, bool) else None,
        error=_text(attributes.get(records.ERROR)) or None,
        # A blank one stays empty; with none given the record would take this process's own.
        session=session or (" " if ours else "otlp"),
        system=_text(resource.get(records.SYSTEM)) or _text(resource.get("host.name")) or "unknown",
        now=(record.time_unix_nano or record.observed_time_unix_nano) // 1_000_000 or now,
        # The same id for the same record, so that a file taken in twice is stored once.
        id=_text(attributes.get(records.UID)) or "otlp-" + ids.fingerprint(f"{resource} {scope} {record}"),
    )


def _metadata(attributes: dict[str, Any]) -> dict[str, Any]:
    whole = attributes.get(records.METADATA)
    found: dict[str, Any] = dict(whole) if isinstance(whole, dict) else {}
    start = records.METADATA + "."
    return found | {key[len(start) :]: value for key, value in attributes.items() if key.startswith(start)}


def _foreign(attributes: dict[str, Any], body: object, action: str, record: LogRecord) -> dict[str, Any]:
    found = {key: value for key, value in attributes.items() if key not in _OURS}
    if body not in (None, "", action):
        found["body"] = body
    # They are hexadecimal in this form, where protobuf reads base64.
    for name, value in (("traceId", record.trace_id), ("spanId", record.span_id)):
        spelled = base64.b64encode(value).decode()
        if spelled.strip("0"):
            found[name] = spelled
    return found


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
