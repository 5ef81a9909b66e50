"""Progress bars, and files that are read line by line."""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from cli.output import wrong_usage

Advance = Callable[[int], None]


@contextmanager
def numbered_lines(
    file: str, *, longest: int, content: str
) -> Iterator[tuple[Iterator[tuple[int, bytes | None]], Advance]]:
    """The numbered lines of a file, or of stdin for `-`, and a function that advances a bar by a number of bytes.

    A line of more than `longest` bytes is None. Raises a Failure if the input cannot be read; `content` says what it
    should contain.
    """
    fix = f"name a file of {content}, or - for stdin"
    with ExitStack() as opened:
        handle: BinaryIO = sys.stdin.buffer
        if file != "-":
            try:
                handle = opened.enter_context(open(file, "rb"))
            except OSError as error:
                raise wrong_usage(f"{file}: {error.strerror}", fix) from None
            if is_endless(handle):
                raise wrong_usage(f"{file} is a device", fix)
        try:
            size = os.fstat(handle.fileno()).st_size or None
        except (OSError, ValueError):
            size = None
        _, advance = opened.enter_context(progress_bar("importing", size, in_bytes=True))
        try:
            yield _lines(handle, longest), advance
        except IsADirectoryError as error:  # a folder can be opened, but not read
            raise wrong_usage(f"the input cannot be read: {error.strerror}", fix) from None


def is_endless(handle: BinaryIO) -> bool:
    """Whether an open file is a device that may never end. A pipe ends with its writer."""
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


@contextmanager
def progress_bar(label: str, total: int | None = None, *, in_bytes: bool = False) -> Iterator[tuple[Advance, Advance]]:
    """A bar on stderr, if stderr is a terminal. Yields functions that set the total, and that advance the bar."""
    if not sys.stderr.isatty():
        yield (lambda _: None), (lambda _: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn(label), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=total)
        yield (lambda count: shown.update(task, total=count)), (lambda count: shown.advance(task, count))
