"""Where events go: the standard `OTEL_*` variables, read without opentelemetry-sdk so that `status` stays cheap.

A destination is a signal and its endpoint, as https://opentelemetry.io/docs/specs/otel/protocol/exporter/ resolves it.
What else the exporters read (headers, time limit, compression, certificates) is read by opentelemetry-sdk itself.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from core import ids
from core.errors import usage

SIGNALS = ("logs", "traces", "metrics")
DEFAULT = "http://localhost:4318"
CODE = "OTEL_EXPORT_CONFIG"
_BASE = "OTEL_EXPORTER_OTLP"


@dataclass(frozen=True)
class Destination:
    """One endpoint of one signal.

    Args:
        signal: one of SIGNALS.
        url: where its batches are posted.
        shown: the same without user, password and query.
    """

    signal: str
    url: str
    shown: str

    @property
    def key(self) -> str:
        """What its cursor is found by."""
        return ids.fingerprint(f"{self.signal}\n{self.url}")


def disabled() -> bool:
    """Whether `OTEL_SDK_DISABLED` is true: then nothing is sent."""
    return _set("OTEL_SDK_DISABLED").lower() == "true"


def every() -> list[Destination]:
    """The destinations of the environment; signals whose exporter is `none` are left out.

    Raises:
        Failure: OTEL_EXPORT_CONFIG, a protocol or exporter that there is not here, or an endpoint that is no URL.
    """
    found = []
    for signal in SIGNALS:
        exporter = _set(f"OTEL_{signal.upper()}_EXPORTER").lower() or "otlp"
        if exporter == "none":
            continue
        if exporter != "otlp":
            name = f"OTEL_{signal.upper()}_EXPORTER"
            raise usage(CODE, f"{name} is {exporter!r}; joelclaw sends OTLP only", f"set {name} to otlp or none")
        _check_protocol(signal)
        found.append(_destination(signal))
    return found


def _destination(signal: str) -> Destination:
    name = f"{_BASE}_{signal.upper()}_ENDPOINT"
    url = _set(name)
    if not url:
        name = f"{_BASE}_ENDPOINT"
        url = (_set(name) or DEFAULT).removesuffix("/") + f"/v1/{signal}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    if parts.scheme not in ("http", "https") or not host:
        raise usage(CODE, f"{name} is no http URL", f"set {name} to a URL such as {DEFAULT}")
    host = f"[{host}]" if ":" in host else host
    shown = f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"
    return Destination(signal, url, shown)


def _check_protocol(signal: str) -> None:
    for name in (f"{_BASE}_{signal.upper()}_PROTOCOL", f"{_BASE}_PROTOCOL"):
        protocol = _set(name).lower()
        if protocol == "http/protobuf":
            return
        if protocol:
            raise usage(
                CODE,
                f"{name} is {protocol!r}; joelclaw speaks http/protobuf only",
                f"unset {name} or set it to http/protobuf, and name the collector's HTTP port (4318; 4317 is gRPC)",
            )


def _set(name: str) -> str:
    return os.environ.get(name, "").strip()
