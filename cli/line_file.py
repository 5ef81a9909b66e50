"""A file of JSON lines, or stdin: what commands that import many lines share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from core.errors import usage


@contextmanager
def opened(where: str, *, code: str, holds: str) -> Iterator[BinaryIO]:
    """The file, or stdin for `-`; `holds` names what is in it.

    Raises:
        Failure: `code`, exit 2, where it cannot be opened.
    """
    if where == "-":
        yield sys.stdin.buffer
        return
    try:
        handle = open(where, "rb")
    except OSError as error:
        raise usage(code, f"{where}: {error.strerror}", f"name a file of {holds}, or - for stdin") from None
    with handle:
        yield handle


def lines(handle: BinaryIO, *, longest: int, code: str, holds: str) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines from 1; None for one over `longest` bytes, which is skipped without being held in memory.

    Raises:
        Failure: `code`, exit 2, where it cannot be read.
    """
    number = 0
    try:
        while line := handle.readline(longest):
            number += 1
            if len(line) == longest and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = handle.readline(longest)
                yield number, None
            else:
                yield number, line
    except OSError as error:  # a folder opens, and fails when it is read
        raise usage(code, f"the input cannot be read: {error.strerror}", f"name a file of {holds}") from None


def size(handle: BinaryIO) -> int | None:
    """Bytes of the input, for the bar; None where that is not known."""
    try:
        return os.fstat(handle.fileno()).st_size or None
    except (OSError, ValueError):
        return None
