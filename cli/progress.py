"""What a command shows while it works: a bar on stderr where that is a terminal, or rows as they come."""

from __future__ import annotations

import select
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from cli import stdout
from cli.answer import write_json
from core import json_text

Advance = Callable[[int], None]


@contextmanager
def in_bytes(label: str, total: int | None) -> Iterator[Advance]:
    """A bar of bytes; call what it yields with the bytes that are done since."""
    with _bar(label, total, in_bytes=True) as (_, advance):
        yield advance


@contextmanager
def in_items(label: str) -> Iterator[tuple[Advance, Advance]]:
    """A bar of things that are counted.

    It yields what to call with their number, once that is known, and what to call with those that are done since.
    """
    with _bar(label, None, in_bytes=False) as both:
        yield both


@contextmanager
def _bar(label: str, total: int | None, *, in_bytes: bool) -> Iterator[tuple[Advance, Advance]]:
    if not sys.stderr.isatty():
        yield (lambda _: None), (lambda _: None)
        return
    from rich.console import Console  # a batch of recalls reads lines, too
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn(label), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield (lambda count: bar.update(task, total=count)), (lambda count: bar.advance(task, count))


def follow(rows: Iterable[dict[str, Any] | None], draw: Callable[[dict[str, Any]], None] | None = None) -> int:
    """Print rows as they come, a line of JSON each, until Ctrl-C, SIGTERM, or nobody reads; returns the exit code, 0.

    Args:
        rows: None now and then where nothing comes, so that it can end.
        draw: prints a row on a terminal; by default as names and values on one line.
    """
    came: list[int] = []

    def end(number: int, _: object) -> None:
        came.append(number)  # an interrupt in a finalizer (of opentelemetry-sdk) cannot leave it: the next row ends
        raise KeyboardInterrupt

    sys.unraisablehook = lambda _: None
    on_terminal = stdout.is_terminal() and "--json" not in sys.argv
    hung_up = select.poll()
    hung_up.register(1, 0)  # no events: only told when the reading end of a pipe is gone
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        for row in rows:
            if came or hung_up.poll(0):
                break
            if row is not None and on_terminal:
                (draw or _line)(row)
            elif row is not None and not write_json(json_text.dumps(row)):
                break
    except KeyboardInterrupt:
        pass
    return 0


def _line(row: dict[str, Any]) -> None:
    from cli.terminal import console, plain, safe

    console().print(safe(plain(row)))
