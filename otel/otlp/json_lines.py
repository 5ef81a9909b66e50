"""Writing all events as OTLP/JSON lines, as a collector's file exporter does: one request a line.

It differs from protobuf's own JSON form in that trace and span ids are hexadecimal and enumerations are numbers
(https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core import files
from core.store import events as stored
from core.store import export_cursor, sqlite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from core.records import Event

_BUFFER_BYTES = 4 * 1024 * 1024
_IDS = ("traceId", "spanId", "parentSpanId")


@dataclass
class Written:
    """How many events went out, in how many lines."""

    events: int = 0
    lines: int = 0


def write_file(db: apsw.Connection | None, path: str) -> Written:
    """Write all events into a new file that takes the place of an older one once it is whole.

    Raises:
        OSError: it cannot be written.
        Failure: the store cannot be read.
    """
    written = Written()
    files.sweep_beside(path)
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb", buffering=_BUFFER_BYTES) as handle:
            handle.writelines(every_line(db, written))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return written


def every_line(db: apsw.Connection | None, written: Written) -> Iterator[bytes]:
    """The lines of all events, counted in `written`. The export's cursors do not move.

    Raises:
        Failure: the store cannot be read.
    """
    if db is None:
        return
    from otel.otlp.transfer import BATCH, BATCH_BYTES

    try:
        upto = stored.last_seq(db)
        at = 0
        while True:
            events, at = export_cursor.batch(db, at, upto, BATCH, BATCH_BYTES)
            if not events:
                break
            written.events += len(events)
            for line in lines(events):
                written.lines += 1
                yield line
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None


def lines(events: Sequence[Event]) -> Iterator[bytes]:
    """A line of log records for these events, and one of spans where there are any."""
    from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    from otel.otlp import records

    yield _line(encode_logs(records.log_records(events)))
    found = records.spans(events)
    if found:
        yield _line(encode_spans(found))


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
