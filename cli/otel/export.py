"""`joelclaw otel export` (once, on and on, in the background of other commands, or into a file) and `otel import`."""

import os
from dataclasses import asdict
from typing import Any

from cli import bulk
from cli.answer import Answer, quoted, step, write_json
from core import clock, config, files, home_files
from core.errors import Failure, usage
from core.process import background_process
from core.store import sqlite
from otel import unstored
from otel.otlp import export

_LONGEST_LINE = 64 * 1024 * 1024
_STATUS = step("joelclaw otel export --status", "what is pending, and how the last attempts went")


def run(options: dict[str, Any]) -> Answer | int:
    """Send what waits, or what else the flags ask for."""
    background = background_process.stop_in_time()
    if options["status"] and options["to"] is not None:
        raise usage("OTEL_INVALID_ARGS", "--status and --to cannot be used together", "give one of them")
    settings = config.load()
    if options["status"]:
        about = export.status(sqlite.open_reading(), settings)
        return Answer(about, [step("joelclaw otel export", "send pending events now")])
    if options["to"] is not None:
        return _into_file(options["to"])
    if background:
        export.run_in_background(settings)
        return 0
    done = export.run(settings)
    return Answer({"disabled": done is None, "destinations": done or []}, [_STATUS])


def _into_file(where: str) -> Answer | int:
    from otel.otlp import json_lines

    unstored.store_waiting()
    db = sqlite.open_reading()
    if where == "-":
        for _, line in json_lines.every_line(db):
            if not write_json(line.decode().rstrip("\n")):
                break
        return 0
    path = os.path.abspath(where)
    if home_files.is_in_home(path, files.home()):
        raise Failure(export.FAILED, f"{where} is one of joelclaw's own files", "name a file outside it")
    try:
        written = json_lines.write_file(db, path)
    except OSError as error:
        fix = "name a file in a folder that can be written"
        raise Failure(export.FAILED, f"{where}: {error.strerror}", fix) from None
    again = step(f"joelclaw otel import {quoted(path)}", "import them into another home")
    return Answer({"file": path, **written}, [again])


def import_(options: dict[str, Any]) -> Answer:
    """Take in log records from a file of OTLP/JSON lines, or stdin for `-`; bad lines are reported, good ones kept."""
    from otel.otlp import json_lines

    settings = config.load()
    holding = bulk.numbered(options["file"], longest=_LONGEST_LINE, code="OTEL_INVALID_ARGS", holds="OTLP/JSON lines")
    with holding as (lines, advance):
        db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=True)
        report = json_lines.import_lines(db, lines, now=clock.now_ms(), progress=advance)
    if report.failed and not report.records and not report.others:
        first = report.errors[0]
        about = f"none of {report.lines} lines is OTLP/JSON; line {first['line']}: {first['reason']}"
        fix = 'give one {"resourceLogs": [...]} a line, as a collector\'s file exporter writes it'
        raise Failure("OTEL_IMPORT_FAILED", about, fix)
    return Answer({"file": options["file"], **asdict(report)}, [step("joelclaw otel stats", "what there is now")])
