"""The receipt of an installation: what was written and made, so that taking it out leaves what was there before."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from glob import escape, glob
from hashlib import sha256

from core import VERSION, files


@dataclass(frozen=True)
class Receipt:
    """Of one client's file.

    Args:
        path: the file's.
        fingerprint: the SHA-256 of what we wrote.
        version: of joelclaw.
        created: we made the file.
        folders: those that we made for it, the outermost first.
        made: paths in its JSON that are ours, and of the containers that we made for them.
    """

    path: str
    fingerprint: str
    version: str
    created: bool = False
    folders: tuple[str, ...] = ()
    made: frozenset[str] = frozenset()

    @classmethod
    def of(cls, path: str, data: bytes, *, created: bool, made: frozenset[str] = frozenset()) -> Receipt:
        """The receipt of a file that now holds `data`."""
        return cls(path, sha256(data).hexdigest(), VERSION, created, (), made)

    def is_of(self, data: bytes) -> bool:
        """Whether a file holds what we wrote, to the byte."""
        return sha256(data).hexdigest() == self.fingerprint

    @classmethod
    def load(cls, path: str) -> Receipt | None:
        """The receipt of a file; None where there is none, or no proper one."""
        try:
            with open(_place(path), encoding="utf-8") as file:
                kept = json.load(file)
            folders, made = tuple(map(str, kept["folders"])), frozenset(map(str, kept["emptied"]))
            return cls(path, kept["fingerprint"], kept["version"], kept["created"] is True, folders, made)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self) -> None:
        """Keep it."""
        kept = {
            "path": self.path,
            "fingerprint": self.fingerprint,
            "version": self.version,
            "created": self.created,
            "folders": list(self.folders),
            "emptied": sorted(self.made),
        }
        files.write_whole(_place(self.path), json.dumps(kept).encode())

    @staticmethod
    def every() -> list[str]:
        """The files of all receipts."""
        found = []
        for name in sorted(glob(os.path.join(escape(_folder()), "*.json"))):
            with suppress(OSError, ValueError, KeyError, TypeError), open(name, encoding="utf-8") as file:
                found.append(str(json.load(file)["path"]))
        return found

    @staticmethod
    def forget(path: str) -> None:
        """Drop the receipt of a file, if there is one."""
        with suppress(OSError):
            os.unlink(_place(path))


def _folder() -> str:
    return os.path.join(files.home(), "installs")


def _place(path: str) -> str:
    return os.path.join(_folder(), files.safe_name(path) + ".json")
