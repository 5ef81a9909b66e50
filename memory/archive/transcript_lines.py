"""The complete lines of a file from an offset on, in bounded pieces. Hot path."""

from __future__ import annotations

import os

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes; a longer line is left out."""
_BLOCK = 256 * 1024
_REGULAR, _KIND = 0o100000, 0o170000  # of a file's mode; `stat` is an import


def opened(path: str) -> int:
    """A descriptor of a regular file; a pipe must not hold a hook up.

    Raises:
        OSError: it cannot be read, or is none.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if os.fstat(descriptor).st_mode & _KIND != _REGULAR:
        os.close(descriptor)
        raise OSError(0, "it is no regular file")
    return descriptor


def read(descriptor: int, offset: int, most: int) -> tuple[list[bytes], int, int, bool]:
    """The complete lines among the next `most` bytes, or the one line that is longer than that.

    And the offset behind them, how many lines were too long, and whether no complete line follows.

    Raises:
        OSError: the file cannot be read.
    """
    data = os.pread(descriptor, most, offset)
    ended = len(data) < most
    last = data.rfind(b"\n")
    if last >= 0 or ended:
        return data[: last + 1].split(b"\n")[:-1], offset + last + 1, 0, ended
    blocks, at = [data], offset + len(data)
    while block := os.pread(descriptor, _BLOCK, at):
        newline = block.find(b"\n")
        at += len(block) if newline < 0 else newline + 1
        if at - offset <= LONGEST_LINE:
            blocks.append(block if newline < 0 else block[:newline])
        if newline >= 0:
            is_too_long = at - offset > LONGEST_LINE
            return [] if is_too_long else [b"".join(blocks)], at, int(is_too_long), False
    return [], offset, 0, True
