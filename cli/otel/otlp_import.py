"""`joelclaw otel import`: log records from OTLP/JSON lines, with a progress bar on a terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cli import line_file
from cli.answer import Answer, step
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
    holding = line_file.numbered(options["file"], longest=_LONGEST_LINE, code=_CODE, holds=_HOLDS)
    with holding as (lines, advance):
        db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True)
        report = importer.import_lines(
            db,
            lines,
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
        [step("joelclaw otel stats", "what there is now")],
    )
