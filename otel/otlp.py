"""Stored events as OpenTelemetry log records, spans and metrics, and sending them through the SDK's OTLP exporters.

Everything carries the times and ids of the events, so that an export that is repeated sends the same data. The
exporters compress, authenticate and retry. They only report success or failure, so they get an HTTP session that
remembers the last answer.
"""

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import requests
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader, MetricsData, ResourceMetrics
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context
from opentelemetry.trace.status import Status, StatusCode

from core import VERSION, files, json_text, words
from core.records import Event
from core.redaction import redact

SPAN_NAMES = {
    **dict.fromkeys(("memory.recall.completed", "memory.recall.failed"), "recall"),
    **dict.fromkeys(("command.completed", "command.degraded"), "command"),
    **dict.fromkeys(("hook.completed", "hook.degraded", "hook.failed", "hook.timeout"), "hook"),
}
"""The actions that took time, and the name of their span."""
METRICS = {
    "joelclaw.events": ("{event}", "Events"),
    "joelclaw.duration": ("ms", "How long what an event reports took"),
    "joelclaw.hook.duration": ("s", "How long a hook took"),
    "joelclaw.faults": ("{fault}", "Events that report a failure"),
    "joelclaw.recalls": ("{recall}", "Searches of memory"),
    "joelclaw.injected.tokens": ("{token}", "Estimated tokens of the texts that agents were given"),
    "joelclaw.archived": ("By", "Read from transcripts by hooks"),
}
"""The unit of each metric that events add to, and what it measures."""

_BUCKETS = (5, 10, 25, 50, 75, 100, 250, 500, 750, 1_000, 2_500, 5_000, 7_500, 10_000)  # ms; the SDK's defaults
_SCHEMA = Schemas.V1_44_0.value
_SCOPE = InstrumentationScope("joelclaw", VERSION, _SCHEMA)


class Sender:
    """Sends what a signal (`logs`, `traces`, `metrics`) says of events to a URL, with the SDK's exporter."""

    def __init__(self, signal: str, url: str) -> None:
        logger = logging.getLogger("opentelemetry")  # it would print warnings to stderr
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        exporters: dict[str, tuple[Any, Callable[[Sequence[Event]], Any]]] = {
            "logs": (OTLPLogExporter, log_records),
            "traces": (OTLPSpanExporter, spans),
            "metrics": (OTLPMetricExporter, metrics),
        }
        exporter, self._records = exporters[signal]
        self._session = _Session()
        self._exporter = exporter(endpoint=url, session=self._session)

    def send(self, events: Sequence[Event]) -> tuple[int, str, bool]:
        """How many records or, for metrics, events were sent; the error, if any; and whether the batch was refused.

        Nothing is sent if no event has a record. A batch that cannot be encoded counts as refused.
        """
        session = self._session
        session.answer = session.fault = None
        records: Any = ()
        try:
            records = self._records(events)
            if not records:
                return 0, "", False
            self._exporter.export(records)
        except Exception as fault:
            session.fault = session.fault or fault
        error, is_refused = session.outcome()
        return len(events) if isinstance(records, MetricsData) else len(records), error, is_refused

    def close(self) -> None:
        """Close the connection."""
        self._exporter.shutdown()


class _Session(requests.Session):
    """An HTTP session that remembers the last answer, or why there was none."""

    answer: requests.Response | None = None
    fault: Exception | None = None

    def request(self, *args: Any, **options: Any) -> requests.Response:
        """Send a request."""
        self.answer = self.fault = None
        try:
            self.answer = super().request(*args, **options)
        except Exception as fault:
            self.fault = fault
            # Not an error that the SDK would retry for ten seconds: the cursor says when to try again.
            raise RuntimeError("no answer") from None
        return self.answer

    def outcome(self) -> tuple[str, bool]:
        """The error of the last request, "" if it was accepted, and whether it would be refused again."""
        answer, fault = self.answer, self.fault
        if isinstance(fault, requests.exceptions.RequestException):
            reason = str(_cause(fault)).rpartition(": ")[2]
            return one_line(f"no answer: {type(fault).__name__}: {reason}"), False
        if answer is None:  # nothing was sent
            return one_line(f"the batch could not be encoded: {fault or 'too large'}"), True
        if answer.ok and answer.status_code < 300:
            return "", False
        is_text = "protobuf" not in answer.headers.get("content-type", "")
        message = f"HTTP {answer.status_code} {answer.reason or ''}: {answer.text[:1_200] if is_text else ''}"
        return one_line(message).rstrip(" :"), answer.status_code in (400, 413)


def _cause(fault: BaseException) -> BaseException:
    """The innermost of the exceptions that an exception of `requests` or `urllib3` wraps."""
    wrapped = (getattr(fault, "reason", None), *fault.args)
    cause = next((error for error in wrapped if isinstance(error, BaseException)), None)
    return fault if cause is None else _cause(cause)


def log_records(events: Sequence[Event]) -> list[ReadableLogRecord]:
    """A log record for each event."""
    resources = _resources(events)
    return [ReadableLogRecord(_log_record(event), resources[event["systemId"]], _SCOPE) for event in events]


def spans(events: Sequence[Event]) -> list[ReadableSpan]:
    """A span for each event in `SPAN_NAMES`, which ends at the time of the event, and a span for each of its steps."""
    resources = _resources(events)
    timed = [event for event in events if event["action"] in SPAN_NAMES]
    return [span for event in timed for span in _spans(event, resources[event["systemId"]])]


def metrics(events: Sequence[Event]) -> MetricsData:
    """The metrics of `METRICS`, sums of these events alone (delta), and the present size of the store."""
    found = [
        _metrics_of([event for event in events if event["systemId"] == system], resource)
        for system, resource in _resources(events).items()
    ]
    return MetricsData(found)


def one_line(text: str) -> str:
    """The text on one line, redacted and cut."""
    line, limit = " ".join(redact(words.clean(text))[0].split()), 300
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _resources(events: Iterable[Event]) -> dict[str, Resource]:
    """The resource of each machine: this memory on it. Attributes from the OTEL_* variables take precedence."""
    detected = OTELResourceDetector().detect()
    resources = {}
    for system in dict.fromkeys(event["systemId"] for event in events):
        about = {
            "service.name": "joelclaw",
            "service.version": VERSION,
            "service.instance.id": str(UUID(hex=words.fingerprint(f"{files.home()}\n{system}"), version=5)),
            "host.name": system,
            "joelclaw.system.id": system,
        }
        resources[system] = Resource.create(about, _SCHEMA).merge(detected)
    return resources


def _log_record(event: Event) -> LogRecord:
    at = event["timestamp"] * 1_000_000
    trace = _trace_id(event)
    span = _span_id(event["id"]) if event["action"] in SPAN_NAMES else 0
    flags = TraceFlags(TraceFlags.SAMPLED if trace else TraceFlags.DEFAULT)
    attributes = {f"joelclaw.metadata.{key}": value for key, value in _details(event)}
    if "duration_ms" in event:
        attributes["joelclaw.duration_ms"] = event["duration_ms"]
    return LogRecord(
        timestamp=at,
        observed_timestamp=at,
        context=set_span_in_context(NonRecordingSpan(SpanContext(trace, span, False, flags))),
        severity_text=event["level"].upper(),
        severity_number=SeverityNumber[event["level"].upper()],
        body=_body(event),
        attributes={**attributes, **_attributes(event), "log.record.uid": event["id"]},
        event_name=event["action"],
    )


def _body(event: Event) -> str:
    """A log record's text for a person: the action, and its error or the first plain values of its metadata."""
    if "error" in event:
        return f"{event['action']}: {event['error']}"
    plain = [f"{key} {value}" for key, value in _details(event) if isinstance(value, (str, int, float)) and value != ""]
    took = [f"{event['duration_ms']:g} ms"] if "duration_ms" in event else []
    about = one_line(", ".join([*took, *plain[:8]]))
    return f"{event['action']}: {about}" if about else event["action"]


def _details(event: Event) -> list[tuple[str, Any]]:
    """The metadata of an event, without the steps, which are spans."""
    return [(key, value) for key, value in event["metadata"].items() if key not in ("steps", "duration_ms")]


def _spans(event: Event, resource: Resource) -> Iterator[ReadableSpan]:
    """The span of a hook or command, then those of its steps."""
    end = event["timestamp"] * 1_000_000
    start = max(0, end - int(event.get("duration_ms", 0) * 1_000_000))
    about: dict[str, Any] = {
        f"joelclaw.metadata.{key}": json_text.dumps(value) if isinstance(value, (dict, list)) else value
        for key, value in _details(event)
        if value is not None  # a span's attributes are neither maps nor null
    }
    shared = _attributes(event)
    if SPAN_NAMES[event["action"]] == "recall":
        shared["gen_ai.operation.name"] = "retrieval"
    own: dict[str, Any] = {
        name: shared[name] for name in ("session.id", "gen_ai.conversation.id", "joelclaw.source") if name in shared
    }
    error = {"error.type": shared["error.type"]} if "error.type" in shared else {}
    # Name, start, end, attributes, and whether it failed: of the event, then of its steps.
    rows = [(_span_name(event), start, end, {**about, **shared, "log.record.uid": event["id"]}, not event["success"])]
    for name, began, ended in event["metadata"].get("steps", ()):
        first, last = (min(start + int(ms * 1_000_000), end) for ms in (began, ended))
        is_failed = name == event["metadata"].get("step")
        rows.append((name, first, last, {**own, **(error if is_failed else {})}, is_failed))
    root: SpanContext | None = None
    for number, (name, first, last, attributes, is_failed) in enumerate(rows):
        span_id = _span_id(f"{event['id']} {number}" if number else event["id"])
        context = SpanContext(_trace_id(event), span_id, False, TraceFlags(TraceFlags.SAMPLED))
        yield ReadableSpan(
            name=name,
            context=context,
            parent=root,
            resource=resource,
            attributes=attributes,
            status=Status(StatusCode.ERROR, event.get("error")) if is_failed else Status(StatusCode.UNSET),
            start_time=first,
            end_time=last,
            instrumentation_scope=_SCOPE,
        )
        root = root or context


def _span_name(event: Event) -> str:
    """`hook PreCompact`, `inject recovery`, `recall`."""
    name, about = SPAN_NAMES[event["action"]], event["metadata"]
    if name == "hook" and about.get("event"):
        return f"hook {about['event']}"
    return str(about.get("command") or name) if name == "command" else name


def _metrics_of(events: Sequence[Event], resource: Resource) -> ResourceMetrics:
    """The metrics of a machine's events, from the time of the first event to that of the last."""
    reader = InMemoryMetricReader(dict.fromkeys((Counter, Histogram), AggregationTemporality.DELTA))
    meter = MeterProvider([reader], resource, shutdown_on_exit=False).get_meter("joelclaw", VERSION, _SCHEMA)
    instruments: dict[str, Any] = {}
    for name, (unit, description) in METRICS.items():
        bounds = [ms / (1000 if unit == "s" else 1) for ms in _BUCKETS]
        instruments[name] = (
            meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=bounds).record
            if unit in ("ms", "s")
            else meter.create_counter(name, unit, description).add
        )
    for event in events:
        for name, value, attributes in _measurements(event):
            instruments[name](value, attributes)
    path = os.path.join(files.home(), files.STORE)
    size = sum(os.path.getsize(path + suffix) for suffix in ("", "-wal") if os.path.exists(path + suffix))
    meter.create_gauge("joelclaw.store.size", "By", "Size of the store's files").set(size)
    data = reader.get_metrics_data()
    times = [event["timestamp"] * 1_000_000 for event in events]
    ((of_resource),) = data.resource_metrics if data else ()
    ((of_scope),) = of_resource.scope_metrics
    timed = []
    for metric in of_scope.metrics:  # the SDK gives them the time at which it has added them up
        points: Any = [
            replace(point, start_time_unix_nano=min(times), time_unix_nano=max(times), exemplars=[])
            for point in metric.data.data_points
        ]
        timed.append(replace(metric, data=replace(metric.data, data_points=points)))
    return replace(of_resource, scope_metrics=[replace(of_scope, metrics=timed)], schema_url=_SCHEMA)


def _measurements(event: Event) -> Iterator[tuple[str, float, dict[str, Any]]]:
    """What an event adds to the metrics: the metric, a value and attributes."""
    about, action = event["metadata"], {"joelclaw.action": event["action"]}
    client = {"gen_ai.agent.name": str(about.get("agent", ""))}
    fault = {} if event["success"] else {"error.type": _error_type(event)}
    yield "joelclaw.events", 1, {**action, "joelclaw.level": event["level"], "joelclaw.success": event["success"]}
    if fault:
        yield "joelclaw.faults", 1, {**action, **fault}
    took = event.get("duration_ms")
    if took is not None:
        yield "joelclaw.duration", took, action
        if SPAN_NAMES.get(event["action"]) == "hook":
            hook = {"joelclaw.hook.event": str(about.get("event", "")), **client, **fault}
            yield "joelclaw.hook.duration", took / 1000, hook
    hits = about.get("returned", about.get("result_count"))
    if event["action"] in ("memory.recall.completed", "memory.recall.injected", "task.recalled") and hits is not None:
        yield "joelclaw.recalls", 1, {**action, "joelclaw.recall.has_hits": bool(hits)}
    if "inject" in event["action"]:
        yield "joelclaw.injected.tokens", about.get("estimatedTokens", 0), action
    if "archivedBytes" in about:
        yield "joelclaw.archived", about["archivedBytes"], client


def _attributes(event: Event) -> dict[str, Any]:
    """The attributes that a log record and a span of an event share."""
    session = _session(event)
    attributes: dict[str, Any] = {
        "session.id" if session else "joelclaw.session": event["sessionId"],
        "joelclaw.source": event["source"],
        "joelclaw.component": event["component"],
        "joelclaw.success": event["success"],
    }
    if session:
        attributes["gen_ai.conversation.id"] = session
    if event["metadata"].get("agent"):
        attributes["gen_ai.agent.name"] = str(event["metadata"]["agent"])
    if "error" in event:
        attributes["exception.message"] = event["error"]
        attributes["error.type"] = _error_type(event)
    return attributes


def _error_type(event: Event) -> str:
    """The class of an error: its code, the name of an exception, or `_OTHER` (semantic conventions)."""
    code = event["metadata"].get("code")
    if isinstance(code, str) and 0 < len(code) <= 80:
        return code
    name = re.match(
        r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Za-z_][\w.]{0,80}(?:Error|Exception))(?::|$)", event.get("error", "")
    )
    return name[1] if name else "_OTHER"


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


def _span_id(name: str) -> int:
    return int(words.fingerprint(name)[:16], 16) or 1
