"""A file of JSON lines, or stdin: what commands that import many lines share."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from cli import progress
from core.errors import usage


@contextmanager
def numbered(
    where: str, *, longest: int, code: str, holds: str
) -> Iterator[tuple[Iterator[tuple[int, bytes | None]], Callable[[int], None]]]:
    """The numbered lines of a file, or of stdin for `-`, and what to tell how many bytes are done: a bar shows it.

    Args:
        longest: bytes of a line; None stands for a longer one, which is skipped without being held in memory.
        holds: what is in the file, for messages.
    """
    fix = f"name a file of {holds}, or - for stdin"
    with ExitStack() as opened:
        handle: BinaryIO = sys.stdin.buffer
        if where != "-":
            try:
                handle = opened.enter_context(open(where, "rb"))
            except OSError as error:
                raise usage(code, f"{where}: {error.strerror}", fix) from None
            if is_endless(handle):
                raise usage(code, f"{where} is a device", fix)
        advance = opened.enter_context(progress.in_bytes("importing", _size(handle)))
        try:
            yield _lines(handle, longest), advance
        except IsADirectoryError as error:  # a folder opens, and fails when it is read
            raise usage(code, f"the input cannot be read: {error.strerror}", fix) from None


def is_endless(handle: BinaryIO) -> bool:
    """Whether what was opened by its name is a device that may never end. A pipe ends with its writer."""
    status = os.fstat(handle.fileno())
    is_device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
    return is_device and status.st_rdev != os.stat(os.devnull).st_rdev


def _lines(handle: BinaryIO, longest: int) -> Iterator[tuple[int, bytes | None]]:
    number = 0
    while line := handle.readline(longest):
        number += 1
        if len(line) == longest and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = handle.readline(longest)
            yield number, None
        else:
            yield number, line


def _size(handle: BinaryIO) -> int | None:
    """Bytes of the input, for the bar; None where that is not known."""
    try:
        return os.fstat(handle.fileno()).st_size or None
    except (OSError, ValueError):
        return None
