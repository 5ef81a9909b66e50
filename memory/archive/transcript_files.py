"""Transcripts that lie on disk: finding them, telling whose they are, and ingesting many. Off the hot path."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clients import registry
from core import json_text
from core.errors import Failure, usage
from core.store import documents, segments, sqlite
from memory.archive import ingest, transcript_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import apsw

MOST_LISTED = 20
_STEP_BYTES = 4_000_000
_LOOK_BYTES = 256 * 1024
_UNREADABLE = "TRANSCRIPT_UNREADABLE"


class NotATranscriptError(ValueError):
    """A file is not ingested; the message says why."""


class SubagentError(NotATranscriptError):
    """It is what a client's helper did on its own."""


@dataclass(frozen=True)
class Transcript:
    """A file whose client and session are known; `cwd` is the folder the session worked in, "" where it says none."""

    path: str
    agent: str
    session: str
    cwd: str


@dataclass
class Archived:
    """What became of the files."""

    transcripts: int = 0
    unchanged: int = 0
    added: int = 0
    updated: int = 0
    calls: int = 0
    bytes: int = 0
    bad_lines: int = 0
    subagents: int = 0
    agents: dict[str, int] = field(default_factory=dict)
    skipped_count: int = 0
    skipped: list[dict[str, str]] = field(default_factory=list)

    def skip(self, path: str, reason: str) -> None:
        """Count a file that was left out; the first MOST_LISTED are listed with their reason."""
        self.skipped_count += 1
        if len(self.skipped) < MOST_LISTED:
            self.skipped.append({"path": path, "reason": reason})


def find(given: Iterable[str], agent: str, *, every: bool) -> list[str]:
    """The transcripts that a call means, the one that was changed last first: who stops early has what is fresh.

    Args:
        given: files, and folders of which every `.jsonl` file counts.
        agent: with `every`, the only client whose transcripts are meant; "" for all clients.
        every: also those that lie where the clients keep them.

    Raises:
        Failure: MEMORY_INVALID_ARGS for a path that is not there.
    """
    found = _of_clients([agent] if agent else registry.KEEPING_FILES) if every else []
    for path in given:
        if os.path.isdir(path):
            found += _matching(Path(path), "**/*.jsonl")
        elif os.path.exists(path):
            found.append(path)
        else:
            raise usage("MEMORY_INVALID_ARGS", f"there is no {path}", "name a transcript, or a folder of transcripts")
    return sorted({os.path.realpath(path): path for path in found}.values(), key=_changed_at, reverse=True)


def _of_clients(agents: Iterable[str]) -> list[str]:
    found: list[str] = []
    for agent in agents:
        settings = registry.row(agent).settings()
        found += _matching(Path(settings.home()), settings.transcripts)
    return found


def _matching(folder: Path, pattern: str) -> list[str]:
    try:
        return [str(path) for path in folder.glob(pattern) if path.is_file()]
    except OSError:
        return []


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def look_at(path: str, agent: str = "") -> Transcript:
    """Whose transcript a file is.

    Args:
        agent: who wrote it, where that is known.

    Raises:
        SubagentError: it is that of a subagent.
        NotATranscriptError: no known client wrote it, or it cannot be read.
    """
    if "subagents" in Path(path).parts:
        raise SubagentError("a subagent's transcript")
    entries = _first_entries(path)
    if not entries:
        raise NotATranscriptError("no JSON lines")
    agent = agent or registry.detect(entries) or ""
    if not agent:
        raise NotATranscriptError("no transcript of a known client")
    form = registry.transcript(agent)
    is_subagents = getattr(form, "is_subagents", None)
    if is_subagents is not None and is_subagents(entries):
        raise SubagentError("a subagent's transcript")
    session, cwd = "", ""
    for entry in entries:
        for item in form.items(entry):
            if item["kind"] == "started":
                session, cwd = session or item["session"], cwd or item["cwd"]
    if registry.row(agent).named_by_file:
        session = Path(path).stem
    return Transcript(
        path, agent, session or _named(entries, "sessionId") or Path(path).stem, cwd or _named(entries, "cwd")
    )


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
        raise NotATranscriptError(getattr(error, "strerror", None) or str(error)) from None
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
    paths: Sequence[str],
    *,
    agent: str = "",
    identity: Callable[[str], str],
    now: int,
    vectors: bool,
    progress: Callable[[int], None] = lambda _: None,
) -> Archived:
    """Archive each file to its end. Idempotent; what was stored stays when it is stopped, and the next run goes on.

    Args:
        agent: who wrote them, where that is known; else each file is looked at.
        identity: the id under which a session is kept.
        progress: called with the number of bytes that are done.

    Raises:
        Failure: what the store says.
    """
    report = Archived()
    for path in paths:
        try:
            transcript = look_at(path, agent)
        except SubagentError:
            report.subagents += 1
        except NotATranscriptError as reason:
            report.skip(path, str(reason))
        else:
            try:
                _ingest(db, transcript, identity(transcript.session), now, vectors, report, progress)
                continue
            except Failure as failure:
                if failure.code != _UNREADABLE:
                    raise
                report.skip(path, failure.message.removeprefix(f"{path}: "))
        progress(_size(path))
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
    report.transcripts += 1
    report.agents[transcript.agent] = report.agents.get(transcript.agent, 0) + 1
    report.bytes += read_bytes
    report.unchanged += not read_bytes


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
