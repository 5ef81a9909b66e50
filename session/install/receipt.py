"""The receipt of an installation: what was written and made, so that taking it out leaves what was there before."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field

from core import VERSION, files
from session.install.entered import INSTALLS
from session.install.json_parts import Traces


def _sha256(data: bytes) -> str:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # `hashlib` loads OpenSSL
    except ImportError:  # a later Python
        from hashlib import sha256
    digest: str = sha256(data).hexdigest()
    return digest


@dataclass(frozen=True)
class Receipt:
    """Of one client's file: its path, the SHA-256 of what we wrote, and whether we made the file."""

    path: str
    fingerprint: str
    version: str
    created: bool = False
    folders: tuple[str, ...] = ()
    traces: Traces = field(default_factory=Traces)

    @classmethod
    def of(cls, path: str, data: bytes, *, created: bool, traces: Traces) -> Receipt:
        """The receipt of a file that now holds `data`."""
        return cls(path, _sha256(data), VERSION, created, (), traces)

    def is_of(self, data: bytes) -> bool:
        """Whether a file holds what we wrote, to the byte."""
        return _sha256(data) == self.fingerprint

    @classmethod
    def load(cls, path: str) -> Receipt | None:
        """The receipt of a file; None where there is none, or no proper one."""
        try:
            with open(_place(path), encoding="utf-8") as file:
                kept = json.load(file)
            traces = Traces(frozenset(map(str, kept["emptied"])), dict(kept["inner"]), kept["blank"])
            return cls(
                path,
                kept["fingerprint"],
                kept["version"],
                kept["created"] is True,
                tuple(map(str, kept["folders"])),
                traces,
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self) -> None:
        """Keep it.

        Raises:
            OSError: it cannot be written.
        """
        kept = {
            "path": self.path,
            "fingerprint": self.fingerprint,
            "version": self.version,
            "created": self.created,
            "folders": list(self.folders),
            "emptied": sorted(self.traces.created),
            "inner": self.traces.inner,
            "blank": self.traces.blank,
        }
        files.write_whole(_place(self.path), json.dumps(kept).encode())

    @staticmethod
    def forget(path: str) -> None:
        """Drop the receipt of a file, if there is one."""
        try:
            os.unlink(_place(path))
        except OSError:
            pass


def folder() -> str:
    """Where receipts lie."""
    return os.path.join(files.home(), INSTALLS)


def _place(path: str) -> str:
    return os.path.join(folder(), files.safe_name(path) + ".json")
