"""Looks up in a client's transcript where its session began, and whether a compaction has happened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from clients import registry
from core import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from clients.client import Format

_LINES_READ = 100
_LINE_BYTES = 8_000_000
_MOST_BYTES = 64_000_000


def begun_in(path: str, agent: str) -> str:
    """The folder in which the session began, from the first lines of its transcript; "" where it is unknown or gone."""
    if not registry.row(agent).file_tells_compaction or not os.path.isfile(path):
        return ""
    form = registry.row(agent).transcript()
    try:
        with open(path, "rb") as file:
            for number, entry in enumerate(_entries(file)):
                for item in form.items(entry):
                    if item["kind"] == "started" and os.path.isdir(item["cwd"]):
                        return item["cwd"]
                if number >= _LINES_READ:
                    break
    except OSError:
        pass
    return ""


def size(path: str) -> int:
    """The transcript's size in bytes, 0 where there is none."""
    try:
        return os.stat(path).st_size if path else 0
    except OSError:
        return 0


def was_compacted(path: str, agent: str, since: int) -> bool | None:
    """Whether the transcript holds a compaction after its first `since` bytes; None where it cannot be known."""
    if not registry.row(agent).file_tells_compaction or not os.path.isfile(path):
        return None
    form = registry.row(agent).transcript()
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size >= since:
                file.seek(since)
            return any(_is_compaction(form, entry) for entry in _entries(file, form.CONTEXT_MARKS))
    except OSError:
        return None


def _is_compaction(form: Format, entry: dict[str, Any]) -> bool:
    return any(item["kind"] == "compaction" for item in form.items(entry))


def _entries(file: BinaryIO, marks: tuple[bytes, ...] = ()) -> Iterator[dict[str, Any]]:
    left = _MOST_BYTES
    while left > 0:
        line = file.readline(_LINE_BYTES)
        if not line:
            return
        left -= len(line)
        if marks and not any(mark in line for mark in marks):
            continue
        try:
            entry = json_text.loads(line.decode("utf-8", "replace"))
        except json_text.InvalidJSON:
            continue
        if isinstance(entry, dict):
            yield entry
