"""Reading stdin for a bounded time: a hook's stdin may be a pipe that nobody ever writes to or closes."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 65_536


class TooLong(ValueError):  # reads as the condition it is
    """There was more than the limit."""


def read(limit: int, wait_s: float = 1.0, complete: Callable[[bytes], bool] | None = None) -> bytes:
    """What stdin holds: nothing from a terminal, and what came so far from a pipe that falls silent.

    Args:
        limit: most bytes to take.
        wait_s: how long to wait for the first byte, and again for each next one, in seconds; three times that in all.
        complete: says that nothing more is needed, so that a pipe that stays open costs no wait.

    Raises:
        TooLong: there is more than `limit`.
    """
    import select

    data = bytearray()
    end = time.monotonic() + 3 * wait_s
    try:
        if os.isatty(0):
            return b""
        while True:
            left = min(wait_s, end - time.monotonic())
            if left <= 0 or not select.select([0], [], [], left)[0]:
                break
            chunk = os.read(0, _CHUNK)
            data += chunk
            if len(data) > limit:
                raise TooLong
            if not chunk or (complete is not None and complete(bytes(data))):
                break
    except OSError:  # closed, or no file that can be read
        pass
    return bytes(data)
