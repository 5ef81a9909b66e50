"""The lines of a session file as JSON objects, however damaged the file is, and any of them again by its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import orjson

_MOST_PROBLEMS = 20
_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """Where a line stands: its number from 1, its offset and size in bytes."""

    number: int
    offset: int
    size: int


class Problems:
    """What could not be read, the first twenty in words."""

    def __init__(self) -> None:
        self._told: list[str] = []
        self._more = 0

    def add(self, what: str) -> None:
        """Note one."""
        if len(self._told) < _MOST_PROBLEMS:
            self._told.append(what)
        else:
            self._more += 1

    def all(self) -> tuple[str, ...]:
        """Those that were noted, and how many more there are."""
        return (*self._told, f"and {self._more} more problems") if self._more else tuple(self._told)


def values(handle: BinaryIO, problems: Problems) -> Iterator[tuple[Line, dict[str, Any] | None]]:
    """Every line that is not empty with its object, None for one that has none."""
    offset = 0
    for number, data in enumerate(handle, 1):
        bare = data.removeprefix(_BOM) if number == 1 else data
        start = offset + len(data) - len(bare)
        offset += len(data)
        if bare.isspace():
            continue
        value = parsed(bare)
        if not isinstance(value, dict):
            what = "no JSON object" if data.endswith(b"\n") else "cut off"
            problems.add(f"line {number} is {what}")
            value = None
        yield Line(number, start, len(bare)), value


def parsed(data: bytes) -> Any:
    """The JSON value of a line, None where it is none. Half a surrogate pair and what is no UTF-8 are replaced."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        plain = json.dumps(json.loads(data.decode("utf-8", "replace")), ensure_ascii=False)
        return orjson.loads(plain.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
