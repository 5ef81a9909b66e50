"""`joelclaw memory archive`: take in transcripts that agents left on disk, every message as an episode."""

from __future__ import annotations

import clients
from cli.answer import Answer, step
from cli.stdout import tell
from core import TYPE_CHECKING, clock, config
from core.errors import Failure, usage
from core.store import sqlite
from memory.archive import transcript_files
from memory.archive.transcript_files import Archived, KnownFiles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from memory.archive.transcript_files import File


def run(options: dict[str, Any]) -> Answer:
    """Archive the files named, or those that the clients keep; one that the archive has as it is is not opened."""
    agent: str = options["agent"] or ""
    if not options["paths"] and not options["all"]:
        if agent:
            fix = "name files or folders, or give --all for those that the clients keep"
            raise usage("MEMORY_INVALID_ARGS", "no transcript is named", fix)
        from cli.memory import past_sessions

        return past_sessions.offered(run)
    now = clock.now_ms()
    files = transcript_files.find(options["paths"], agent, every=options["all"])
    if options["paths"] and not files:
        raise _refused(f"there is no transcript in {options['paths'][0]}")
    known = KnownFiles(sqlite.open_reading(), agent, now)
    seen = [(file, known.of(file)) for file in files]
    new = [file for file, one in seen if one is None]
    report = _archived(new, known, agent, files if options["all"] and not agent else None) if new else Archived()
    for file, one in seen:
        if one is not None and one["client"]:
            report.take(one["client"])
        elif one is not None:
            report.leave_out(file.path, one["reason"])
    result = report.result
    if result["skipped"] and not result["transcripts"] and not options["all"]:
        first = result["skipped"][0]
        about = f"none of {result['skippedCount']} files could be archived; {first['path']}: {first['reason']}"
        raise _refused(about)
    actions = []
    if report.has_new:
        from cli.memory import past_sessions

        actions = past_sessions.questions()
    return Answer(result, actions or [step("joelclaw recall <query>", "find what was said")])


def _refused(about: str) -> Failure:
    fix = f"name transcripts of {', '.join(clients.keeping_files())}, not packed; --agent NAME says who wrote them"
    return Failure("ARCHIVE_FAILED", about, fix)


def _archived(new: Sequence[File], known: KnownFiles, agent: str, every: Sequence[File] | None) -> Archived:
    """Take in files that are new or have changed; `every` file that there is, where that is known."""
    from cli import bulk
    from session.state import stored_id

    db = sqlite.open_writing(busy_ms=config.load().get_int("store.busy_ms"), durable=False)
    try:
        with bulk.bar("archiving", sum(file.size for file in new), in_bytes=True) as (_, advance):
            report = transcript_files.ingest_all(db, new, stored_id, agent=agent, progress=advance, note=known.note)
    except KeyboardInterrupt:
        tell(f"stopped: {known.noted} of {len(new)} session files archived; run it again to go on\n")
        raise
    known.save(db, every)
    return report
