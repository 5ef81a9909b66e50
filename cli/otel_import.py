"""`joelclaw otel import`: log records from OTLP/JSON lines, with a progress bar on a terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cli import line_file, progress
from cli.answer import Answer
from core import clock, config
from core.errors import Failure
from core.store import sqlite
from otel.otlp import importer

_LONGEST_LINE = 64 * 1024 * 1024
_CODE = "OTEL_INVALID_ARGS"
_HOLDS = "OTLP/JSON lines"


def run(options: dict[str, Any]) -> Answer:
    """Take in a file, or stdin for `-`; bad lines are reported and the good ones kept.

    Raises:
        Failure: OTEL_IMPORT_FAILED when no line was good; OTEL_INVALID_ARGS for a file that cannot be read; or what the
            store says.
    """
    settings = config.load()
    with line_file.opened(options["file"], code=_CODE, holds=_HOLDS) as handle:
        db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True)
        with progress.in_bytes("importing", line_file.size(handle)) as advance:
            report = importer.import_lines(
                db,
                line_file.lines(handle, longest=_LONGEST_LINE, code=_CODE, holds=_HOLDS),
                now=clock.now_ms(),
                progress=advance,
            )
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
