"""Hook runs and recalls as spans, one trace per agent session.

Ids are made from the session and the event, so an export done twice is the same data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from core import ids
from otel import attributes, resource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.store.interface import Event

HOOK_OUTCOMES = {
    "hook.completed": "completed",
    "hook.degraded": "degraded",
    "hook.failed": "failed",
    "hook.timeout": "timeout",
}
RECALL_OUTCOMES = {"memory.recall.completed": "completed", "memory.recall.failed": "failed"}


def is_span(event: Event) -> bool:
    """Whether an event tells of something that took time and is traced."""
    return event["action"] in HOOK_OUTCOMES or event["action"] in RECALL_OUTCOMES


def trace_id(event: Event) -> int:
    """The trace of its session; a span without an agent session is a trace of its own."""
    return attributes.trace_id(event) or int(ids.fingerprint("trace of " + event["id"]), 16) or 1


def name(event: Event) -> str:
    """One name for all runs of a kind, as traces are grouped by it: `hook PreCompact`, `recall`."""
    if event["action"] in RECALL_OUTCOMES:
        return "recall"
    of = event["metadata"].get("event")
    return f"hook {of}" if isinstance(of, str) and of else "hook"


def of(events: Sequence[Event]) -> list[ReadableSpan]:
    """A span for each event that is one. It ends when its event was made and began its duration earlier."""
    return [_span(event) for event in events if is_span(event)]


def _span(event: Event) -> ReadableSpan:
    end = event["timestamp"] * 1_000_000
    start = max(0, end - int(event.get("duration_ms", 0) * 1_000_000))
    status = Status(StatusCode.UNSET) if event["success"] else Status(StatusCode.ERROR, event.get("error"))
    return ReadableSpan(
        name=name(event),
        context=SpanContext(trace_id(event), attributes.span_id(event), False, TraceFlags(TraceFlags.SAMPLED)),
        resource=resource.of(event["systemId"]),
        attributes=attributes.of_span(event),
        kind=SpanKind.INTERNAL,
        status=status,
        start_time=start,
        end_time=end,
        instrumentation_scope=resource.scope(),
    )
