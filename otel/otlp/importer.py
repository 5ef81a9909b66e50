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
from otel.otlp import attributes as names

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
        names.COMPONENT, names.SUCCESS, names.DURATION,
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


def import_lines(
    db: apsw.Connection,
    lines: Iterable[tuple[int, bytes | None]],
    *,
    now: int,
    progress: Callable[[int], None] = lambda _: None,
) -> Report:
    """Store the log records of numbered lines; None stands for a line that is too long.

    Raises:
        Failure: the store cannot be written; batches before that stay.
    """
    report = Report()
    batch: list[Event] = []
    for number, line in lines:
        progress(len(line or b""))
        if line is not None and not line.strip():
            continue
        report.lines += 1
        batch.extend(_events(number, line, report, now))
        while len(batch) >= _BATCH:
            _store(db, batch[:_BATCH], report)
            del batch[:_BATCH]
    _store(db, batch, report)
    return report


def _store(db: apsw.Connection, events: list[Event], report: Report) -> None:
    if events:
        added = log.append(db, events, debug_limit=_NO_LIMIT)
        report.added += added
        report.duplicates += len(events) - added


def _events(number: int, line: bytes | None, report: Report, now: int) -> Iterator[Event]:
    try:
        found = orjson.loads(line) if line is not None else None
    except orjson.JSONDecodeError as error:
        _fail(report, number, f"no JSON: {error}")
        return
    if line is None:
        _fail(report, number, "the line is too long")
    elif not isinstance(found, dict):
        _fail(report, number, "no JSON object")
    elif "resourceLogs" not in found:
        if "resourceSpans" in found or "resourceMetrics" in found:
            report.others += 1
        else:
            _fail(report, number, "no resourceLogs")
    else:
        for resource, scope, item in _records(found):
            report.records += 1
            made = event(item, resource, scope, now)
            if made is None:
                _fail(report, number, "a log record with neither event name nor body")
            else:
                yield made


def _fail(report: Report, number: int, reason: str) -> None:
    report.failed += 1
    if len(report.errors) < _MOST_ERRORS:
        report.errors.append({"line": number, "reason": reason})


def _records(found: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    for of_resource in _objects(found.get("resourceLogs")):
        about = of_resource.get("resource")
        resource = _table(about.get("attributes")) if isinstance(about, dict) else {}
        for of_scope in _objects(of_resource.get("scopeLogs")):
            about = of_scope.get("scope")
            scope = about.get("name") if isinstance(about, dict) else ""
            for item in _objects(of_scope.get("logRecords")):
                yield resource, scope if isinstance(scope, str) else "", item


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def event(item: dict[str, Any], resource: dict[str, Any], scope: str, now: int) -> Event | None:
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
    level = _level(item)
    ours = isinstance(attributes.get(names.COMPONENT), str) and isinstance(attributes.get(names.SOURCE), str)
    success = attributes.get(names.SUCCESS)
    duration = attributes.get(names.DURATION)
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
        now=_moment(item, now),
        id=_text(attributes.get(names.UID)) or _made_id(item, resource, scope),
    )


def _metadata(attributes: dict[str, Any]) -> dict[str, Any]:
    whole = attributes.get(names.METADATA)
    found: dict[str, Any] = dict(whole) if isinstance(whole, dict) else {}
    start = names.METADATA + "."
    found.update((key[len(start) :], value) for key, value in attributes.items() if key.startswith(start))
    return found


def _foreign(attributes: dict[str, Any], body: object, action: str, item: dict[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in attributes.items() if key not in _OURS and key != "event.name"}
    if body not in (None, "", action):
        found["body"] = body
    for name in ("traceId", "spanId"):
        if isinstance(item.get(name), str) and item[name].strip("0"):
            found[name] = item[name]
    return found


def _level(item: dict[str, Any]) -> str:
    number = _number(item.get("severityNumber")) or 0
    if 1 <= number <= 24:
        return OPENTELEMETRY_LEVELS[(number - 1) // 4]
    return parse_level(_text(item.get("severityText"))) or "info"


def _moment(item: dict[str, Any], now: int) -> int:
    for name in ("timeUnixNano", "observedTimeUnixNano"):
        moment = (_number(item.get(name)) or 0) // 1_000_000
        if moment > 0:
            return moment
    return now


def _made_id(item: dict[str, Any], resource: dict[str, Any], scope: str) -> str:
    """The same id for the same record, so that a file taken in twice is stored once."""
    plain = orjson.dumps([resource, scope, item], option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return "otlp-" + ids.fingerprint(plain.decode())


def _text(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""


def _value(given: object, depth: int = 0) -> Any:
    """The plain value of an `AnyValue`; None for one that is empty or malformed."""
    if not isinstance(given, dict) or depth > _DEEPEST:
        return None
    for form, held in given.items():
        if form == "stringValue":
            return held if isinstance(held, str) else str(held)
        if form == "boolValue":
            return held if isinstance(held, bool) else None
        if form == "intValue":
            return _number(held)
        if form == "doubleValue":
            return _double(held)
        if form == "bytesValue":
            return held if isinstance(held, str) else None
        if form == "arrayValue":
            entries = held.get("values") if isinstance(held, dict) else None
            return [_value(entry, depth + 1) for entry in entries] if isinstance(entries, list) else []
        if form == "kvlistValue":
            return _table(held.get("values") if isinstance(held, dict) else None, depth + 1)
    return None


def _table(entries: object, depth: int = 0) -> dict[str, Any]:
    """The attributes of a list of `KeyValue`; a key that is missing is an empty one, as JSON leaves that out."""
    found: dict[str, Any] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("key", ""), str):
            found[entry.get("key", "")] = _value(entry.get("value"), depth)
    return found


def _number(held: object) -> int | None:
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
