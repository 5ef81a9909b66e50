"""Which distributions are installed, and in which version: read from the names of their folders.

`importlib.metadata` answers the same from the files in them, and takes as long as starting Python (it imports `email`).
"""

from __future__ import annotations

import os
import sys

_ENDINGS = (".dist-info", ".egg-info")
_seen: dict[str, str] = {}
_looked: list[str] = []


def requires(distribution: str) -> list[str]:
    """What an installed distribution asks of others, each as in its metadata; empty where that cannot be read."""
    wanted = _plain(distribution)
    for folder in sys.path:
        for name, found in _listed(folder):
            if name == wanted:
                place = os.path.join(folder, f"{distribution}-{found}.dist-info", "METADATA")
                return [line.partition(":")[2].strip() for line in _head(place) if line.startswith("Requires-Dist:")]
    return []


def _head(path: str) -> list[str]:
    """The lines of a metadata file before its text."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().partition("\n\n")[0].splitlines()
    except (OSError, ValueError):
        return []


def version(distribution: str) -> str | None:
    """The version of an installed distribution, None where there is none; of several, the first on the path."""
    wanted = _plain(distribution)
    for folder in sys.path:
        if folder not in _looked:
            _looked.append(folder)
            for name, found in _listed(folder):
                _seen.setdefault(name, found)
        if wanted in _seen:
            return _seen[wanted]
    return None


def _listed(folder: str) -> list[tuple[str, str]]:
    """Names, as `_plain` has them, and versions of what lies in a folder of the path."""
    try:
        names = os.listdir(folder or ".")
    except OSError:  # a zip file, or nothing
        return []
    found = []
    for entry in names:
        stem, ending = os.path.splitext(entry)
        name, dash, behind = stem.partition("-")
        if ending in _ENDINGS and dash:
            found.append((_plain(name), behind.partition("-")[0]))
    return found


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")
