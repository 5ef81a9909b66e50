"""A note that the cluster could not be used a moment ago, so that not every hook waits to find out again."""

from __future__ import annotations

import os

from core import clock, files, json_text

HOLDS_MS = 10_000


def _path() -> str:
    return os.path.join(files.home(), "cache", "typesense-down.json")


def read(nodes: str) -> tuple[str, str] | None:
    """Code and message of a fault of these nodes that is not `HOLDS_MS` old; None where there is none."""
    try:
        with open(_path(), "rb") as handle:
            kept = json_text.loads(handle.read())
        if kept["nodes"] == nodes and 0 <= clock.now_ms() - kept["at"] < HOLDS_MS:
            return str(kept["code"]), str(kept["message"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def note(nodes: str, code: str, message: str) -> None:
    """Remember a fault."""
    kept = {"nodes": nodes, "at": clock.now_ms(), "code": code, "message": message}
    try:
        files.write_whole(_path(), json_text.dumps(kept).encode())
    except OSError:
        pass  # the next one finds out again


def clear() -> None:
    """The cluster answers."""
    try:
        os.unlink(_path())
    except OSError:
        pass
