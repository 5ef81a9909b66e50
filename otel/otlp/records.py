"""Events as OpenTelemetry log records and spans, and the resource and scope that both name.

Hook runs and recalls are spans, one trace per agent session. Ids are made from the session and the event, so an export
done twice is the same data.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context
from opentelemetry.trace.status import Status, StatusCode

from core import VERSION, files, ids
from otel.otlp import attributes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Event

SERVICE = "joelclaw"
HOOK_OUTCOMES = {
    "hook.completed": "completed",
    "hook.degraded": "degraded",
    "hook.failed": "failed",
    "hook.timeout": "timeout",
}
RECALL_OUTCOMES = {"memory.recall.completed": "completed", "memory.recall.failed": "failed"}
_SEVERITIES = {
    "debug": SeverityNumber.DEBUG,
    "info": SeverityNumber.INFO,
    "warn": SeverityNumber.WARN,
    "error": SeverityNumber.ERROR,
    "fatal": SeverityNumber.FATAL,
}


@cache
def resource(system: str) -> Resource:
    """The resource of one machine's events; `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME` beat what is here.

    The instance is this memory on that machine: the same at each export, another for another home.
    """
    digits = ids.fingerprint(f"{files.home()}\n{system}")
    ours = Resource(
        {
            "service.name": SERVICE,
            "service.version": VERSION,
            "service.instance.id": "-".join(
                (digits[:8], digits[8:12], "8" + digits[13:16], "8" + digits[17:20], digits[20:])
            ),
            "host.name": system,
            attributes.SYSTEM: system,
            "telemetry.sdk.language": "python",
            "telemetry.sdk.name": "opentelemetry",
            "telemetry.sdk.version": _version("opentelemetry-sdk"),
        }
    )
    return ours.merge(OTELResourceDetector().detect())


@cache
def scope() -> InstrumentationScope:
    """Who made the records."""
    return InstrumentationScope(SERVICE, VERSION)


def _version(distribution: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


def log_records(events: Sequence[Event]) -> list[ReadableLogRecord]:
    """A log record for each event."""
    return [
        ReadableLogRecord(
            log_record=_log_record(event),
            resource=resource(event["systemId"]),
            instrumentation_scope=scope(),
        )
        for event in events
    ]


def _log_record(event: Event) -> LogRecord:
    at = event["timestamp"] * 1_000_000
    is_span = _is_span(event)
    trace = _trace_id(event) if is_span else attributes.trace_id(event)
    span = attributes.span_id(event) if is_span else 0
    flags = TraceFlags(TraceFlags.SAMPLED if trace else TraceFlags.DEFAULT)
    context = set_span_in_context(NonRecordingSpan(SpanContext(trace, span, False, flags)))
    return LogRecord(
        timestamp=at,
        observed_timestamp=at,
        context=context,
        severity_text=event["level"].upper(),
        severity_number=_SEVERITIES[event["level"]],
        body=f"{event['action']}: {event['error']}" if "error" in event else event["action"],
        attributes=attributes.of_log_record(event),
        event_name=event["action"],
    )


def _is_span(event: Event) -> bool:
    """Whether an event is of something that took time and is traced."""
    return event["action"] in HOOK_OUTCOMES or event["action"] in RECALL_OUTCOMES


def _trace_id(event: Event) -> int:
    """The trace of its session; a span without an agent session is a trace of its own."""
    return attributes.trace_id(event) or int(ids.fingerprint("trace of " + event["id"]), 16) or 1


def _span_name(event: Event) -> str:
    """One name for all runs of a kind, as traces are grouped by it: `hook PreCompact`, `recall`."""
    if event["action"] in RECALL_OUTCOMES:
        return "recall"
    of = event["metadata"].get("event")
    return f"hook {of}" if isinstance(of, str) and of else "hook"


def spans(events: Sequence[Event]) -> list[ReadableSpan]:
    """A span for each event that is one. It ends when its event was made and began its duration earlier."""
    return [_span(event) for event in events if _is_span(event)]


def _span(event: Event) -> ReadableSpan:
    end = event["timestamp"] * 1_000_000
    start = max(0, end - int(event.get("duration_ms", 0) * 1_000_000))
    status = Status(StatusCode.UNSET) if event["success"] else Status(StatusCode.ERROR, event.get("error"))
    return ReadableSpan(
        name=_span_name(event),
        context=SpanContext(_trace_id(event), attributes.span_id(event), False, TraceFlags(TraceFlags.SAMPLED)),
        resource=resource(event["systemId"]),
        attributes=attributes.of_span(event),
        kind=SpanKind.INTERNAL,
        status=status,
        start_time=start,
        end_time=end,
        instrumentation_scope=scope(),
    )
