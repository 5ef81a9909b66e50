"""A bar on stderr while a command works through much, where stderr is a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
