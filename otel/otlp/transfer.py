"""Taking events to their OTLP destinations: in batches, each signal with a cursor of its own.

A cursor moves when its receiver has answered 2xx to the whole batch. A process that dies at any moment skips nothing;
what it had sent without recording it is sent again, with the same ids (`log.record.uid`, span ids).

opentelemetry-sdk's OTLP/HTTP exporters encode and send. They only say yes or no, take a redirect for a yes and do not
look at a partial success. So they are given an HTTP session that keeps the answer. It also ends the exporter's own
attempts after the first: when to try again is decided here, where the cursor is.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw
import requests
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from core import words
from core.redaction import redact
from core.store import events as stored
from core.store import export_cursor, sqlite
from otel.otlp import records
from otel.otlp.destination import Delivered, Destination

BATCH = 512
BATCH_BYTES = 1_000_000
_MOST_ALONE = 5
"""Events that a receiver refuses each alone are passed over once it takes another; more of them in a row are a fault
of the receiver, and nothing is passed over."""
_LONGEST_WAIT_S = 300.0
_SHOWN = 300
_REFUSALS = (400, 413)
_SIGNALS: dict[str, tuple[type[Any], type[Any]]] = {
    "logs": (OTLPLogExporter, ExportLogsServiceResponse),
    "traces": (OTLPSpanExporter, ExportTraceServiceResponse),
}


@dataclass(frozen=True)
class _Outcome:
    """What became of a batch."""

    taken: bool = False
    refused: bool = False  # it will never be taken as it is
    rejected: int = 0  # items that were dropped of a batch that was taken
    message: str = ""
    status: int = 0
    wait_s: float = 0.0  # what the receiver asks for


class _OneAttempt(Exception):
    """Ends the exporter's attempts; the session holds the reason."""


class _Session(requests.Session):
    """An HTTP session that keeps the last answer or fault."""

    def __init__(self) -> None:
        super().__init__()
        self.forget()

    def forget(self) -> None:
        """Nothing was sent yet."""
        self.answer: requests.Response | None = None
        self.fault: BaseException | None = None

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


def run(
    db: apsw.Connection, destinations: Sequence[Destination], *, now: Callable[[], int], due_only: bool
) -> list[Delivered]:
    """Send what waits, up to the newest event of this moment.

    Only for whoever holds the lock of the export (`otel.export`): two at once would send everything twice.
    """
    logger = logging.getLogger("opentelemetry")  # what it would print on stderr is told in our own words
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    upto = stored.last_seq(db)
    done = []
    for destination in destinations:
        transfer = _Transfer(db, destination, upto, now)
        if not due_only or transfer.cursor.next_try_at <= now():
            done.append(transfer.run())
    return done


class _Transfer:
    """One destination, from its cursor to the newest event."""

    def __init__(self, db: apsw.Connection, destination: Destination, upto: int, now: Callable[[], int]) -> None:
        self._db = db
        self._destination = destination
        fresh = export_cursor.Cursor(destination.key, destination.signal, destination.shown)
        self.cursor = self._begun = export_cursor.read(db, destination.key) or fresh
        self._upto = upto
        self._now = now
        self._session = _Session()
        self._exporter: Any = None
        self._alone = 0  # events refused since the last that was taken
        self._warning = ""

    def run(self) -> Delivered:
        failed = None
        if self.cursor.reached < self._upto:
            try:
                failed = self._batches()
            finally:
                if self._exporter is not None:
                    self._exporter.shutdown()
        if failed is not None:
            failures = self.cursor.failures + 1
            longest = min(_LONGEST_WAIT_S, 2.0 ** min(failures, 10))
            wait_s = max(failed.wait_s, longest * random.uniform(0.5, 1.0))  # noqa: S311  # no secret
            at = self._now()
            self._write(failures=failures, error=failed.message, failed_at=at, next_try_at=at + int(wait_s * 1000))
        return Delivered(
            self._destination.signal,
            self._destination.shown,
            self.cursor.exported - self._begun.exported,
            self.cursor.rejected - self._begun.rejected,
            export_cursor.waiting(self._db, self.cursor.reached),
            failed.message if failed else "",
            self._warning,
            failed.status if failed else 0,
            self.cursor.next_try_at,
        )

    def _batches(self) -> _Outcome | None:
        """Send log records or spans; the outcome that ended it early."""
        most = size = batch_size(self._destination.signal)
        at = self.cursor.reached
        refusal: _Outcome | None = None
        of = records.log_records if self._destination.signal == "logs" else records.spans
        while True:
            events, last = export_cursor.batch(self._db, at, self._upto, size, BATCH_BYTES)
            if not events:
                return refusal
            items: Sequence[Any] = of(events)
            if items:
                outcome = self._send(items)
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
                    self._taken(last, outcome, len(items) - min(len(items), outcome.rejected))
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
            exported_at=self._now(),
            failures=0,
            error=f"rejected {rejected}: {outcome.message or 'refused alone'}" if rejected else "",
            next_try_at=0,
        )
        self._alone = 0

    def _write(self, **changes: Any) -> None:
        self.cursor = replace(self.cursor, **changes)
        with sqlite.transaction(self._db):
            export_cursor.write(self._db, self.cursor)

    def _send(self, batch: Any) -> _Outcome:
        """Send one batch, once."""
        made, form = _SIGNALS[self._destination.signal]
        if self._exporter is None:  # headers, time limit, compression and certificates: it reads the variables
            self._exporter = made(endpoint=self._destination.url, session=self._session)
        self._session.forget()
        try:
            self._exporter.export(batch)
            why = "the batch could not be encoded, or is too large"
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
        reply = form()
        try:
            reply.ParseFromString(answer.content)
        except DecodeError:
            return _Outcome(taken=True, message="the receiver's answer is no OTLP, though its status is 2xx")
        partial = reply.partial_success
        rejected = partial.rejected_log_records if self._destination.signal == "logs" else partial.rejected_spans
        return _Outcome(taken=True, rejected=max(0, int(rejected)), message=_line(str(partial.error_message)))


def batch_size(signal: str) -> int:
    """Events in a batch: 512, or what the variables of the SDK's batch processors say."""
    name = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE" if signal == "traces" else "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE"
    given = os.environ.get(name, "").strip()
    return max(1, min(int(given), 10_000)) if given.isascii() and given.isdigit() else BATCH


def _refusal(answer: requests.Response) -> _Outcome:
    about = f"HTTP {answer.status_code} {answer.reason or ''}".strip()
    said = "" if "protobuf" in answer.headers.get("content-type", "") else answer.text[: _SHOWN * 4]
    asked = answer.headers.get("retry-after", "").strip()
    return _Outcome(
        refused=answer.status_code in _REFUSALS,
        message=_line(f"{about}: {said}" if said else about),
        status=answer.status_code,
        wait_s=min(float(asked), _LONGEST_WAIT_S) if asked.isascii() and asked.isdigit() else 0.0,
    )


def _line(text: str) -> str:
    """On one line, without secrets and not long: it is stored and shown."""
    plain = " ".join(redact(words.clean(text))[0].split())
    return plain if len(plain) <= _SHOWN else plain[: _SHOWN - 1] + "…"
