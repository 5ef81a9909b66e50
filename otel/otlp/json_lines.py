"""Writing all events as OTLP/JSON lines, as a collector's file exporter does: one request a line.

It differs from protobuf's own JSON form in that trace and span ids are hexadecimal and enumerations are numbers
(https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from typing import Any

import apsw
import orjson
from google.protobuf import json_format  # type: ignore[import-untyped]
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from core import home_files
from core.store import events as stored
from core.store import export_cursor, sqlite
from otel.otlp import records
from otel.otlp.transfer import BATCH, BATCH_BYTES

_IDS = ("traceId", "spanId", "parentSpanId")


def write_file(db: apsw.Connection | None, path: str) -> dict[str, int]:
    """Write all events into a new file that takes the place of an older one once it is whole; how much that is."""
    written = {"events": 0, "lines": 0, "bytes": 0}
    home_files.sweep_beside(path)
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as handle:
            for events, line in every_line(db):
                handle.write(line)
                written["events"] += events
                written["lines"] += 1
                written["bytes"] += len(line)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return written


def every_line(db: apsw.Connection | None) -> Iterator[tuple[int, bytes]]:
    """The lines of all events, each with how many it is the first to hold.

    The export's cursors do not move.
    """
    if db is None:
        return
    try:
        upto = stored.last_seq(db)
        at = 0
        while True:
            events, at = export_cursor.batch(db, at, upto, BATCH, BATCH_BYTES)
            if not events:
                break
            yield len(events), _line(encode_logs(records.log_records(events)))
            spans = records.spans(events)
            if spans:
                yield 0, _line(encode_spans(spans))
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None


def _line(request: Any) -> bytes:
    found = json_format.MessageToDict(request, use_integers_for_enums=True)
    for group, scopes, items in (("resourceLogs", "scopeLogs", "logRecords"), ("resourceSpans", "scopeSpans", "spans")):
        for of_resource in found.get(group, ()):
            for of_scope in of_resource.get(scopes, ()):
                for item in of_scope.get(items, ()):
                    item |= {name: base64.b64decode(item[name]).hex() for name in _IDS if name in item}
    return bytes(orjson.dumps(found)) + b"\n"
