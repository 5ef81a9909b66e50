"""Looks up in a client's transcript where its session began, and whether a compaction has happened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

from clients import registry
from core import json_text

_LINES_READ = 100
_LINE_BYTES = 8_000_000
_MOST_BYTES = 64_000_000


def begun_in(path: str, agent: str) -> str:
    """The folder in which the session began, from the first lines of its transcript; "" where it is unknown or gone."""
    found = (item["cwd"] for item in islice(_items(path, agent), _LINES_READ) if item["kind"] == "started")
    try:
        return next((folder for folder in found if os.path.isdir(folder)), "")
    except OSError:
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
    try:
        return any(item["kind"] == "compaction" for item in _items(path, agent, since))
    except OSError:
        return None


def _items(path: str, agent: str, since: int = -1) -> Iterator[Any]:
    """What a transcript says; with `since` only lines behind it that may tell of a context's size."""
    if not registry.row(agent).file_tells_compaction or not os.path.isfile(path):
        return
    form = registry.row(agent).transcript()
    with open(path, "rb") as file:
        if 0 <= since <= os.fstat(file.fileno()).st_size:
            file.seek(since)
        left = _MOST_BYTES
        while left > 0 and (line := file.readline(_LINE_BYTES)):
            left -= len(line)
            if since >= 0 and not any(mark in line for mark in form.CONTEXT_MARKS):
                continue
            try:
                entry = json_text.loads(line.decode("utf-8", "replace"))
            except json_text.InvalidJSON:
                continue
            if isinstance(entry, dict):
                yield from form.items(entry)
