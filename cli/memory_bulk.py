"""`joelclaw memory import` and `export`: JSON lines in and out."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO

from cli.answer import Answer
from core import clock, config
from core.errors import Failure, usage
from core.store import sqlite
from core.store.light_apsw import apsw
from core.store.migrations import COLLECTIONS
from memory import bulk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LONGEST_LINE = 16 * 1024 * 1024
_BLOCK = 1024 * 1024
_CODE = "MEMORY_INVALID_ARGS"


def import_(options: dict[str, Any]) -> Answer:
    """Take in a file of JSON lines, or stdin for `-`; bad lines are reported and the good ones kept.

    Raises:
        Failure: IMPORT_FAILED when no line was good; or what the store says.
    """
    settings = config.load()
    with _opened(options["file"]) as handle:
        db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True)
        with _progress(handle) as advance:
            report = bulk.import_lines(
                db,
                _lines(handle),
                now=clock.now_ms(),
                vectors=sqlite.load_vectors(db),
                config=settings,
                progress=advance,
            )
    if report.failed and report.failed == report.lines:
        first = report.errors[0]
        raise Failure(
            "IMPORT_FAILED",
            f"none of {report.lines} lines is a memory; line {first['line']}: {first['reason']}",
            'give one JSON object a line, such as {"text": "..."}',
        )
    return Answer(
        {"file": options["file"], **asdict(report)},
        [{"command": "joelclaw memory stats", "description": "what there is now"}],
    )


def export(options: dict[str, Any]) -> int:
    """Print every memory as a JSON line, oldest first; `memory import` takes them.

    Raises:
        Failure: MEMORY_INVALID_ARGS for an unknown collection; or what the store says.
    """
    names = [name.strip() for name in (options["collection"] or "").split(",") if name.strip()]
    for name in names:
        if name not in COLLECTIONS:
            raise usage(_CODE, f"there is no collection {name!r}", f"use some of {', '.join(COLLECTIONS)}")
    try:
        db = sqlite.open_reading()
        if db is None:
            return 0
        block = bytearray()
        for line in bulk.export_lines(db, names):
            block += line
            if len(block) >= _BLOCK:
                sys.stdout.buffer.write(block)
                block.clear()
        sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    except BrokenPipeError:
        # The reader has gone; Python would complain once more when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


@contextmanager
def _opened(where: str) -> Iterator[BinaryIO]:
    if where == "-":
        yield sys.stdin.buffer
        return
    try:
        handle = open(where, "rb")
    except OSError as error:
        raise usage(_CODE, f"{where}: {error.strerror}", "name a file of JSON lines, or - for stdin") from None
    with handle:
        yield handle


def _lines(handle: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines from 1; None for one over 16 MiB, which is skipped without being held in memory."""
    number = 0
    try:
        while line := handle.readline(_LONGEST_LINE):
            number += 1
            if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = handle.readline(_LONGEST_LINE)
                yield number, None
            else:
                yield number, line
    except OSError as error:  # a folder opens, and fails when it is read
        raise usage(_CODE, f"the input cannot be read: {error.strerror}", "name a file of JSON lines") from None


@contextmanager
def _progress(handle: BinaryIO) -> Iterator[Callable[[int], None]]:
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
