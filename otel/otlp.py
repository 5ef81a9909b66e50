"""Stored events as OpenTelemetry log records, spans and metrics, and sending them through the SDK's OTLP exporters.

Everything carries the times and ids of the events, so that an export that is repeated sends the same data. The
exporters compress, authenticate and retry. They only report success or failure, so they get an HTTP session that
remembers the last answer.
"""

import logging
import os
import random
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any, NamedTuple
from uuid import UUID

import apsw
import requests
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LogRecordLimits, ReadableLogRecord
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
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context
from opentelemetry.trace.status import Status, StatusCode

from core import VERSION, clock, files, json_text, words
from core.records import Event
from core.redaction import redact
from core.store import events as stored_events
from core.store import sqlite
from core.store.events import Cursor

BATCH = 512  # events, the SDK's default
SPAN_NAMES = {"memory.recall.completed": "recall", "memory.recall.failed": "recall"} | dict.fromkeys(
    ("hook.completed", "hook.degraded", "hook.failed", "hook.timeout"), "hook"
)
"""The actions that took time, and the name of their span."""

_SCOPE = InstrumentationScope("joelclaw", VERSION)


def send_all(db: apsw.Connection, cursors: Sequence[tuple[Cursor, str]], *, due_only: bool) -> list[dict[str, Any]]:
    """Send the events up to this moment to each destination: its cursor and its URL.

    Returns what `otel export` prints about each.
    """
    logger = logging.getLogger("opentelemetry")  # it would print warnings to stderr
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    upto = stored_events.last_seq(db)
    due = [(cursor, url) for cursor, url in cursors if not due_only or cursor.next_try_at <= clock.now_ms()]
    return [_Transfer(db, cursor, url, upto).run() for cursor, url in due]


def log_records(events: Sequence[Event]) -> list[ReadableLogRecord]:
    """A log record for each event."""
    resources = _resources(events)
    limits = LogRecordLimits()
    return [
        ReadableLogRecord(_log_record(event, limits), resources[event["systemId"]], _SCOPE, limits) for event in events
    ]


def spans(events: Sequence[Event]) -> list[ReadableSpan]:
    """A span for each event that took time and is in `SPAN_NAMES`. It ends at the time of its event."""
    resources = _resources(events)
    limits = SpanLimits()
    return [_span(event, resources[event["systemId"]], limits) for event in events if event["action"] in SPAN_NAMES]


def metrics(events: Sequence[Event]) -> MetricsData:
    """How many events there were of each action, and how long they took: sums of these events alone (delta)."""
    by_system: dict[str, list[Event]] = {}
    for event in events:
        by_system.setdefault(event["systemId"], []).append(event)
    resources = _resources(events)
    return MetricsData(
        [
            ResourceMetrics(resources[system], [ScopeMetrics(_SCOPE, _system_metrics(group), "")], "")
            for system, group in by_system.items()
        ]
    )


class _Signal(NamedTuple):
    exporter: type[Any]
    records: Callable[[Sequence[Event]], Any]


_SIGNALS = {
    "logs": _Signal(OTLPLogExporter, log_records),
    "traces": _Signal(OTLPSpanExporter, spans),
    "metrics": _Signal(OTLPMetricExporter, metrics),
}


@dataclass(frozen=True)
class _Result:
    """The answer of a receiver to a batch; `error` is "" if it accepted the batch."""

    error: str = ""
    is_refused: bool = False  # it will never accept this batch


class _Session(requests.Session):
    """An HTTP session that remembers the last answer, or why there was none."""

    answer: requests.Response | None = None
    fault: Exception | None = None

    def forget(self) -> None:
        """Forget the last answer."""
        self.answer = self.fault = None

    def request(self, *args: Any, **options: Any) -> requests.Response:
        """Send a request."""
        self.forget()
        try:
            self.answer = super().request(*args, **options)
        except Exception as fault:
            self.fault = fault
            # Not an error that the SDK would retry for ten seconds: the cursor says when to try again.
            raise RuntimeError("no answer") from None
        return self.answer


class _Transfer:
    """Sends pending events to a destination. The cursor moves when a batch was accepted."""

    def __init__(self, db: apsw.Connection, cursor: Cursor, url: str, upto: int) -> None:
        self._db = db
        self._cursor = self._before = cursor
        self._signal = _SIGNALS[cursor.signal]
        self._url = url
        self._upto = upto
        self._session = _Session()
        self._skipped = 0  # events refused since the last accepted batch

    def run(self) -> dict[str, Any]:
        """Send what waits and store in the cursor how it went."""
        failure = None
        if self._cursor.reached < self._upto:
            exporter = self._signal.exporter(endpoint=self._url, session=self._session)
            try:
                failure = self._send_batches(exporter)
            finally:
                exporter.shutdown()
        if failure is not None:
            self._store_failure(failure)
        return {
            "signal": self._cursor.signal,
            "endpoint": self._cursor.endpoint,
            "sent": self._cursor.exported - self._before.exported,
            "rejected": self._cursor.rejected - self._before.rejected,
            "waiting": stored_events.count_after(self._db, self._cursor.reached),
            **({"error": failure.error} if failure else {}),
        }

    def _send_batches(self, exporter: Any) -> _Result | None:
        """Send batch after batch. Returns the failure that ended it.

        A refused batch is halved until the event that the receiver refuses is found. That event is skipped once the
        receiver accepts a later one.
        """
        reached, size = self._cursor.reached, _batch_size(self._cursor.signal)
        refusal: _Result | None = None
        while True:
            events, last = stored_events.next_batch(
                self._db, reached, self._upto, size, 1_000_000
            )  # receivers accept a few megabytes
            if not events:
                return refusal
            records = self._signal.records(events)
            if records:
                result = self._send(exporter, records)
                if result.is_refused and len(events) > 1:
                    size = len(events) // 2
                    continue
                if result.is_refused:
                    self._skipped += 1
                    refusal = result
                    if self._skipped > 5:  # in a row: the fault is the receiver's, not that of the events
                        return refusal
                elif result.error:
                    return result
                else:
                    count = len(events) if isinstance(records, MetricsData) else len(records)
                    self._store_success(last, count)
                    refusal = None
                    size = min(size * 2, _batch_size(self._cursor.signal))
            elif not self._skipped:
                self._store(reached=last)  # none of these events is a span
            reached = last

    def _send(self, exporter: Any, records: Any) -> _Result:
        self._session.forget()
        try:
            exporter.export(records)
        except Exception as error:
            self._session.fault = error
        answer, fault = self._session.answer, self._session.fault
        if isinstance(fault, requests.exceptions.Timeout):
            return _Result("no answer in time")
        if isinstance(fault, requests.exceptions.RequestException):
            is_refused = "Connection refused" in str(fault)
            return _Result("connection refused" if is_refused else _one_line(f"no connection: {fault}"))
        if answer is None:  # nothing was sent
            return _Result(_one_line(f"the batch could not be encoded: {fault or 'too large'}"), is_refused=True)
        if 200 <= answer.status_code < 300:
            return _Result()
        message = f"HTTP {answer.status_code} {answer.reason or ''}".strip()
        if answer.text and "protobuf" not in answer.headers.get("content-type", ""):
            message += f": {answer.text[:1_200]}"
        return _Result(_one_line(message), is_refused=answer.status_code in (400, 413))

    def _store_success(self, reached: int, count: int) -> None:
        self._store(
            reached=reached,
            exported=self._cursor.exported + count,
            rejected=self._cursor.rejected + self._skipped,
            exported_at=clock.now_ms(),
            failures=0,
            error=f"{self._skipped} events were refused" if self._skipped else "",
            next_try_at=0,
        )
        self._skipped = 0

    def _store_failure(self, failure: _Result) -> None:
        failures, now = self._cursor.failures + 1, clock.now_ms()
        longest = min(300.0, 2.0 ** min(failures, 10))
        # At random, so that many machines do not all return to a receiver at the same moment.
        wait_s = longest * random.uniform(0.5, 1.0)  # noqa: S311  # not a secret
        self._store(failures=failures, error=failure.error, failed_at=now, next_try_at=now + int(wait_s * 1000))

    def _store(self, **changes: Any) -> None:
        self._cursor = self._cursor.changed(**changes)
        with sqlite.transaction(self._db):
            stored_events.save_cursor(self._db, self._cursor)


def _batch_size(signal: str) -> int:
    name = {"logs": "BLRP", "traces": "BSP"}.get(signal, "")
    size = os.environ.get(f"OTEL_{name}_MAX_EXPORT_BATCH_SIZE", "").strip()
    return max(1, min(int(size), 10_000)) if size.isascii() and size.isdigit() else BATCH


def _one_line(text: str, limit: int = 300) -> str:
    line = " ".join(redact(words.clean(text))[0].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _resources(events: Iterable[Event]) -> dict[str, Resource]:
    """The resource of each machine: this memory on it. Attributes from the OTEL_* variables take precedence."""
    detected = OTELResourceDetector().detect()
    sdk = {"language": "python", "name": "opentelemetry", "version": metadata.version("opentelemetry-sdk")}
    resources = {}
    for system in dict.fromkeys(event["systemId"] for event in events):
        digits = words.fingerprint(f"{files.home()}\n{system}")
        about = {
            "service.name": "joelclaw",
            "service.version": VERSION,
            "service.instance.id": str(UUID(hex=f"{digits[:12]}8{digits[13:16]}8{digits[17:]}")),
            "host.name": system,
            "joelclaw.system.id": system,
            **{f"telemetry.sdk.{name}": value for name, value in sdk.items()},
        }
        resources[system] = Resource(about).merge(detected)
    return resources


def _log_record(event: Event, limits: LogRecordLimits) -> LogRecord:
    at = event["timestamp"] * 1_000_000
    trace = _trace_id(event)
    span = _span_id(event) if event["action"] in SPAN_NAMES else 0
    flags = TraceFlags(TraceFlags.SAMPLED if trace else TraceFlags.DEFAULT)
    attributes = {f"joelclaw.metadata.{key}": _encodable(value) for key, value in event["metadata"].items()}
    if "duration_ms" in event:
        attributes["joelclaw.duration_ms"] = event["duration_ms"]
    attributes |= _attributes(event)  # last: of too many attributes, the first are dropped
    bounded = BoundedAttributes(
        limits.max_log_record_attributes, attributes, max_value_len=limits.max_log_record_attribute_length
    )
    return LogRecord(
        timestamp=at,
        observed_timestamp=at,
        context=set_span_in_context(NonRecordingSpan(SpanContext(trace, span, False, flags))),
        severity_text=event["level"].upper(),
        severity_number=SeverityNumber[event["level"].upper()],
        body=f"{event['action']}: {event['error']}" if "error" in event else event["action"],
        attributes={**bounded, "log.record.uid": event["id"]},  # the id is never cut
        event_name=event["action"],
    )


def _span(event: Event, resource: Resource, limits: SpanLimits) -> ReadableSpan:
    end = event["timestamp"] * 1_000_000
    attributes: dict[str, Any] = {}
    for key, value in event["metadata"].items():
        is_plain = not isinstance(value, (dict, list)) or (
            isinstance(value, list) and all(isinstance(item, str) for item in value)
        )
        if value is not None:  # a span's attributes are neither maps nor null
            attributes[f"joelclaw.metadata.{key}"] = _encodable(value) if is_plain else json_text.dumps(value)
    if event["metadata"].get("agent"):
        attributes["gen_ai.agent.name"] = str(event["metadata"]["agent"])
    attributes |= _attributes(event)
    bounded = BoundedAttributes(limits.max_span_attributes, attributes, max_value_len=limits.max_span_attribute_length)
    name = SPAN_NAMES[event["action"]]
    if name == "hook" and event["metadata"].get("event"):
        name = f"hook {event['metadata']['event']}"
    return ReadableSpan(
        name=name,
        context=SpanContext(_trace_id(event), _span_id(event), False, TraceFlags(TraceFlags.SAMPLED)),
        resource=resource,
        attributes={**bounded, "log.record.uid": event["id"]},
        status=Status(StatusCode.UNSET) if event["success"] else Status(StatusCode.ERROR, event.get("error")),
        start_time=max(0, end - int(event.get("duration_ms", 0) * 1_000_000)),
        end_time=end,
        instrumentation_scope=_SCOPE,
    )


def _system_metrics(events: Sequence[Event]) -> list[Metric]:
    """The metrics of a machine's events, from the time of the first event to that of the last."""
    times = [event["timestamp"] * 1_000_000 for event in events]
    start, end = min(times), max(times)
    counts: dict[tuple[str, str, bool], int] = {}
    durations: dict[str, list[float]] = {}
    for event in events:
        key = event["action"], event["level"], event["success"]
        counts[key] = counts.get(key, 0) + 1
        if "duration_ms" in event:
            durations.setdefault(event["action"], []).append(event["duration_ms"])
    delta = AggregationTemporality.DELTA
    points = [
        NumberDataPoint(
            {"joelclaw.action": action, "joelclaw.level": level, "joelclaw.success": success}, start, end, count
        )
        for (action, level, success), count in counts.items()
    ]
    metrics = [Metric("joelclaw.events", "Events", "{event}", Sum(points, delta, is_monotonic=True))]
    if durations:
        histograms = [_histogram(action, values, start, end) for action, values in durations.items()]
        metrics.append(Metric("joelclaw.duration", "How long it took", "ms", Histogram(histograms, delta)))
    return metrics


def _histogram(action: str, values: Sequence[float], start: int, end: int) -> HistogramDataPoint:
    # the SDK's defaults
    buckets_ms = (0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1_000, 2_500, 5_000, 7_500, 10_000)
    counts = [0] * (len(buckets_ms) + 1)
    for value in values:
        counts[bisect_left(buckets_ms, value)] += 1
    return HistogramDataPoint(
        attributes={"joelclaw.action": action},
        start_time_unix_nano=start,
        time_unix_nano=end,
        count=len(values),
        sum=sum(values),
        bucket_counts=counts,
        explicit_bounds=buckets_ms,
        min=min(values),
        max=max(values),
    )


def _attributes(event: Event) -> dict[str, Any]:
    """The attributes that a log record and a span of an event share."""
    session = _session(event)
    attributes: dict[str, Any] = {
        "session.id" if session else "joelclaw.session": event["sessionId"],
        "joelclaw.source": event["source"],
        "joelclaw.component": event["component"],
        "joelclaw.success": event["success"],
    }
    if "error" in event:
        attributes["exception.message"] = event["error"]
        attributes["error.type"] = _error_type(event)
    return attributes


def _error_type(event: Event) -> str:
    """The class of an error: its code, the name of an exception, or `_OTHER` (semantic conventions)."""
    code = event["metadata"].get("code")
    if isinstance(code, str) and 0 < len(code) <= 80:
        return code
    exception = r"[A-Za-z_][\w.]{0,80}(?:Error|Exception|Failure|Timeout|Exit|Interrupt)"
    name = re.match(rf"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|{exception})(?::|$)", event.get("error", ""))
    return name[1] if name else "_OTHER"


def _encodable(value: Any) -> Any:
    """The value with integers of more than 64 bits as text: OTLP cannot encode them."""
    if isinstance(value, dict):
        return {key: _encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return str(value) if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 else value


def _session(event: Event) -> str:
    """The id of an event's session, "" if it is only the name of a role."""
    name = event["sessionId"]
    return "" if name in ("interactive", "gateway", event["source"]) else name


def _trace_id(event: Event) -> int:
    """The trace of an event's session: its id if that is a UUID, else a hash of it. 0 for no trace."""
    session = _session(event)
    if not session:
        return int(words.fingerprint("trace of " + event["id"]), 16) if event["action"] in SPAN_NAMES else 0
    try:
        return UUID(session).int or 1
    except ValueError:
        return int(words.fingerprint(session), 16)


def _span_id(event: Event) -> int:
    return int(words.fingerprint(event["id"])[:16], 16) or 1
