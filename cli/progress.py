"""A bar on stderr while a command works through much, where stderr is a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import ProgressColumn


@contextmanager
def in_bytes(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar of bytes; call what it yields with the bytes that are done since."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import DownloadColumn

    with _bar(label, DownloadColumn(), total) as (_, advance):
        yield advance


@contextmanager
def in_items(label: str) -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
    """A bar of things that are counted; it yields what to call with their number, and with those done since."""
    if not sys.stderr.isatty():
        yield (lambda _: None), (lambda _: None)
        return
    from rich.progress import MofNCompleteColumn

    with _bar(label, MofNCompleteColumn(), None) as (started, advance):
        yield started, advance


@contextmanager
def _bar(
    label: str, amount: ProgressColumn, total: int | None
) -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield (lambda count: bar.update(task, total=count)), (lambda count: bar.advance(task, count))
