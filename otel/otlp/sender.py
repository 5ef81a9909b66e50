"""One batch on its way to one destination, through opentelemetry-sdk's OTLP/HTTP exporters, and what came of it.

The exporters only say yes or no, take a redirect for a yes and do not look at a partial success. So they are given an
HTTP session that keeps the answer. It also ends the exporter's own attempts after the first: when to try again is
decided outside, where the cursor is.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import requests

from core import words
from core.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel.otlp.destination import Destination

TAKEN, REFUSED, FAILED = "taken", "refused", "failed"
_REFUSALS = (400, 413)
_LONGEST_WAIT_S = 300.0
_SHOWN = 300


@dataclass(frozen=True)
class Outcome:
    """What became of a batch.

    Args:
        kind: TAKEN, REFUSED (this batch will never be taken as it is) or FAILED (perhaps later).
        rejected: items that the receiver dropped of a batch that it took.
        message: the reason, or the receiver's warning.
        status: of HTTP; 0 where there was no answer.
        wait_s: what the receiver asks to wait, 0 where it does not say.
    """

    kind: str
    rejected: int = 0
    message: str = ""
    status: int = 0
    wait_s: float = 0.0


class _OneAttempt(Exception):
    """Ends the exporter's attempts; the session holds the reason."""


class _Session(requests.Session):
    """An HTTP session that keeps the last answer or fault."""

    def __init__(self) -> None:
        super().__init__()
        self._answer: requests.Response | None = None
        self._fault: BaseException | None = None

    def forget(self) -> None:
        """Before an attempt."""
        self._answer = self._fault = None

    def seen(self) -> tuple[requests.Response | None, BaseException | None]:
        """The answer, or why there was none; neither where nothing was sent."""
        return self._answer, self._fault

    def request(self, *args: Any, **options: Any) -> requests.Response:
        """Send, and keep what came of it."""
        self.forget()
        try:
            answer = super().request(*args, **options)
        except Exception as error:
            self._fault = error
            raise _OneAttempt from None
        self._answer = answer
        if not 200 <= answer.status_code < 300:
            raise _OneAttempt
        return answer


class Sender:
    """Sends batches of one signal to one destination; `close` it in the end."""

    def __init__(self, destination: Destination) -> None:
        logger = logging.getLogger("opentelemetry")  # what it would print on stderr is in our own words elsewhere
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        self._signal = destination.signal
        self._session = _Session()
        self._exporter = _exporter(destination, self._session)

    def send(self, batch: Sequence[Any] | Any) -> Outcome:
        """Send one batch, once."""
        self._session.forget()
        message = ""
        try:
            self._exporter.export(batch)
        except Exception as error:  # an exporter that does not catch what its session raises, or cannot encode
            message = "" if isinstance(error, _OneAttempt) else f"{type(error).__name__}: {error}"
        answer, fault = self._session.seen()
        if fault is not None:
            return Outcome(FAILED, message=_line(_reason(fault)))
        if answer is None:
            return Outcome(REFUSED, message=_line(message or "the batch could not be encoded, or is too large"))
        return self._outcome(answer)

    def close(self) -> None:
        """Close the connection."""
        self._exporter.shutdown()

    def _outcome(self, answer: requests.Response) -> Outcome:
        status = answer.status_code
        if 200 <= status < 300:
            rejected, message = _partial(self._signal, answer)
            return Outcome(TAKEN, rejected, _line(message), status)
        text = _refusal_text(answer)
        message = _line(f"HTTP {status} {answer.reason or ''}".strip() + (f": {text}" if text else ""))
        kind = REFUSED if status in _REFUSALS else FAILED
        return Outcome(kind, message=message, status=status, wait_s=_retry_after(answer))


def _exporter(destination: Destination, session: requests.Session) -> Any:
    """The SDK's exporter: headers, time limit, compression and certificates are its own reading of the variables."""
    made: type[Any]
    if destination.signal == "logs":
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as made  # noqa: N813
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as made  # noqa: N813
    return made(endpoint=destination.url, session=session)


def _partial(signal: str, answer: requests.Response) -> tuple[int, str]:
    """How much a receiver dropped of a batch that it took, and what it says of it."""
    from google.protobuf import json_format  # type: ignore[import-untyped]
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    reply: Any = ExportLogsServiceResponse() if signal == "logs" else ExportTraceServiceResponse()
    try:
        if "json" in str(answer.headers.get("content-type", "")).lower():
            json_format.Parse(answer.content, reply, ignore_unknown_fields=True)
        else:
            reply.ParseFromString(answer.content)
    except Exception:
        return 0, "the receiver's answer is no OTLP, though its status is 2xx"
    partial = reply.partial_success
    rejected = partial.rejected_log_records if signal == "logs" else partial.rejected_spans
    return max(0, int(rejected)), str(partial.error_message)


def _refusal_text(answer: requests.Response) -> str:
    """What a refusal says: a Status in protobuf, or text."""
    if "protobuf" in answer.headers.get("content-type", ""):
        from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

        status = Status()
        try:
            status.ParseFromString(answer.content)
        except Exception:
            return ""
        return str(status.message)
    return answer.content[: _SHOWN * 4].decode("utf-8", "replace")


def _retry_after(answer: requests.Response) -> float:
    text = str(answer.headers.get("retry-after", "")).strip()
    return min(float(text), _LONGEST_WAIT_S) if text.isascii() and text.isdigit() else 0.0


def _reason(fault: BaseException) -> str:
    if isinstance(fault, requests.exceptions.Timeout):
        return "no answer in time"
    if isinstance(fault, requests.exceptions.SSLError):
        return f"TLS: {fault}"
    if isinstance(fault, requests.exceptions.ConnectionError):
        text = str(fault)
        for sign, plain in (
            ("Connection refused", "connection refused"),
            ("Name or service not known", "host not known"),
            ("nodename nor servname", "host not known"),
            ("Temporary failure in name resolution", "host not known"),
            ("No route to host", "no route to host"),
            ("Remote end closed", "the connection was closed before an answer came"),
            ("Connection reset", "the connection was reset"),
        ):
            if sign in text:
                return plain
        return f"no connection: {text}"
    return f"{type(fault).__name__}: {fault}"


def _line(text: str) -> str:
    """On one line, without secrets and not long: it is stored and shown."""
    plain = " ".join(redact(words.clean(text))[0].split())
    return plain if len(plain) <= _SHOWN else plain[: _SHOWN - 1] + "…"
