"""What the installed script calls: sets up the process, runs the command, and exits."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

GC_THRESHOLD = 100_000  # a hot command makes 10,000 objects that stay; collecting took 4 of its 90 ms
INTERRUPTED = 130


def start() -> NoReturn:
    """Run the command and exit. Without threads, skip Python's own clean-up at exit, which takes 5 ms."""
    gc.set_threshold(GC_THRESHOLD)
    code = INTERRUPTED
    if sys.stdout is None or sys.stderr is None or sys.stdin is None:
        _open_standard_streams()
    try:
        from cli.main import main

        code = main()
        _flush()
    except KeyboardInterrupt:  # before the command or after it: `hot.run` handles it during the command
        pass
    if "threading" in sys.modules:
        sys.exit(code)
    os._exit(code)


def _open_standard_streams() -> None:
    """Open those of the three descriptors that are closed, so that no file we open (the store) becomes stdout."""
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
