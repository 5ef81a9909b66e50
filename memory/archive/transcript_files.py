"""Transcripts that lie on disk: telling whose they are, and ingesting many. Imports nothing dear."""

from __future__ import annotations

import os

from clients import registry
from core import json_text
from core.errors import Failure
from core.repository import switches
from core.store import documents, sqlite
from core.store.sessions import segments
from memory.archive import ingest, transcript_lines
from memory.archive.known_files import SUBAGENT, Archived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    import apsw

    from memory.archive.known_files import File

_STEP_BYTES = 4_000_000
_LOOK_BYTES = 256 * 1024
_LAST_LINES = 20
_UNREADABLE = "TRANSCRIPT_UNREADABLE"


class NotATranscriptError(ValueError):
    """A file is not ingested; the message says why."""


class SubagentError(NotATranscriptError):
    """It is what a client's helper did on its own."""


class UnreadableError(NotATranscriptError):
    """It cannot be read."""


class Transcript:
    """A file whose client and session are known; `cwd` is the folder the session worked in, "" where it says none."""

    __slots__ = ("agent", "cwd", "path", "session")

    def __init__(self, path: str, agent: str, session: str, cwd: str) -> None:
        self.path = path
        self.agent = agent
        self.session = session
        self.cwd = cwd


def look_at(path: str, agent: str = "") -> Transcript:
    """Whose transcript a file is.

    Args:
        agent: who wrote it, where that is known.

    Raises:
        SubagentError: it is that of a subagent.
        UnreadableError: it cannot be read.
        NotATranscriptError: no known client wrote it.
    """
    if "subagents" in path.split(os.sep):
        raise SubagentError(SUBAGENT)
    entries = _first_entries(path)
    if not entries:
        raise NotATranscriptError("no JSON lines")
    agent = agent or registry.detect(entries) or ""
    if not agent:
        raise NotATranscriptError("no transcript of a known client")
    form = registry.transcript(agent)
    is_subagents = getattr(form, "is_subagents", None)
    if is_subagents is not None and is_subagents(entries):
        raise SubagentError(SUBAGENT)
    session, cwd = "", ""
    for entry in entries:
        for item in form.items(entry):
            if item["kind"] == "started":
                session, cwd = session or item["session"], cwd or item["cwd"]
    if registry.row(agent).named_by_file:
        session = _of_lines(path, entries) or session
    return Transcript(
        path, agent, session or _named(entries, "sessionId") or _stem(path), cwd or _named(entries, "cwd")
    )


def _of_lines(path: str, entries: Sequence[dict[str, Any]]) -> str:
    """The session of a file whose client names it by the session, whatever it is called now.

    A fork begins with lines of the session that it is of, and names itself in those that it adds: the file's name holds
    where a line says it, and where it is one that the client gives and nothing was added yet. Of a copy under a name of
    somebody's, the last line tells.
    """
    name = _stem(path)
    if _is_uuid(name) or any(entry.get("sessionId") == name for entry in entries):
        return name
    return _named(_last_entries(path)[::-1], "sessionId") or _named(entries[::-1], "sessionId") or name


def _is_uuid(name: str) -> bool:
    parts = name.lower().split("-")
    return [len(part) for part in parts] == [8, 4, 4, 4, 12] and not "".join(parts).strip("0123456789abcdef")


def _last_entries(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOOK_BYTES))
            lines = file.read(_LOOK_BYTES).split(b"\n")[-_LAST_LINES:]
    except OSError:
        return []
    return _parsed(lines)


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _named(entries: Sequence[dict[str, Any]], name: str) -> str:
    return next((entry[name] for entry in entries if isinstance(entry.get(name), str) and entry[name]), "")


def _first_entries(path: str) -> list[dict[str, Any]]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            lines = transcript_lines.read(descriptor, 0, _LOOK_BYTES, skipping=False)["lines"]
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise UnreadableError(getattr(error, "strerror", None) or str(error)) from None
    return _parsed(lines)


def _parsed(lines: Iterable[bytes | str]) -> list[dict[str, Any]]:
    entries = []
    for line in lines:
        try:
            entry = json_text.loads(line)
        except json_text.InvalidJSON:
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    return entries


def ingest_all(
    db: apsw.Connection,
    files: Iterable[File],
    *,
    agent: str = "",
    identity: Callable[[str], str],
    now: int,
    vectors: bool,
    progress: Callable[[int], None] = lambda _: None,
    note: Callable[[File, str, str], None] = lambda *_: None,
) -> Archived:
    """Archive each file to its end. Idempotent; what was stored stays when it is stopped, and the next run goes on.

    Args:
        agent: who wrote them, where that is known; else each file is looked at.
        identity: the id under which a session is kept.
        progress: called with the number of bytes that are done.
        note: called for each file of which nothing is left: with its client, or "" and the reason why it was left out.

    Raises:
        Failure: what the store says.
    """
    report = Archived()
    switched = switches.sound()[0]
    for file in files:
        try:
            transcript = look_at(file.path, agent)
        except UnreadableError as reason:  # it may be readable the next time
            report.leave_out(file.path, str(reason))
        except NotATranscriptError as reason:
            report.leave_out(file.path, str(reason))
            note(file, "", str(reason))
        else:
            if switches.is_excluded(switched, transcript.cwd):  # looked at again: the folder may not stay excluded
                report.excluded += 1
                progress(file.size)
                continue
            try:
                _ingest(db, transcript, identity(transcript.session), now, vectors, report, progress)
                note(file, transcript.agent, "")
                continue
            except Failure as failure:
                if failure.code != _UNREADABLE:
                    raise
                report.leave_out(file.path, failure.message.removeprefix(f"{file.path}: "))
        progress(file.size)
    segments.catch_up(db)
    if report.added >= documents.MERGE_AFTER:
        documents.merge_index(db)
    sqlite.fold_log(db, over=0)
    return report


def _ingest(
    db: apsw.Connection,
    transcript: Transcript,
    session: str,
    now: int,
    vectors: bool,
    report: Archived,
    progress: Callable[[int], None],
) -> None:
    """One file to its end, in steps of `_STEP_BYTES`."""
    done = read_bytes = 0
    complete = False
    while not complete:
        step = ingest.ingest_file(
            db,
            transcript.path,
            agent=transcript.agent,
            session=session,
            cwd=transcript.cwd,
            now=now,
            vectors=vectors,
            most_bytes=_STEP_BYTES,
        )
        complete = step["complete"]
        read_bytes += step["bytes"]
        report.added += step["added"]
        report.updated += step["updated"]
        report.calls += step["calls"]
        report.bad_lines += step["skipped"]
        reached = step["size"] if complete else step["offset"]
        progress(reached - done)
        done = reached
    report.take(transcript.agent, unchanged=not read_bytes)
    report.bytes += read_bytes
