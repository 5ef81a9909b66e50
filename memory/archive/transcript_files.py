"""Transcripts that already lie on disk: where each client keeps them, whose they are, and taking them in.

Off the hot path.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clients import formats
from core import json_text
from core.errors import Failure
from core.store import lexical_index, sqlite
from memory.archive import ingest, transcript_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import apsw

    from core.config import Config

AGENTS = formats.AGENTS
MOST_TOLD = 20
_STEP_BYTES = 4_000_000
_LOOK_BYTES = 256 * 1024
_UNREADABLE = "TRANSCRIPT_UNREADABLE"


class NotATranscriptError(ValueError):
    """A file is not taken in; the message says why."""


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
    bytes: int = 0
    bad_lines: int = 0
    subagents: int = 0
    agents: dict[str, int] = field(default_factory=dict)
    skipped_count: int = 0
    skipped: list[dict[str, str]] = field(default_factory=list)

    def skip(self, path: str, reason: str) -> None:
        """Note a file that was left out; the first MOST_TOLD are told one by one."""
        self.skipped_count += 1
        if len(self.skipped) < MOST_TOLD:
            self.skipped.append({"path": path, "reason": reason})


def on_disk(environment: Mapping[str, str], agents: Iterable[str] = AGENTS) -> list[str]:
    """Every transcript where its client keeps it, the one that was changed last first."""
    home = Path(environment.get("HOME") or Path.home())

    def folder(variable: str, default: str) -> Path:
        return Path(environment[variable]) if environment.get(variable) else home / default

    places = {
        "claude": (folder("CLAUDE_CONFIG_DIR", ".claude") / "projects", "**/*.jsonl"),
        "pi": (folder("PI_CODING_AGENT_DIR", ".pi/agent") / "sessions", "**/*.jsonl"),
        "codex": (folder("CODEX_HOME", ".codex") / "sessions", "**/rollout-*.jsonl"),
        "gemini": (home / ".gemini" / "tmp", "*/chats/*.jsonl"),
    }
    found = [str(path) for agent in agents if agent in places for path in _matching(*places[agent])]
    return newest_first(found)


def below(folder: str) -> list[str]:
    """Every `.jsonl` file below a folder."""
    return [str(path) for path in _matching(Path(folder), "**/*.jsonl")]


def newest_first(paths: Iterable[str]) -> list[str]:
    """Each file once, the one that was changed last first: who stops early has what is fresh."""
    return sorted({os.path.realpath(path): path for path in paths}.values(), key=_changed_at, reverse=True)


def _matching(folder: Path, pattern: str) -> list[Path]:
    try:
        return [path for path in folder.glob(pattern) if path.is_file()]
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
    agent = agent or formats.detect(entries) or ""
    if not agent:
        raise NotATranscriptError("no transcript of a known client")
    marks = [entry["isSidechain"] for entry in entries if "isSidechain" in entry]
    if agent == "claude" and marks and all(marks):
        raise SubagentError("a subagent's transcript")
    session, cwd = "", ""
    parse = formats.of(agent).items
    for entry in entries:
        for item in parse(entry):
            if item["kind"] == "started":
                session, cwd = session or item["session"], cwd or item["cwd"]
    if agent == "claude":
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


def take_all(
    db: apsw.Connection,
    paths: Sequence[str],
    *,
    agent: str = "",
    identity: Callable[[str], str],
    project_of: Callable[[str], str],
    now: int,
    vectors: bool,
    config: Config,
    progress: Callable[[int], None],
) -> Archived:
    """Archive each file to its end. Idempotent; what was stored stays when it is stopped, and the next run goes on.

    Args:
        agent: who wrote them, where that is known; else each file is looked at.
        identity: the id under which a session is kept.
        project_of: the project of a folder that a session worked in.
        progress: told how many bytes of the files are done with.

    Raises:
        Failure: what the store says.
    """
    report = Archived()
    for path in paths:
        try:
            found = look_at(path, agent)
        except SubagentError:
            report.subagents += 1
        except NotATranscriptError as reason:
            report.skip(path, str(reason))
        else:
            try:
                _take(db, found, identity(found.session), project_of(found.cwd), now, vectors, config, report, progress)
                continue
            except Failure as failure:
                if failure.code != _UNREADABLE:
                    raise
                report.skip(path, failure.message.removeprefix(f"{path}: "))
        progress(_size(path))
    if report.added >= lexical_index.WORTH:
        lexical_index.merge(db)
    sqlite.fold_log(db, over=0)
    return report


def _take(
    db: apsw.Connection,
    found: Transcript,
    session: str,
    project: str,
    now: int,
    vectors: bool,
    config: Config,
    report: Archived,
    progress: Callable[[int], None],
) -> None:
    done = taken_bytes = 0
    complete = False
    while not complete:
        taken = ingest.take_file(
            db,
            found.path,
            agent=found.agent,
            session=session,
            project=project,
            now=now,
            vectors=vectors,
            config=config,
            most_bytes=_STEP_BYTES,
        )
        complete = taken["complete"]
        taken_bytes += taken["bytes"]
        report.added += taken["added"]
        report.updated += taken["updated"]
        report.bad_lines += taken["skipped"]
        reached = taken["size"] if complete else taken["offset"]
        progress(reached - done)
        done = reached
    report.transcripts += 1
    report.agents[found.agent] = report.agents.get(found.agent, 0) + 1
    report.bytes += taken_bytes
    report.unchanged += not taken_bytes


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
