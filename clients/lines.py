"""The lines of a session file as JSON objects, however damaged the file is, and any of them again by its place."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LONGEST = 16 * 1024 * 1024
"""Bytes of a line; of a longer one only the ids are read."""
_HEAD = 4096
_MOST_PROBLEMS = 20
_BOM = b"\xef\xbb\xbf"
_ID = re.compile(rb'(?<!\\)"(id|parentId|uuid|parentUuid)"\s*:\s*(?:"([^"\\]{1,200})"|null)')
_LONE = re.compile("[\ud800-\udfff]")


class Line(NamedTuple):
    """Where a line stands: its number from 1, its offset and size in bytes; size 0 where it is too long to read."""

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
    """Every line that is not empty with its object, None for one that has none.

    A line longer than 16 MiB comes with the ids that stand at its beginning and its end, and nothing else.
    """
    number = offset = 0
    while data := handle.readline(LONGEST):
        number += 1
        start = offset
        offset += len(data)
        if len(data) >= LONGEST and data[-1:] != b"\n":
            tail = data
            while data[-1:] != b"\n" and (more := handle.readline(LONGEST)):
                offset += len(more)
                tail = (tail + more)[-_HEAD:] if len(more) < _HEAD else more[-_HEAD:]
                if more[-1:] == b"\n":
                    break
            problems.add(f"line {number} is longer than {LONGEST // 1024 // 1024} MiB; what it says was left out")
            yield Line(number, start, 0), _ids_of(data[:_HEAD], tail)
            continue
        if number == 1:
            data = data.removeprefix(_BOM)
            start = offset - len(data)
        if data.isspace():
            continue
        value = parsed(data)
        if not isinstance(value, dict):
            ending = data[-1:] != b"\n"
            problems.add(f"line {number} is {'cut off' if ending else 'no JSON object'}")
            value = None
        yield Line(number, start, len(data)), value


def parsed(data: bytes) -> Any:
    """The JSON value of a line, None where it is none. Half a surrogate pair and what is no UTF-8 become U+FFFD."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    if data.lstrip()[:1] != b"{":
        return None
    try:
        return _mended(json.loads(data.decode("utf-8", "replace"), parse_constant=_refuse))
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_mended(one) for one in value]
    if isinstance(value, dict):
        return {_mended(name): _mended(one) for name, one in value.items()}
    return value


def _ids_of(head: bytes, tail: bytes) -> dict[str, Any] | None:
    """The ids of a line of which only the ends were read: a tree without it would fall apart."""
    found: dict[str, Any] = {}
    for name, text in (*_ID.findall(head), *_ID.findall(tail[-_HEAD:])):
        found.setdefault(name.decode(), text.decode("utf-8", "replace") or None)
    return {"type": "too-long", **found} if found else None
