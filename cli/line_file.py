"""A file of JSON lines, or stdin, read with a bar: what commands that take in many lines share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
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


@contextmanager
def progress(handle: BinaryIO) -> Iterator[Callable[[int], None]]:
    """A bar on stderr where that is a terminal, in bytes; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    try:
        total = os.fstat(handle.fileno()).st_size or None
    except (OSError, ValueError):
        total = None
    columns = (TextColumn("importing"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("import", total=total)
        yield lambda taken: bar.advance(task, taken)
