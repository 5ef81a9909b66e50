"""Taking events to their OTLP destinations: in batches, each signal with a cursor of its own.

opentelemetry-sdk's exporters encode and send, and only say yes or no. So they are given an HTTP session that keeps the
answer, and ends their own attempts after the first: when to try again is decided here, where the cursor is.
"""

import logging
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw
import requests
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from core import clock, words
from core.redaction import redact
from core.store import export_cursor, sqlite
from core.store import history as stored
from otel.otlp import Delivered, Destination, records

BATCH = 512
BATCH_BYTES = 1_000_000
_MOST_ALONE = 5
"""Events that a receiver refuses each alone are passed over once it takes another; more of them in a row are a fault
of the receiver, and nothing is passed over."""
_LONGEST_WAIT_S = 300.0
_SHOWN = 300
_SIGNALS: dict[str, tuple[type[Any], type[Any], Any, str]] = {
    "logs": (OTLPLogExporter, ExportLogsServiceResponse, records.log_records, "BLRP"),
    "traces": (OTLPSpanExporter, ExportTraceServiceResponse, records.spans, "BSP"),
}


@dataclass(frozen=True)
class _Outcome:
    taken: bool = False
    refused: bool = False  # it will never be taken as it is
    rejected: int = 0  # items that were dropped of a batch that was taken
    message: str = ""
    wait_s: float = 0.0  # what the receiver asks for


class _OneAttempt(Exception):
    """Ends the exporter's attempts; the session holds the reason."""


class _Session(requests.Session):
    """An HTTP session that keeps the last answer or fault."""

    answer: requests.Response | None = None
    fault: BaseException | None = None

    def forget(self) -> None:
        """Nothing was sent yet."""
        self.answer = self.fault = None

    def request(self, *args: Any, **options: Any) -> requests.Response:
        """Send, and keep what came of it."""
        try:
            self.answer = super().request(*args, **options)
        except Exception as error:
            self.fault = error
            raise _OneAttempt from None
        if not 200 <= self.answer.status_code < 300:
            raise _OneAttempt
        return self.answer


def run(db: apsw.Connection, destinations: Sequence[Destination], *, due_only: bool) -> list[Delivered]:
    """Send what waits, up to the newest event of this moment."""
    logger = logging.getLogger("opentelemetry")  # what it would print on stderr is told in our own words
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    upto = stored.last_seq(db)
    transfers = [_Transfer(db, destination, upto) for destination in destinations]
    return [one.run() for one in transfers if not due_only or one.cursor.next_try_at <= clock.now_ms()]


class _Transfer:
    def __init__(self, db: apsw.Connection, destination: Destination, upto: int) -> None:
        self._db = db
        self._destination = destination
        fresh = export_cursor.Cursor(destination.key, destination.signal, destination.shown)
        self.cursor = self._begun = export_cursor.read(db, destination.key) or fresh
        self._upto = upto
        self._exporter_of, self._reply, self._items_of, self._processor = _SIGNALS[destination.signal]
        self._session = _Session()
        self._alone = 0  # events refused since the last that was taken
        self._warning = ""

    def run(self) -> Delivered:
        """Send what waits, and note in the cursor how it went."""
        failed = None
        if self.cursor.reached < self._upto:
            # headers, time limit, compression and certificates: the exporter reads the variables
            exporter = self._exporter_of(endpoint=self._destination.url, session=self._session)
            try:
                failed = self._batches(exporter)
            finally:
                exporter.shutdown()
        if failed is not None:
            failures = self.cursor.failures + 1
            longest = min(_LONGEST_WAIT_S, 2.0 ** min(failures, 10))
            wait_s = max(failed.wait_s, longest * random.uniform(0.5, 1.0))  # noqa: S311  # no secret
            at = clock.now_ms()
            self._write(failures=failures, error=failed.message, failed_at=at, next_try_at=at + int(wait_s * 1000))
        return {
            "signal": self._destination.signal,
            "endpoint": self._destination.shown,
            "sent": self.cursor.exported - self._begun.exported,
            "rejected": self.cursor.rejected - self._begun.rejected,
            "waiting": export_cursor.waiting(self._db, self.cursor.reached),
            **({"error": failed.message} if failed else {}),
            **({"warning": self._warning} if self._warning else {}),
        }

    def _batches(self, exporter: Any) -> _Outcome | None:
        given = os.environ.get(f"OTEL_{self._processor}_MAX_EXPORT_BATCH_SIZE", "").strip()
        most = size = max(1, min(int(given), 10_000)) if given.isascii() and given.isdigit() else BATCH
        at = self.cursor.reached
        refusal: _Outcome | None = None
        while True:
            events, last = export_cursor.batch(self._db, at, self._upto, size, BATCH_BYTES)
            if not events:
                return refusal
            items: Sequence[Any] = self._items_of(events)
            if items:
                outcome = self._send(exporter, items)
                if outcome.refused and len(events) > 1:
                    size = len(events) // 2
                    continue
                if outcome.refused:
                    self._alone += 1
                    refusal = outcome
                    if self._alone > _MOST_ALONE:
                        return refusal
                elif not outcome.taken:
                    return outcome
                else:
                    self._taken(last, outcome, max(0, len(items) - outcome.rejected))
                    refusal = None
                    size = min(size * 2, most)
            elif not self._alone:
                self._write(reached=last)  # events of which this signal tells nothing
            at = last

    def _taken(self, reached: int, outcome: _Outcome, count: int) -> None:
        """Move the cursor: the one moment at which events count as exported."""
        rejected = outcome.rejected + self._alone
        self._warning = outcome.message or self._warning
        self._write(
            reached=reached,
            exported=self.cursor.exported + count,
            rejected=self.cursor.rejected + rejected,
            exported_at=clock.now_ms(),
            failures=0,
            error=f"rejected {rejected}: {outcome.message or 'refused alone'}" if rejected else "",
            next_try_at=0,
        )
        self._alone = 0

    def _write(self, **changes: Any) -> None:
        self.cursor = replace(self.cursor, **changes)
        with sqlite.transaction(self._db):
            export_cursor.write(self._db, self.cursor)

    def _send(self, exporter: Any, batch: Sequence[Any]) -> _Outcome:
        self._session.forget()
        why = "the batch could not be encoded, or is too large"
        try:
            exporter.export(batch)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
        answer, fault = self._session.answer, self._session.fault
        if isinstance(fault, requests.exceptions.Timeout):
            return _Outcome(message="no answer in time")
        if fault is not None:
            refused = "Connection refused" in str(fault)
            return _Outcome(message="connection refused" if refused else _line(f"no connection: {fault}"))
        if answer is None:
            return _Outcome(refused=True, message=_line(why))
        if not 200 <= answer.status_code < 300:
            return _refusal(answer)
        reply = self._reply()
        try:
            reply.ParseFromString(answer.content)
        except DecodeError:
            return _Outcome(taken=True, message="the receiver's answer is not OTLP, though its status is 2xx")
        partial = reply.partial_success
        rejected = partial.rejected_log_records if self._destination.signal == "logs" else partial.rejected_spans
        return _Outcome(taken=True, rejected=max(0, int(rejected)), message=_line(str(partial.error_message)))


def _refusal(answer: requests.Response) -> _Outcome:
    about = f"HTTP {answer.status_code} {answer.reason or ''}".strip()
    said = "" if "protobuf" in answer.headers.get("content-type", "") else answer.text[: _SHOWN * 4]
    asked = answer.headers.get("retry-after", "").strip()
    return _Outcome(
        refused=answer.status_code in (400, 413),
        message=_line(f"{about}: {said}" if said else about),
        wait_s=min(float(asked), _LONGEST_WAIT_S) if asked.isascii() and asked.isdigit() else 0.0,
    )


def _line(text: str) -> str:
    plain = " ".join(redact(words.clean(text))[0].split())
    return plain if len(plain) <= _SHOWN else plain[: _SHOWN - 1] + "…"
