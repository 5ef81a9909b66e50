"""Where events go: a signal and its endpoint, as the standard `OTEL_*` variables name them."""

import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from core import ids
from core.errors import usage

SIGNALS = ("logs", "traces")
_CONFIG = "OTEL_EXPORT_CONFIG"
_DEFAULT = "http://localhost:4318"
_BASE = "OTEL_EXPORTER_OTLP"


@dataclass(frozen=True)
class Destination:
    """One endpoint of one signal; `shown` is its URL without password and query."""

    signal: str
    url: str
    shown: str

    @property
    def key(self) -> str:
        """What its cursor is found by."""
        return ids.fingerprint(f"{self.signal}\n{self.url}")


Delivered = dict[str, Any]
"""One destination's share: `signal`, `endpoint`, how many were `sent` and `rejected` and are `waiting`, and perhaps an
`error` or a `warning`."""


def _set(name: str) -> str:
    return os.environ.get(name, "").strip()


def disabled() -> bool:
    """Whether `OTEL_SDK_DISABLED` is true: then nothing is sent."""
    return _set("OTEL_SDK_DISABLED").lower() == "true"


def destinations() -> list[Destination]:
    """Those of the environment. Raises Failure: OTEL_EXPORT_CONFIG, a variable means nothing here."""
    found = []
    for signal in SIGNALS:
        name = f"OTEL_{signal.upper()}_EXPORTER"
        exporter = _set(name).lower() or "otlp"
        if exporter not in ("otlp", "none"):
            raise usage(_CONFIG, f"{name} is {exporter!r}; joelclaw sends OTLP only", f"set {name} to otlp or none")
        if exporter == "otlp":
            found.append(_destination(signal))
    return found


def _destination(signal: str) -> Destination:
    name, protocol = _of_signal(signal, "PROTOCOL")
    if protocol.lower() not in ("", "http/protobuf"):
        raise usage(
            _CONFIG,
            f"{name} is {protocol!r}; joelclaw speaks http/protobuf only",
            f"unset {name} or set it to http/protobuf, and name the collector's HTTP port (4318; 4317 is gRPC)",
        )
    name, url = _of_signal(signal, "ENDPOINT")
    if name == f"{_BASE}_ENDPOINT":
        url = (url or _DEFAULT).removesuffix("/") + f"/v1/{signal}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or parts.scheme not in ("http", "https"):
        raise usage(_CONFIG, f"{name} is not an http URL", f"set {name} to a URL such as {_DEFAULT}")
    host = f"[{host}]" if ":" in host else host
    return Destination(signal, url, f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}")


def _of_signal(signal: str, what: str) -> tuple[str, str]:
    own = f"{_BASE}_{signal.upper()}_{what}"
    name = own if _set(own) else f"{_BASE}_{what}"
    return name, _set(name)
