"""Events as OpenTelemetry log records and spans, and the resource and scope that both name."""

import re
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from typing import Any
from uuid import UUID

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk._logs import LogRecordLimits, ReadableLogRecord
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context
from opentelemetry.trace.status import Status, StatusCode

from core import VERSION, files, ids, json_text
from core.records import Event

# The names under which a log record holds what an event has.
UID = "log.record.uid"
SESSION = "session.id"
ROLE = "joelclaw.session"
SYSTEM = "joelclaw.system.id"
ERROR = "exception.message"
ERROR_TYPE = "error.type"
AGENT = "gen_ai.agent.name"
SOURCE = "joelclaw.source"
COMPONENT = "joelclaw.component"
SUCCESS = "joelclaw.success"
DURATION = "joelclaw.duration_ms"
METADATA = "joelclaw.metadata"

_RECALLS = ("memory.recall.completed", "memory.recall.failed")
_SPANS = ("hook.completed", "hook.degraded", "hook.failed", "hook.timeout", *_RECALLS)
"""Actions of events that took time and are traced."""
_MOST_KEYS = 64
"""Metadata with more keys goes out as one attribute that is a map: receivers keep 128 attributes a record."""
_LARGEST = 1 << 63
_ERROR_CLASS = re.compile(
    r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Za-z_][\w.]{0,80}(?:Error|Exception|Failure|Timeout|Exit|Interrupt))(?::|$)"
)
_SCOPE = InstrumentationScope("joelclaw", VERSION)


@cache
def resource(system: str) -> Resource:
    """That of one machine's events; the instance is this memory on it. The `OTEL_*` variables beat what is here."""
    digits = ids.fingerprint(f"{files.home()}\n{system}")
    ours = Resource(
        {
            "service.name": "joelclaw",
            "service.version": VERSION,
            "service.instance.id": str(UUID(hex=f"{digits[:12]}8{digits[13:16]}8{digits[17:]}")),
            "host.name": system,
            SYSTEM: system,
            "telemetry.sdk.language": "python",
            "telemetry.sdk.name": "opentelemetry",
            "telemetry.sdk.version": metadata.version("opentelemetry-sdk"),
        }
    )
    return ours.merge(OTELResourceDetector().detect())


def log_records(events: Sequence[Event]) -> list[ReadableLogRecord]:
    """A log record for each event."""
    limits = LogRecordLimits()
    return [ReadableLogRecord(_log_record(event, limits), resource(event["systemId"]), _SCOPE) for event in events]


def _log_record(event: Event, limits: LogRecordLimits) -> LogRecord:
    at = event["timestamp"] * 1_000_000
    trace, span = _trace_id(event), _span_id(event) if event["action"] in _SPANS else 0
    found = _about(event)
    if "duration_ms" in event:
        found[DURATION] = event["duration_ms"]
    if len(event["metadata"]) > _MOST_KEYS:
        found[METADATA] = event["metadata"]
    else:
        found |= {f"{METADATA}.{key}": value for key, value in event["metadata"].items()}
    # Not `BoundedAttributes`: it leaves out nulls, and what comes back is to be what went.
    kept = list(found.items())[: limits.max_log_record_attributes]
    bounded = {key: _value(value, limits.max_log_record_attribute_length) for key, value in kept}
    flags = TraceFlags(TraceFlags.SAMPLED if trace else TraceFlags.DEFAULT)
    return LogRecord(
        timestamp=at,
        observed_timestamp=at,
        context=set_span_in_context(NonRecordingSpan(SpanContext(trace, span, False, flags))),
        severity_text=event["level"].upper(),
        severity_number=SeverityNumber[event["level"].upper()],
        body=f"{event['action']}: {event['error']}" if "error" in event else event["action"],
        attributes={**bounded, UID: event["id"]},
        event_name=event["action"],
    )


def spans(events: Sequence[Event]) -> list[ReadableSpan]:
    """A span for each event of what took time and is traced; it ends when its event was made."""
    limits = SpanLimits()
    return [_span(event, limits) for event in events if event["action"] in _SPANS]


def _span(event: Event, limits: SpanLimits) -> ReadableSpan:
    end = event["timestamp"] * 1_000_000
    status = Status(StatusCode.UNSET) if event["success"] else Status(StatusCode.ERROR, event.get("error"))
    found = _about(event)
    about = event["metadata"]
    if isinstance(about.get("agent"), str) and about["agent"]:
        found[AGENT] = about["agent"]
    for key, value in list(about.items())[:_MOST_KEYS]:
        value = _value(value)
        # A value may not be a map here, nor a list of more than texts.
        if isinstance(value, dict) or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
            value = json_text.dumps(value)
        if value is not None:
            found[f"{METADATA}.{key}"] = value
    kind = about.get("event")
    hook = f"hook {kind}" if isinstance(kind, str) and kind else "hook"
    bounded = BoundedAttributes(limits.max_span_attributes, found, max_value_len=limits.max_span_attribute_length)
    return ReadableSpan(
        name="recall" if event["action"] in _RECALLS else hook,
        context=SpanContext(_trace_id(event), _span_id(event), False, TraceFlags(TraceFlags.SAMPLED)),
        resource=resource(event["systemId"]),
        attributes={**bounded, UID: event["id"]},
        status=status,
        start_time=max(0, end - int(event.get("duration_ms", 0) * 1_000_000)),
        end_time=end,
        instrumentation_scope=_SCOPE,
    )


def _about(event: Event) -> dict[str, Any]:
    session = _session(event)
    found: dict[str, Any] = {
        SESSION if session else ROLE: session or event["sessionId"],
        SOURCE: event["source"],
        COMPONENT: event["component"],
        SUCCESS: event["success"],
    }
    if "error" in event:
        found[ERROR] = event["error"]
        found[ERROR_TYPE] = _error_type(event)
    return found


def _error_type(event: Event) -> str:
    """A class of errors, few in number: a code, the name of an exception, else `_OTHER` (semantic conventions)."""
    code = event["metadata"].get("code")
    if isinstance(code, str) and 0 < len(code) <= 80:
        return code
    found = _ERROR_CLASS.match(event.get("error", ""))
    return found[1] if found else "_OTHER"


def _value(value: Any, length: int | None = None) -> Any:
    """The value with what OTLP has a form for, texts cut: whole numbers beyond 64 bits become text."""
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return str(value)
    if isinstance(value, dict):
        return {key: _value(item, length) for key, item in value.items()}
    if isinstance(value, list):
        return [_value(item, length) for item in value]
    return value[:length] if isinstance(value, str) else value


def _session(event: Event) -> str:
    """Empty where an event's session is only a role's name."""
    name = event["sessionId"]
    return "" if name in ("interactive", "gateway", event["source"]) else name


def _trace_id(event: Event) -> int:
    """The trace of an event's session: its id where that is a UUID, the fingerprint of any other."""
    name = _session(event)
    if not name:
        return int(ids.fingerprint("trace of " + event["id"]), 16) or 1 if event["action"] in _SPANS else 0
    try:
        number = UUID(name).int if len(name) == 36 else 0
    except ValueError:
        number = 0
    return number or int(ids.fingerprint(name), 16) or 1


def _span_id(event: Event) -> int:
    return int(ids.fingerprint(event["id"])[:16], 16) or 1
