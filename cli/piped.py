"""Reads a JSON object from stdin in a bounded time: a hook's stdin may be a pipe that nobody writes to or closes."""

from __future__ import annotations

import os
import time

from core import json_text

_CHUNK = 65_536
_WAIT_S = 1.0
"""How long the first byte, and each later one, may take; three times that in all."""


class TooLong(ValueError):
    """There was more than the limit."""


def read_object(limit: int) -> bytes:
    """What stdin holds: up to the end of an object, or what came before a pipe fell silent; nothing from a terminal.

    Args:
        limit: most bytes to take.

    Raises:
        TooLong: there is more than `limit`.
    """
    import select

    data = bytearray()
    end = time.monotonic() + 3 * _WAIT_S
    try:
        if os.isatty(0):
            return b""
        while True:
            left = min(_WAIT_S, end - time.monotonic())
            if left <= 0 or not select.select([0], [], [], left)[0]:
                break
            chunk = os.read(0, _CHUNK)
            data += chunk
            if len(data) > limit:
                raise TooLong
            if not chunk or _is_object(bytes(data)):
                break
    except OSError:  # closed, or no file that can be read
        pass
    return bytes(data)


def _is_object(data: bytes) -> bool:
    """Whether a whole object has come, so that a pipe that stays open costs no wait."""
    if not data.rstrip().endswith(b"}"):
        return False
    try:
        json_text.loads(data.decode("utf-8", "replace"))
    except json_text.InvalidJSON:
        return False
    return True
