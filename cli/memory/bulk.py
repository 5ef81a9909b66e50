"""`joelclaw memory import` and `export`: many memories at once."""

from itertools import islice
from typing import Any

from cli import bulk
from cli.answer import Answer, quoted, step
from cli.recall.search import collections
from cli.stdout import write_bytes
from core import clock, config
from core.errors import FAILED, Failure, usage
from core.store import sqlite
from memory import transfer

_LONGEST_LINE = 16 * 1024 * 1024
_BLOCK = 500  # memories that are held, and printed, at once
_CODE = "MEMORY_INVALID_ARGS"


def import_(options: dict[str, Any]) -> Answer:
    """Take in a file, or stdin for `-`; bad lines are reported and the good ones kept. `--preview` stores nothing."""
    file, form, preview = options["file"], options["format"], options["preview"]
    if form == "auto":
        form = transfer.LINES if file == "-" else transfer.detect_format(file)
    is_ours = form == transfer.LINES
    about = {"preview": preview, "now": clock.now_ms(), "config": config.load()}
    if is_ours:
        with bulk.numbered(file, longest=_LONGEST_LINE, code=_CODE, holds="JSON lines") as (lines, advance):
            report = transfer.import_lines(lines, **about, progress=advance)
    elif file == "-":
        raise usage(_CODE, f"{form} is read from a file", "name the file; stdin takes only joelclaw's own JSON lines")
    else:
        with bulk.bar("importing") as (_, advance):
            report = transfer.import_markdown(file, **about, progress=advance)
    if is_ours and 0 < report["failed"] == report["lines"]:
        first = report["errors"][0]
        message = f"none of {report['lines']} lines is a memory; line {first['line']}: {first['reason']}"
        raise Failure("IMPORT_FAILED", message, 'give one JSON object a line, such as {"text": "..."}')
    if not is_ours and not report["items"]:
        why = "".join(f": {one['where']}: {one['reason']}" for one in report["leftOut"][:1])
        message = f"nothing in {file} can be imported as {form}{why}"
        raise Failure("IMPORT_FAILED", message, "name its format with --format")
    following = step(
        "joelclaw memory list --all" if is_ours else "joelclaw memory list --source import", "what there is"
    )
    if preview:
        following = step(f"joelclaw memory import {quoted(file)} --format {form}", "import it")
    if preview or not (is_ours and report["failed"]):
        return Answer({"file": file, **report}, [following])
    bad = ", ".join(str(one["line"]) for one in report["errors"]) + ", …" * (report["failed"] > len(report["errors"]))
    said = f"{report['failed']} of {report['lines']} lines were left out (line {bad}); the others are stored."
    return Answer({"file": file, **report}, [following], exit_code=FAILED, said=said)


def export(options: dict[str, Any]) -> int:
    """Print every memory as a JSON line, oldest first, a block of them at a time; ends where nobody reads on."""
    names = collections(options["collection"] or "", _CODE)
    db = sqlite.open_reading()
    lines = transfer.export_lines(db, names) if db is not None else iter(())
    while block := list(islice(lines, _BLOCK)):
        if not write_bytes(b"".join(block)):
            return 0
    return 0
