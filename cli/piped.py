"""Reads a JSON object from stdin in a bounded time: a hook's stdin may be a pipe that nobody writes to or closes."""

import os
import time

from core import json_text
from core.errors import usage

_CHUNK = 65_536
_WAIT_S = 1.0
"""How long the first byte, and each later one, may take; three times that in all."""
_PAUSE_S = 0.05
"""After which an object that may have come is looked at."""
_LOOKS = 4


def read_json(limit: int, code: str, less: str, example: str) -> dict[str, object]:
    """The object that stdin holds, empty where it holds nothing; `less` says what to give instead of too much."""
    try:
        text = read_object(limit)
    except TooLong:
        raise usage(code, f"stdin holds more than {limit} bytes", less) from None
    return parsed(text, "stdin", code, example) if text.strip() else {}


def parsed(text: str | bytes, where: str, code: str, example: str) -> dict[str, object]:
    """The object of JSON in a text that a call gives."""
    try:
        value = json_text.loads(text)
    except json_text.InvalidJSON as error:
        raise usage("INVALID_JSON", f"{where} is not JSON: {error}", example) from None
    if not isinstance(value, dict):
        raise usage(code, f"{where} is JSON but not an object", example)
    return value


class TooLong(ValueError):
    """There was more than the limit."""


def read_object(limit: int) -> bytes:
    """What stdin holds: up to the end of an object, or what came before a pipe fell silent; nothing from a terminal."""
    import select

    data = bytearray()
    looked, maybe = 0, False
    end = time.monotonic() + 3 * _WAIT_S
    try:
        while not os.isatty(0) and (left := min(_WAIT_S, end - time.monotonic())) > 0:
            if not select.select([0], [], [], min(left, _PAUSE_S) if maybe else left)[0]:
                if not maybe or _is_object(data):
                    break
                maybe = False
                continue
            chunk = os.read(0, _CHUNK)
            data += chunk
            if len(data) > limit:
                raise TooLong
            maybe = data[-_CHUNK:].rstrip()[-1:] == b"}"
            # So often only that all looks together cost as much as a few over the whole, in however small pieces.
            look = maybe and looked <= _LOOKS * len(data)
            looked += len(data) * look
            if not chunk or (look and _is_object(data)):
                break
            maybe = maybe and not look
    except OSError:  # closed, or no file that can be read
        pass
    return bytes(data)


def _is_object(data: bytearray) -> bool:
    """Whether a whole object has come, so that a pipe that stays open costs no wait."""
    try:
        json_text.loads(data.decode("utf-8", "replace"))
    except json_text.InvalidJSON:
        return False
    return True
