"""What the forms of other tools' memories have in common: items to take in, and pieces that are left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from core import clock
from core.errors import Failure

MOST_JSON_BYTES = 64 * 1024 * 1024
_MOST_TAGS = 16
_LONGEST_TAG = 60


@dataclass(frozen=True)
class Item:
    """One memory of another tool.

    Args:
        text: what it says; it is redacted, judged and categorised when it is stored.
        where: the place in the file, for people: `line 12`, `observation 7`.
        key: what tells it from others in its store, and stays when it is taken in again.
        context: what stands around it: headings, a title. Found by at half the weight of the text.
        category: an alias or id, "" to go by the words.
        created_at: ms since the epoch, None where that is not known.
    """

    text: str
    where: str
    key: str
    tags: tuple[str, ...] = ()
    context: str = ""
    category: str = ""
    project: str = ""
    created_at: int | None = None


@dataclass(frozen=True)
class LeftOut:
    """A piece of the file that is no memory, and why."""

    where: str
    reason: str
    text: str = ""


def tags_of(values: Iterable[object]) -> tuple[str, ...]:
    """Those of the values that can be tags: short texts on one line, each once."""
    found = [" ".join(value.split()) for value in values if isinstance(value, str)]
    return tuple(dict.fromkeys(value for value in found if 0 < len(value) <= _LONGEST_TAG))[:_MOST_TAGS]


def moment(value: object) -> int | None:
    """Ms since the epoch of an ISO 8601 time or of a number of s or ms; None for anything else."""
    if isinstance(value, str):
        return clock.parse_iso(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e15:
        return None
    return int(value if value > 1e11 else value * 1000)


def read(path: str, most: int) -> bytes:
    """A whole file.

    Raises:
        Failure: IMPORT_FAILED where it is larger than `most` bytes or cannot be read.
    """
    try:
        with open(path, "rb") as handle:
            data = handle.read(most + 1)
    except OSError as error:
        raise Failure("IMPORT_FAILED", f"{path}: {error.strerror}", "name a file that can be read") from None
    if len(data) > most:
        raise Failure("IMPORT_FAILED", f"{path} has more than {most:,} bytes", "split it, and import the parts")
    return data


def parsed(data: bytes) -> Any:
    """The JSON value of a whole file, None where it is none."""
    try:
        return orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError:
        return None


def lines_of(data: bytes) -> list[tuple[int, Any]]:
    """The numbered JSON values of a file of lines, None for a line that is none; blank lines are left out."""
    return [(number, parsed(line)) for number, line in enumerate(data.splitlines(), 1) if line.strip()]
