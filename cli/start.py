"""What the installed script calls: everything about the process itself, before and after the command."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_OBJECTS_PER_COLLECTION = 100_000
"""A hot command makes some 10,000 that stay, and looking through them for cycles took 4 of its 90 ms."""
_INTERRUPTED = 130


def start() -> NoReturn:
    """Run the command and leave at once, where no thread was started: what Python tidies up at its end takes 5 ms."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    code = _INTERRUPTED
    if sys.stdout is None or sys.stderr is None or sys.stdin is None:
        _open_closed()
    try:
        from cli.main import main

        code = main()
        _flush()
    except KeyboardInterrupt:  # before the command or after it: within, it says so itself
        pass
    if "threading" in sys.modules:
        sys.exit(code)
    os._exit(code)


def _open_closed() -> None:
    """Open those of the three descriptors that were closed: else the next file, a store say, would be stdout."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)
    if sys.stdout is None:
        reading, writing = os.pipe()
        os.dup2(writing, 1)
        os.close(reading)
        os.close(writing)
        sys.stdout = open(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)


def _flush() -> None:
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:  # the reader is gone; without this, Python would flush again at its exit and complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
