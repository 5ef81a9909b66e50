"""`joelclaw otel import`: log records from OTLP/JSON lines, with a progress bar on a terminal."""

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
from otel import otlp_import

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LONGEST_LINE = 64 * 1024 * 1024
_CODE = "OTEL_INVALID_ARGS"


def run(options: dict[str, Any]) -> Answer:
    """Take in a file, or stdin for `-`; bad lines are reported and the good ones kept.

    Raises:
        Failure: OTEL_IMPORT_FAILED when no line was good; OTEL_INVALID_ARGS for a file that cannot be read; or what the
            store says.
    """
    settings = config.load()
    with _opened(options["file"]) as handle:
        db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True)
        with _progress(handle) as advance:
            report = otlp_import.take(db, _lines(handle), now=clock.now_ms(), progress=advance)
    if report.failed and not report.records and not report.others:
        first = report.errors[0]
        raise Failure(
            "OTEL_IMPORT_FAILED",
            f"none of {report.lines} lines is OTLP/JSON; line {first['line']}: {first['reason']}",
            'give one {"resourceLogs": [...]} a line, as a collector\'s file exporter writes it',
        )
    return Answer(
        {"file": options["file"], **asdict(report)},
        [{"command": "joelclaw otel stats", "description": "what there is now"}],
    )


@contextmanager
def _opened(where: str) -> Iterator[BinaryIO]:
    if where == "-":
        yield sys.stdin.buffer
        return
    try:
        handle = open(where, "rb")
    except OSError as error:
        raise usage(_CODE, f"{where}: {error.strerror}", "name a file of OTLP/JSON lines, or - for stdin") from None
    with handle:
        yield handle


def _lines(handle: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines from 1; None for one over 64 MiB, which is skipped without being held in memory."""
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
        raise usage(_CODE, f"the input cannot be read: {error.strerror}", "name a file of OTLP/JSON lines") from None


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
