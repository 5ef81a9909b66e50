"""An OTLP/HTTP collector on a free loopback port that decodes requests and fails on demand."""

from __future__ import annotations

import gzip
import http.server
import socket
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

FORMS: dict[str, tuple[type[Any], type[Any]]] = {
    "/v1/logs": (ExportLogsServiceRequest, ExportLogsServiceResponse),
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "/v1/metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
}


@dataclass(frozen=True)
class Do:
    """How to answer a request.

    Args:
        status: of HTTP; 0 closes the connection without an answer.
        stored: whether the request counts as received (a receiver may die before or after it has stored a batch).
        body: the body of an error.
        after_s: how long to take.
    """

    status: int = 200
    stored: bool = True
    body: str = ""
    after_s: float = 0.0


@dataclass
class Received:
    """One request that was kept."""

    path: str
    headers: dict[str, str]
    body: Any


Plan = Callable[[str, int, Any], Do]
"""(path, how many came before on it, request) → what to do."""


def _yes(path: str, number: int, body: Any) -> Do:
    return Do()


@dataclass
class Receiver:
    """What came, and the plan by which requests are answered."""

    port: int = 0
    plan: Plan = _yes
    requests: list[Received] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    _server: http.server.ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def env(self) -> dict[str, str]:
        """What a command needs to send here."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "NO_PROXY": "*"}

    def start(self) -> Receiver:
        self._server = _Server(("127.0.0.1", self.port), _handler(self))
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def stop(self) -> None:
        """As if the process had gone; `start` brings it back on the same port."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def bodies(self, path: str) -> list[Any]:
        return [request.body for request in self.requests if request.path == path]

    def records(self) -> list[tuple[dict[str, Any], Any]]:
        """Every log record with the attributes of its resource."""
        return [
            (attributes(group.resource.attributes), record)
            for body in self.bodies("/v1/logs")
            for group in body.resource_logs
            for scope in group.scope_logs
            for record in scope.log_records
        ]

    def ids(self) -> list[str]:
        """The event ids of all log records, doubled ones too."""
        return [attributes(record.attributes)["log.record.uid"] for _, record in self.records()]

    def spans(self) -> list[Any]:
        return [
            span
            for body in self.bodies("/v1/traces")
            for group in body.resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]


def attributes(entries: Any) -> dict[str, Any]:
    """A list of KeyValue as a dictionary of plain values."""
    return {entry.key: plain(entry.value) for entry in entries}


def plain(value: Any) -> Any:
    """The value of an AnyValue."""
    form = value.WhichOneof("value")
    if form is None:
        return None
    if form == "array_value":
        return [plain(entry) for entry in value.array_value.values]
    if form == "kvlist_value":
        return attributes(value.kvlist_value.values)
    return getattr(value, form)


class _Server(http.server.ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is part of the tests."""


def _handler(receiver: Receiver) -> type[http.server.BaseHTTPRequestHandler]:
    lock = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            coding = self.headers.get("Content-Encoding", "")
            data = gzip.decompress(data) if coding == "gzip" else zlib.decompress(data) if coding == "deflate" else data
            form, answer_form = FORMS[self.path]
            body = form()
            body.ParseFromString(data)
            with lock:
                number = receiver.counts.get(self.path, 0)
                receiver.counts[self.path] = number + 1
            do = receiver.plan(self.path, number, body)
            if do.stored and (do.status == 0 or 200 <= do.status < 300):
                with lock:
                    receiver.requests.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if do.after_s:
                time.sleep(do.after_s)
            if do.status == 0:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            text = do.body.encode()
            if 200 <= do.status < 300:
                text = answer_form().SerializeToString()
            self.send_response(do.status)
            kind = "application/x-protobuf" if do.status < 300 else "text/plain"
            for name, value in (("Content-Type", kind), ("Content-Length", str(len(text)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

    return Handler
