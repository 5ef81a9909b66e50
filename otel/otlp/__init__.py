"""OTLP: events sent to collectors, written to files and read from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core import ids


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
