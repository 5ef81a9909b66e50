"""Events as OpenTelemetry log records: event name, severity, body, attributes, and the trace they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from otel import attributes, resource, spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.store.interface import Event

_SEVERITIES = {
    "debug": SeverityNumber.DEBUG,
    "info": SeverityNumber.INFO,
    "warn": SeverityNumber.WARN,
    "error": SeverityNumber.ERROR,
    "fatal": SeverityNumber.FATAL,
}


def of(events: Sequence[Event]) -> list[ReadableLogRecord]:
    """A log record for each event."""
    return [
        ReadableLogRecord(
            log_record=_record(event),
            resource=resource.of(event["systemId"]),
            instrumentation_scope=resource.scope(),
        )
        for event in events
    ]


def _record(event: Event) -> LogRecord:
    at = event["timestamp"] * 1_000_000
    is_span = spans.is_span(event)
    trace = spans.trace_id(event) if is_span else attributes.trace_id(event)
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
