"""`joelclaw memory archive`: take in transcripts that agents left on disk, every message as an episode."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cli.answer import Answer
from core import clock, config
from core.errors import Failure, usage
from core.store import sqlite
from memory.archive import transcript_files
from session.state.state_file import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_CODE = "MEMORY_INVALID_ARGS"


def run(options: dict[str, Any]) -> Answer:
    """Archive the files named, or with `--all` those that lie where the clients keep them.

    Raises:
        Failure: MEMORY_INVALID_ARGS for a path that is not there or none at all; ARCHIVE_FAILED when none of the files
            named is a transcript; or what the store says.
    """
    agent: str = options["agent"] or ""
    paths = _paths(options["paths"], agent, every=options["all"])
    settings = config.load()
    db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=False)
    with _progress(paths) as advance:
        report = transcript_files.take_all(
            db,
            paths,
            agent=agent,
            identity=identity,
            project_of=lambda cwd: os.path.basename(cwd.rstrip("/")),
            now=clock.now_ms(),
            vectors=sqlite.load_vectors(db),
            config=settings,
            progress=advance,
        )
    if report.skipped and not report.transcripts and not options["all"]:
        first = report.skipped[0]
        raise Failure(
            "ARCHIVE_FAILED",
            f"none of {report.skipped_count} files could be taken in; {first['path']}: {first['reason']}",
            f"name transcripts of {', '.join(transcript_files.AGENTS)}; --agent NAME says who wrote them",
        )
    result = {
        "transcripts": report.transcripts,
        "unchanged": report.unchanged,
        "agents": report.agents,
        "episodes": {"added": report.added, "updated": report.updated},
        "bytes": report.bytes,
        "badLines": report.bad_lines,
        "subagents": report.subagents,
        "skippedCount": report.skipped_count,
        "skipped": report.skipped,
    }
    return Answer(result, [{"command": "joelclaw recall <query>", "description": "find what was said"}])


def _paths(given: Sequence[str], agent: str, *, every: bool) -> list[str]:
    if not given and not every:
        raise usage(
            _CODE, "no transcript is named", "name files or folders, or give --all for those that the clients keep"
        )
    found = transcript_files.on_disk(os.environ, [agent] if agent else transcript_files.AGENTS) if every else []
    for path in given:
        if os.path.isdir(path):
            found += transcript_files.below(path)
        elif os.path.exists(path):
            found.append(path)
        else:
            raise usage(_CODE, f"there is no {path}", "name a transcript, or a folder of transcripts")
    return transcript_files.newest_first(found)


@contextmanager
def _progress(paths: Sequence[str]) -> Iterator[Callable[[int], None]]:
    """A bar on stderr where that is a terminal, in bytes; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    total = sum(os.stat(path).st_size for path in paths if os.path.isfile(path))
    columns = (TextColumn("archiving"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("archive", total=total)
        yield lambda taken: bar.advance(task, taken)
