"""Log records in OTLP/JSON, ours or anybody's, as events.

Ours come back as they were. Of others the attributes become metadata, and the service and the scope take the places of
source and component. All of it passes through `otel.event`, so that it is redacted and no larger than it may be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from core import ids
from otel import log
from otel.event import OPENTELEMETRY_LEVELS, new_event, parse_level
from otel.otlp import records as names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import apsw

    from core.records import Event

_BATCH = 500
_DEEPEST = 40
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
    """What became of an input.

    Args:
        lines: lines with anything on them.
        records: log records found.
        added: events that were new.
        duplicates: records whose id was there already.
        others: lines that hold spans or metrics only.
        failed: lines that are no OTLP/JSON, and records without a name or text.
        errors: the first of those, `{line, reason}`.
    """

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
    """Store the log records of numbered lines; None stands for a line that is too long.

    Raises:
        Failure: the store cannot be written; batches before that stay.
    """
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
    if line is None:
        report.fail(number, "the line is too long")
        return
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        report.fail(number, f"no JSON: {error}")
        return
    if not isinstance(found, dict):
        report.fail(number, "no JSON object")
    elif "resourceLogs" in found:
        for of_resource in _objects(found["resourceLogs"]):
            resource = _table(_object(of_resource.get("resource")).get("attributes"))
            for of_scope in _objects(of_resource.get("scopeLogs")):
                scope = _text(_object(of_scope.get("scope")).get("name"))
                for item in _objects(of_scope.get("logRecords")):
                    report.records += 1
                    made = _event(item, resource, scope, now)
                    if made is None:
                        report.fail(number, "a log record with neither event name nor body")
                    else:
                        yield made
    elif "resourceSpans" in found or "resourceMetrics" in found:
        report.others += 1
    else:
        report.fail(number, "no resourceLogs")


def _event(item: dict[str, Any], resource: dict[str, Any], scope: str, now: int) -> Event | None:
    """The event that a log record stands for; None for one that says nothing.

    Args:
        resource: attributes of its resource.
        scope: name of its instrumentation scope.
        now: its time where it has none, in ms since the epoch.
    """
    attributes = _table(item.get("attributes"))
    body = _value(item.get("body"))
    action = _text(item.get("eventName")) or _text(attributes.get("event.name"))
    if not action and body in (None, ""):
        return None
    number = _number(item.get("severityNumber")) or 0
    by_name = parse_level(_text(item.get("severityText"))) or "info"
    level = OPENTELEMETRY_LEVELS[(number - 1) // 4] if 1 <= number <= 24 else by_name
    ours = isinstance(attributes.get(names.COMPONENT), str) and isinstance(attributes.get(names.SOURCE), str)
    success, duration = attributes.get(names.SUCCESS), attributes.get(names.DURATION)
    at = (_number(item.get("timeUnixNano")) or _number(item.get("observedTimeUnixNano")) or 0) // 1_000_000
    return new_event(
        action or "log",
        source=_text(attributes.get(names.SOURCE)) or _text(resource.get("service.name")) or "otlp",
        component=_text(attributes.get(names.COMPONENT)) or scope or "otlp",
        level=level,
        success=success if isinstance(success, bool) else level not in ("error", "fatal"),
        metadata=_metadata(attributes) if ours else _foreign(attributes, body, action, item),
        duration_ms=duration if isinstance(duration, (int, float)) and not isinstance(duration, bool) else None,
        error=_text(attributes.get(names.ERROR)) or None,
        # A blank one stays empty; with none given the record would take this process's own.
        session=_text(attributes.get(names.SESSION)) or _text(attributes.get(names.ROLE)) or (" " if ours else "otlp"),
        system=_text(resource.get(names.SYSTEM)) or _text(resource.get("host.name")) or "unknown",
        now=at if at > 0 else now,
        id=_text(attributes.get(names.UID)) or _made_id(item, resource, scope),
    )


def _metadata(attributes: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = dict(_object(attributes.get(names.METADATA)))
    start = names.METADATA + "."
    return found | {key[len(start) :]: value for key, value in attributes.items() if key.startswith(start)}


def _foreign(attributes: dict[str, Any], body: object, action: str, item: dict[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in attributes.items() if key not in _OURS}
    if body not in (None, "", action):
        found["body"] = body
    return found | {name: item[name] for name in ("traceId", "spanId") if _text(item.get(name)).strip("0")}


def _made_id(item: dict[str, Any], resource: dict[str, Any], scope: str) -> str:
    """The same id for the same record, so that a file taken in twice is stored once."""
    plain = orjson.dumps([resource, scope, item], option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return "otlp-" + ids.fingerprint(plain.decode())


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""


def _value(given: object, depth: int = 0) -> Any:
    """The plain value of an `AnyValue`; None for one that is empty or malformed."""
    if not isinstance(given, dict) or depth > _DEEPEST:
        return None
    for form, held in given.items():
        if form == "intValue":
            return _number(held)
        if form == "arrayValue":
            entries = _object(held).get("values")
            return [_value(entry, depth + 1) for entry in entries] if isinstance(entries, list) else []
        if form == "kvlistValue":
            return _table(_object(held).get("values"), depth + 1)
        if form in ("stringValue", "bytesValue", "boolValue", "doubleValue"):
            return held if isinstance(held, (str, bool, int, float)) else None
    return None


def _table(entries: object, depth: int = 0) -> dict[str, Any]:
    """The attributes of a list of `KeyValue`; a key that is missing is an empty one, as JSON leaves that out."""
    return {
        entry.get("key", ""): _value(entry.get("value"), depth)
        for entry in _objects(entries)
        if isinstance(entry.get("key", ""), str)
    }


def _number(held: object) -> int | None:
    """A whole number, which this form writes as text beyond 32 bits; None where it is none."""
    try:
        return (
            int(held) if isinstance(held, (int, str)) and not isinstance(held, bool) and len(str(held)) < 22 else None
        )
    except ValueError:
        return None
