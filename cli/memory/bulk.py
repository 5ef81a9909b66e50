"""`joelclaw memory import`, `export` and `index`: many memories at once."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cli import line_file, progress
from cli.answer import Answer, step, write_bytes
from cli.recall.search import collections
from core import clock, config
from core.errors import Failure
from core.store import sqlite
from core.store.sqlite import apsw
from memory import import_export
from recall import index as contextual_index

_LONGEST_LINE = 16 * 1024 * 1024
_BLOCK = 256 * 1024
_CODE = "MEMORY_INVALID_ARGS"
_HOLDS = "JSON lines"


def import_(options: dict[str, Any]) -> Answer:
    """Take in a file of JSON lines, or stdin for `-`; bad lines are reported and the good ones kept.

    Raises:
        Failure: IMPORT_FAILED when no line was good; or what the store says.
    """
    settings = config.load()
    holding = line_file.numbered(options["file"], longest=_LONGEST_LINE, code=_CODE, holds=_HOLDS)
    with holding as (lines, advance):
        db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True)
        report = import_export.import_lines(
            db,
            lines,
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
    """Print every memory as a JSON line, oldest first; `memory import` takes them. Holds a block of them at a time.

    Ends early where nobody reads on.

    Raises:
        Failure: MEMORY_INVALID_ARGS for an unknown collection; or what the store says.
    """
    names = collections(options["collection"] or "", _CODE)
    try:
        db = sqlite.open_reading()
        if db is None:
            return 0
        block = bytearray()
        most = 0  # who reads along gets the first line at once
        for line in import_export.export_lines(db, names):
            block += line
            if len(block) >= most:
                if not write_bytes(block):
                    return 0
                block.clear()
                most = _BLOCK
        write_bytes(block)
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    return 0


def index(options: dict[str, Any]) -> Answer:
    """Embed what lacks a contextual vector. Ctrl-C loses nothing that was stored; the next run goes on.

    Raises:
        Failure: CAPABILITY_NOT_CONFIGURED without the extra `contextual`; INDEX_BUSY; or what the store says.
    """
    contextual_index.require()
    settings = config.load()
    with contextual_index.alone() as in_background:
        # The vectors can be made again: no commit needs to wait for the disk.
        db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=False)
        if in_background:
            done = contextual_index.index_all(db)
        else:
            with progress.in_items("embedding") as (started, advance):
                done = contextual_index.index(
                    db, limit=options["limit"], budget_s=options["budget_seconds"], started=started, progress=advance
                )
    more = step("joelclaw memory index", "embed the remaining ones")
    deep = step("joelclaw recall <query> --budget deep", "recall by meaning")
    return Answer(asdict(done), [more if done.remaining else deep])
