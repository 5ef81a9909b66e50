"""What an answer of a collector means: taken, refused or failed, how long to wait, and in which words it is told."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel import export
from otel.otlp import sender
from otel.otlp.destination import Delivered
from otel.otlp.sender import FAILED, REFUSED, TAKEN, Outcome


def answer(status: int = 200, content: bytes = b"", reason: str = "", **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return SimpleNamespace(status_code=status, content=content, reason=reason, headers=named)


def outcome(given: Any, signal: str = "logs") -> Outcome:
    made = sender.Sender.__new__(sender.Sender)
    made._signal = signal
    return made._outcome(given)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(200, TAKEN), (299, TAKEN), (199, FAILED), (300, FAILED), (400, REFUSED), (401, FAILED), (413, REFUSED),
     (412, FAILED), (414, FAILED), (429, FAILED), (503, FAILED)],
)  # fmt: skip
def test_a_status_of_http(status: int, kind: str) -> None:
    found = outcome(answer(status, b"sorry" if kind != TAKEN else b""))
    assert (found.kind, found.status) == (kind, status)
    assert found.message == ("" if kind == TAKEN else f"HTTP {status}: sorry")


def test_a_refusal_in_the_words_of_the_receiver() -> None:
    assert outcome(answer(503, b"", "Busy", retry_after="7")) == Outcome(FAILED, 0, "HTTP 503 Busy", 503, 7.0)
    assert outcome(answer(400)) == Outcome(REFUSED, 0, "HTTP 400", 400)
    said = Status(message="no\nroom").SerializeToString()
    assert outcome(answer(503, said, content_type="application/x-protobuf")).message == "HTTP 503: no room"
    assert outcome(answer(503, b"\xff", content_type="application/x-protobuf")).message == "HTTP 503"
    long = outcome(answer(503, b"x " * 600)).message
    assert len(long) == 300 and long.endswith("x x…")
    assert sender._refusal_text(answer(503, b"y" * 1201)) == "y" * 1200


def sent(export: Callable[[Any], None]) -> Outcome:
    made = sender.Sender.__new__(sender.Sender)
    made._signal, made._session = "logs", sender._Session()
    made._session._fault = OSError("of the batch before")
    made._exporter = SimpleNamespace(export=lambda batch: export(made._session))
    return made.send([])


def test_what_came_of_a_batch() -> None:
    def raised(error: Exception) -> None:
        raise error

    assert sent(lambda session: setattr(session, "_answer", answer(200))) == Outcome(TAKEN, 0, "", 200)
    assert sent(lambda session: setattr(session, "_fault", requests.ReadTimeout())) == Outcome(
        FAILED, message="no answer in time"
    )
    nothing = "the batch could not be encoded, or is too large"
    assert sent(lambda session: None) == Outcome(REFUSED, message=nothing)
    assert sent(lambda session: raised(sender._OneAttempt())) == Outcome(REFUSED, message=nothing)
    assert sent(lambda session: raised(ValueError("odd"))) == Outcome(REFUSED, message="ValueError: odd")


@pytest.mark.parametrize(("status", "ends"), [(199, True), (200, False), (299, False), (300, True), (503, True)])
def test_an_attempt_is_the_last_unless_it_was_taken(monkeypatch: pytest.MonkeyPatch, status: int, ends: bool) -> None:
    given = answer(status)
    monkeypatch.setattr(requests.Session, "request", lambda *_, **__: given)
    session = sender._Session()
    if ends:
        with pytest.raises(sender._OneAttempt):
            session.request("POST", "http://h")
    else:
        assert session.request("POST", "http://h") is given
    assert session.seen() == (given, None)
    fault = OSError("down")

    def fail(*_: Any, **__: Any) -> None:
        raise fault

    monkeypatch.setattr(requests.Session, "request", fail)
    with pytest.raises(sender._OneAttempt):
        session.request("POST", "http://h")
    assert session.seen() == (None, fault)
    session.forget()
    assert session.seen() == (None, None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7.0), (" 0 ", 0.0), ("300", 300.0), ("301", 300.0), ("", 0.0), ("-1", 0.0), ("1.5", 0.0), ("٣", 0.0)],
)
def test_what_a_receiver_asks_to_wait(text: str, seconds: float) -> None:
    assert sender._retry_after(answer(retry_after=text)) == seconds
    assert sender._retry_after(answer()) == 0.0


def test_how_much_of_a_batch_was_dropped() -> None:
    logs, spans, points = ExportLogsServiceResponse(), ExportTraceServiceResponse(), ExportMetricsServiceResponse()
    logs.partial_success.rejected_log_records, logs.partial_success.error_message = 2, "late\nones"
    spans.partial_success.rejected_spans = 3
    points.partial_success.rejected_data_points = -4
    for signal, reply, expected in (
        ("logs", logs, (2, "late ones")), ("traces", spans, (3, "")), ("metrics", points, (0, "")),
    ):  # fmt: skip
        assert outcome(answer(content=reply.SerializeToString()), signal) == Outcome(TAKEN, *expected, 200)
    text = b'{"partialSuccess": {"rejectedLogRecords": "5", "errorMessage": "odd"}, "more": 1}'
    assert outcome(answer(content=text, content_type="Application/JSON")) == Outcome(TAKEN, 5, "odd", 200)
    for given in (answer(content=text), answer(content=b"{", content_type="application/json")):
        warned = "the receiver's answer is no OTLP, though its status is 2xx"
        assert outcome(given) == Outcome(TAKEN, 0, warned, 200)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (requests.ReadTimeout("x"), "no answer in time"), (requests.ConnectTimeout("x"), "no answer in time"),
        (requests.exceptions.SSLError("bad"), "TLS: bad"),
        (requests.ConnectionError("[Errno 111] Connection refused"), "connection refused"),
        (requests.ConnectionError("Name or service not known"), "host not known"),
        (requests.ConnectionError("nodename nor servname provided"), "host not known"),
        (requests.ConnectionError("Temporary failure in name resolution"), "host not known"),
        (requests.ConnectionError("No route to host"), "no route to host"),
        (requests.ConnectionError("Remote end closed it"), "the connection was closed before an answer came"),
        (requests.ConnectionError("Connection reset by peer"), "the connection was reset"),
        (requests.ConnectionError("else"), "no connection: else"), (ValueError("odd"), "ValueError: odd"),
    ],
)  # fmt: skip
def test_why_there_was_no_answer(fault: Exception, reason: str) -> None:
    assert sender._reason(fault) == reason


def test_a_reason_is_one_line_of_300_characters() -> None:
    assert sender._line(" a\n b ") == "a b"
    assert [sender._line("x" * count) for count in (300, 301)] == ["x" * 300, "x" * 299 + "…"]


def test_the_pause_doubles_up_to_a_minute() -> None:
    assert [export._pause_s(failures) for failures in (0, 1, 2, 6, 7, 8, 99)] == [0.5, 1.0, 2.0, 32.0, 60.0, 60.0, 60.0]


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (0, "start a collector there, or set OTEL_EXPORTER_OTLP_ENDPOINT"), (401, "check OTEL_EXPORTER_OTLP_HEADERS"),
        (403, "check OTEL_EXPORTER_OTLP_HEADERS"), (402, "look at the collector's log"),
        (500, "look at the collector's log"),
        (404, "check the path in OTEL_EXPORTER_OTLP_ENDPOINT: /v1/logs and its like are added to it"),
        (405, "check the path in OTEL_EXPORTER_OTLP_ENDPOINT: /v1/logs and its like are added to it"),
    ],
)  # fmt: skip
def test_an_export_that_failed_says_what_to_look_at(status: int, advice: str) -> None:
    bad = Delivered("logs", "http://h", waiting=2, error="bad", status=status)
    failure = export._failure([bad], [bad, Delivered("traces", "http://h")])
    assert (failure.code, failure.exit_code) == ("OTEL_EXPORT_FAILED", 1)
    assert failure.message == "logs to http://h: bad (2 events wait)"
    assert failure.fix == f"what waits is sent by the next export; {advice}"
    other = Delivered("metrics", "http://h", sent=1, waiting=1, error="late", status=404)
    assert export._failure([bad, other], [bad, Delivered("traces", "http://h", sent=3), other]).message == (
        "logs to http://h: bad (2 events wait); metrics to http://h: late (1 events wait); taken: traces 3, metrics 1"
    )
