"""`joelclaw memory archive`: take in transcripts that agents left on disk, every message as an episode."""

from __future__ import annotations

import os
from typing import Any

from cli import progress
from cli.answer import Answer
from clients import registry
from core import clock, config
from core.errors import Failure, usage
from core.store import sqlite
from memory.archive import transcript_files
from session.state.state_file import identity


def run(options: dict[str, Any]) -> Answer:
    """Archive the files named, or with `--all` those that lie where the clients keep them.

    Raises:
        Failure: MEMORY_INVALID_ARGS for a path that is not there or none at all; ARCHIVE_FAILED when none of the files
            named is a transcript; or what the store says.
    """
    agent: str = options["agent"] or ""
    if not options["paths"] and not options["all"]:
        raise usage(
            "MEMORY_INVALID_ARGS",
            "no transcript is named",
            "name files or folders, or give --all for those that the clients keep",
        )
    paths = transcript_files.find(options["paths"], agent, every=options["all"])
    settings = config.load()
    db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=False)
    total = sum(os.stat(path).st_size for path in paths if os.path.isfile(path))
    with progress.in_bytes("archiving", total) as advance:
        report = transcript_files.ingest_all(
            db,
            paths,
            agent=agent,
            identity=identity,
            now=clock.now_ms(),
            vectors=sqlite.load_vectors(db),
            progress=advance,
        )
    if report.skipped and not report.transcripts and not options["all"]:
        first = report.skipped[0]
        raise Failure(
            "ARCHIVE_FAILED",
            f"none of {report.skipped_count} files could be taken in; {first['path']}: {first['reason']}",
            f"name transcripts of {', '.join(registry.KEEPING_FILES)}; --agent NAME says who wrote them",
        )
    result = {
        "transcripts": report.transcripts,
        "unchanged": report.unchanged,
        "agents": report.agents,
        "episodes": {"added": report.added, "updated": report.updated},
        "calls": report.calls,
        "bytes": report.bytes,
        "badLines": report.bad_lines,
        "subagents": report.subagents,
        "skippedCount": report.skipped_count,
        "skipped": report.skipped,
    }
    return Answer(result, [{"command": "joelclaw recall <query>", "description": "find what was said"}])
