"""Transcripts that lie on disk: telling whose they are, and ingesting many. Off the hot path."""

from __future__ import annotations

import os
import sys

import clients
from clients import content
from core import TYPE_CHECKING
from core import files as home_files
from core.errors import Failure
from core.store import documents, sqlite
from core.store import progress as stored_progress
from core.store.sqlite import fold_log
from memory.archive import ingest
from memory.archive.ingest import Ingested
from memory.archive.known_files import SUBAGENT, Archived

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    import apsw

    from memory.archive.known_files import File

_NO_LINES = "no JSON lines"
_NO_CLIENT = "no transcript of a known client"
_LASTING = (SUBAGENT, _NO_LINES, _NO_CLIENT)  # reasons for which a file is left out until it changes
_LOOK_BYTES = 256 * 1024
_LAST_LINES = 20
_BYTES_FOR_PROCESSES = 8_000_000  # from so many on, they are read in several processes: each costs 50 ms
_MOST_PROCESSES = 4
_LOOK_S = 2.0  # how often each of them looks whether its parent is there
_BUSY_MS = 60_000  # of those processes, which wait for each other


def look_at(path: str, agent: str = "") -> tuple[str, str, str]:
    """Whose transcript a file is: client, session, and the folder that it worked in, "" where it says none."""
    if "subagents" in path.split(os.sep):
        raise ingest.unreadable(path, SUBAGENT)
    first, last = _ends_of(path)
    if not first:
        raise ingest.unreadable(path, _NO_LINES)
    agent = agent or clients.detect(first) or ""
    if not agent:
        raise ingest.unreadable(path, _NO_CLIENT)
    form = clients.transcript(agent)
    if getattr(form, "is_subagents", lambda _: False)(first):
        raise ingest.unreadable(path, SUBAGENT)
    started: list[Any] = [item for entry in first for item in form.items(entry) if item["kind"] == "started"]
    session, cwd = _named(started, "session"), _named(started, "cwd") or _named(first, "cwd")
    name = os.path.splitext(os.path.basename(path))[0]
    if clients.row(agent).named_by_file:
        # A fork begins with lines of the session that it is of. Of a copy under another name the last line tells.
        lengths = [len(part) for part in name.split("-")]
        is_uuid = lengths == [8, 4, 4, 4, 12] and not name.lower().strip("0123456789abcdef-")
        is_own = is_uuid or any(entry.get("sessionId") == name for entry in first)
        session = name if is_own else _named(last[::-1], "sessionId") or session
    return agent, session or _named(first, "sessionId") or name, cwd


def _named(entries: Sequence[dict[str, Any]], name: str) -> str:
    return next((entry[name] for entry in entries if isinstance(entry.get(name), str) and entry[name]), "")


def _ends_of(path: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The objects in the first lines of a file, and in the last ones."""
    try:
        descriptor = ingest.opened(path)
        try:
            first = ingest.read(descriptor, 0, _LOOK_BYTES)[0]
            behind = max(0, os.fstat(descriptor).st_size - _LOOK_BYTES)
            last = os.pread(descriptor, _LOOK_BYTES, behind).split(b"\n")[-_LAST_LINES:]
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise ingest.unreadable(path, error) from None
    parsed = ([content.parsed(line) for line in lines] for lines in (first, last))
    heads, tails = ([entry for entry in entries if entry is not None] for entries in parsed)
    return heads, tails


def ingest_all(
    db: apsw.Connection, files: Sequence[File], *, agent: str = "", identity: Callable[[str], str], now: int,
    vectors: bool, progress: Callable[[int], None] = lambda _: None,
    note: Callable[[File, str, str], None] = lambda *_: None,
) -> Archived:  # fmt: skip
    """Archive each file to its end. Idempotent; what was stored stays when it is stopped, and the next run goes on."""

    def work(db: apsw.Connection, file: File, progress: Callable[[int], None] = lambda _: None) -> Ingested:
        try:
            writer, session, cwd = look_at(file.path, agent)
            if home_files.has_switches():
                from core import switches

                if switches.is_excluded(switches.load()[0], cwd):
                    return Ingested()
            done = ingest.ingest_file(
                db, file.path, agent=writer, session=identity(session), cwd=cwd, now=now, vectors=vectors,
                progress=progress,
            )  # fmt: skip
        except Failure as failure:
            if failure.code != "TRANSCRIPT_UNREADABLE":
                raise
            return Ingested(reason=failure.message.removeprefix(f"{file.path}: "))
        done.items = []  # they would be handed from process to process
        return done

    report = Archived()
    for file, result in _results(db, files, work, vectors, progress):
        if result.client:
            report.take(result.client, result)
        else:
            report.leave_out(file.path, result.reason)
        if result.client or result.reason in _LASTING:
            note(file, result.client, result.reason)
    stored_progress.renew_due_segments(db)
    if report.result["episodes"]["added"] >= documents.MERGE_AFTER:
        from core.store import store_file

        store_file.merge(db, "lexicon")
    fold_log(db, over=0)
    return report


def _results(
    db: apsw.Connection, files: Sequence[File], work: Callable[..., Ingested], vectors: bool,
    progress: Callable[[int], None],
) -> Iterator[tuple[File, Ingested]]:  # fmt: skip
    """What became of each file: one after another, or, of many bytes, in a few forked processes beside each other."""
    # macOS's own libraries do not bear a fork
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    count = min(processors, _MOST_PROCESSES, len(files))
    if count < 2 or sum(file.size for file in files) < _BYTES_FOR_PROCESSES:
        for file in files:
            result = work(db, file, progress)
            progress(max(0, file.size - result.bytes))
            yield file, result
        return
    from multiprocessing import get_context

    with get_context("fork").Pool(count, _begin, (work, vectors)) as pool:
        for file, found in pool.imap_unordered(_do, files):
            if isinstance(found, tuple):
                raise Failure(*found)
            progress(file.size)
            yield file, found


_own: list[Any] = []  # of a forked process: what it does with a file, and its own connection


def _begin(work: Callable[..., Ingested], vectors: bool) -> None:
    import signal

    parent = os.getppid()
    signal.signal(signal.SIGALRM, lambda *_: os.getppid() == parent or os._exit(1))  # a parent that was killed
    signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    db = sqlite.open_writing(busy_ms=_BUSY_MS, durable=False)
    if vectors:
        sqlite.load_vectors(db)
    _own[:] = [work, db]


def _do(file: File) -> tuple[File, Ingested | tuple[str, str, str]]:
    work, db = _own
    try:
        return file, work(db, file)
    except Failure as failure:  # its pickle would lack all but the message
        return file, (failure.code, failure.message, failure.fix)
