"""OTLP in its JSON form, as a collector's file exporter writes it: one request a line.

It differs from protobuf's own JSON form in that trace and span ids are hexadecimal and enumerations are numbers
(https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.store.interface import Event

_DEEPEST = 40
_IDS = ("traceId", "spanId", "parentSpanId")


def lines(events: Sequence[Event]) -> Iterator[bytes]:
    """A line of log records for these events, and one of spans where there are any."""
    from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    from otel import log_records, spans

    yield _line(encode_logs(log_records.of(events)))
    found = spans.of(events)
    if found:
        yield _line(encode_spans(found))


def metrics_line(totals: Any, now: int) -> bytes:
    """A line of metrics, from `otel.metrics.Totals`."""
    from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics

    return _line(encode_metrics(totals.data(now)))


def value(given: object, depth: int = 0) -> Any:
    """The plain value of an `AnyValue`; None for one that is empty or malformed."""
    if not isinstance(given, dict) or depth > _DEEPEST:
        return None
    for form, held in given.items():
        if form == "stringValue":
            return held if isinstance(held, str) else str(held)
        if form == "boolValue":
            return held if isinstance(held, bool) else None
        if form == "intValue":
            return number(held)
        if form == "doubleValue":
            return _double(held)
        if form == "bytesValue":
            return held if isinstance(held, str) else None
        if form == "arrayValue":
            entries = held.get("values") if isinstance(held, dict) else None
            return [value(entry, depth + 1) for entry in entries] if isinstance(entries, list) else []
        if form == "kvlistValue":
            return table(held.get("values") if isinstance(held, dict) else None, depth + 1)
    return None


def table(entries: object, depth: int = 0) -> dict[str, Any]:
    """The attributes of a list of `KeyValue`; a key that is missing is an empty one, as JSON leaves that out."""
    found: dict[str, Any] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("key", ""), str):
            found[entry.get("key", "")] = value(entry.get("value"), depth)
    return found


def number(held: object) -> int | None:
    """A whole number, which this form writes as text beyond 32 bits; None where it is none."""
    if isinstance(held, bool):
        return None
    if isinstance(held, int):
        return held
    text = held.strip() if isinstance(held, str) else ""
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 20 else None


def _double(held: object) -> float | None:
    if isinstance(held, bool):
        return None
    if isinstance(held, (int, float)):
        return float(held)
    try:
        return float(held) if isinstance(held, str) else None
    except ValueError:
        return None


def _line(request: Any) -> bytes:
    import orjson
    from google.protobuf import json_format  # type: ignore[import-untyped]

    found = json_format.MessageToDict(request, use_integers_for_enums=True)
    _hexadecimal(found)
    return orjson.dumps(found) + b"\n"


def _hexadecimal(found: dict[str, Any]) -> None:
    """Turn the ids, which lie in fixed places, from base64 to hexadecimal."""
    for group, scopes, items in (("resourceLogs", "scopeLogs", "logRecords"), ("resourceSpans", "scopeSpans", "spans")):
        for of_resource in found.get(group, ()):
            for of_scope in of_resource.get(scopes, ()):
                for item in of_scope.get(items, ()):
                    for name in _IDS:
                        if name in item:
                            item[name] = base64.b64decode(item[name]).hex()
