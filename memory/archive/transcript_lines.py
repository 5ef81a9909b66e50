"""The complete lines of a file from an offset on, in bounded pieces. Hot path."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Piece(TypedDict):
        """What was read. Where nothing was complete, `end` is where the reading began."""

        lines: list[bytes]
        end: int
        """The offset behind the last of them."""
        skipping: bool
        """`end` lies within a line that is too long; what follows up to its newline is no line."""
        too_long: int
        complete: bool
        """No complete line follows."""


LONGEST_LINE = 16 * 1024 * 1024
"""Bytes; a longer line is left out."""
_BLOCK = 256 * 1024


def read(descriptor: int, offset: int, most: int, *, skipping: bool) -> Piece:
    """The complete lines among the next `most` bytes, or the one line that is longer than that.

    Raises:
        OSError: the file cannot be read.
    """
    data = os.pread(descriptor, most, offset)
    ended = len(data) < most
    if skipping:
        newline = data.find(b"\n")
        if newline < 0:
            return _piece([], offset + len(data), skipping=True, complete=ended)
        offset += newline + 1
        data = data[newline + 1 :]
    last = data.rfind(b"\n")
    if last >= 0 or ended or not data:
        lines = data[: last + 1].split(b"\n")[:-1]
        return _piece(lines, offset + last + 1, complete=ended)
    return _long_line(descriptor, offset, data)


def _long_line(descriptor: int, offset: int, data: bytes) -> Piece:
    blocks, total = [data], len(data)
    while total <= LONGEST_LINE:
        block = os.pread(descriptor, _BLOCK, offset + total)
        if not block:
            return _piece([], offset, complete=True)
        newline = block.find(b"\n")
        if newline >= 0:
            blocks.append(block[:newline])
            return _piece([b"".join(blocks)], offset + total + newline + 1)
        blocks.append(block)
        total += len(block)
    return _piece([], offset + total, skipping=True, too_long=1)


def _piece(lines: list[bytes], end: int, *, skipping: bool = False, too_long: int = 0, complete: bool = False) -> Piece:
    return {"lines": lines, "end": end, "skipping": skipping, "too_long": too_long, "complete": complete}
