"""The files of transcripts: found with one look at each, and told whether the archive has them as they are.

A file is not opened whose size, times of change and number in the file system are those of when the archive had all of
it. What changed less than two seconds before it was read may change again within the same tick of a coarse clock.
"""

from __future__ import annotations

import os
from stat import S_ISREG

import clients
from core import TYPE_CHECKING, clock, ids
from core.errors import usage
from core.store import progress, sqlite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    import apsw

    from memory.archive.ingest import Ingested

SUBAGENT = "a subagent's transcript"
_MOST_LISTED = 20
_SETTLED_NS = 2_000_000_000


class File:
    """A file, and how it was when it was found; `stamp` is "" where it was gone by then, or is none."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.key = ids.fingerprint(os.path.realpath(path))
        self.changed, self.settles, self.size, self.stamp = 0, 0, 0, ""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return
        self.changed = status.st_mtime_ns
        self.settles = max(status.st_mtime_ns, status.st_ctime_ns) + _SETTLED_NS
        if S_ISREG(status.st_mode):
            self.size = status.st_size
            self.stamp = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


class Archived:
    """What became of the files, as the command tells it: twenty of those that were left out with the reason."""

    def __init__(self) -> None:
        self.result: dict[str, Any] = {
            "transcripts": 0, "unchanged": 0, "agents": {}, "episodes": {"added": 0, "updated": 0}, "calls": 0,
            "bytes": 0, "badLines": 0, "subagents": 0, "excluded": 0, "skippedCount": 0, "skipped": [],
        }  # fmt: skip
        self.has_new = False
        """One of them has what was said in a session that the archive did not know."""

    def take(self, client: str, new: Ingested | None = None) -> None:
        """Count a transcript of a client, and what is new of it."""
        told = self.result
        told["transcripts"] += 1
        told["agents"][client] = told["agents"].get(client, 0) + 1
        told["unchanged"] += new is None or not new.bytes
        if new is not None:
            self.has_new = self.has_new or (new.is_new and new.added > 0)
            told["episodes"]["added"] += new.added
            told["episodes"]["updated"] += new.updated
            for name, count in (("calls", new.calls), ("bytes", new.bytes), ("badLines", new.bad_lines)):
                told[name] += count

    def leave_out(self, path: str, reason: str) -> None:
        """Count a file that was left out; of an excluded folder where there is no reason."""
        if not reason or reason == SUBAGENT:
            self.result["subagents" if reason else "excluded"] += 1
            return
        self.result["skippedCount"] += 1
        if len(self.result["skipped"]) < _MOST_LISTED:
            self.result["skipped"].append({"path": path, "reason": reason})


class KnownFiles:
    """What the archive has seen of files by `now`, before they are read; `agent` is named as their writer, or none."""

    def __init__(self, db: apsw.Connection | None, agent: str, now: int) -> None:
        self._agent = agent
        self._now, self.noted = now, 0
        self._new: dict[str, dict[str, Any]] = {}
        self._seen = progress.seen_files(db) if db is not None else {}

    def of(self, file: File) -> dict[str, Any] | None:
        """What is known of a file that is as it was; one that was left out a later version may know after a day."""
        seen = self._seen.get(file.key)
        if seen is None or not file.stamp or (seen["stamp"], seen["asked"]) != (file.stamp, self._agent):
            return None
        return seen if seen["client"] or 0 <= self._now - seen["seen_at"] < clock.DAY_MS else None

    def note(self, file: File, client: str, reason: str) -> None:
        """Note that the archive has all of a client's transcript, or for what reason it left a file out."""
        self.noted += 1
        if file.stamp and file.settles <= self._now * 1_000_000:
            self._new[file.key] = {
                "path": file.key, "stamp": file.stamp, "asked": self._agent, "client": client, "reason": reason,
                "seen_at": self._now,
            }  # fmt: skip

    def save(self, db: apsw.Connection, every: Iterable[File] | None) -> None:
        """Store what was noted; with `every` file that there is, forget the others."""
        gone = set() if every is None else self._seen.keys() - {file.key for file in every}
        if self._new or gone:
            with sqlite.transaction(db):
                progress.note_seen(db, self._new.values(), gone)


def find(given: Iterable[str], agent: str, *, every: bool) -> list[File]:
    """The transcripts that a call means, the one that was changed last first: who stops early has what is fresh."""
    paths: list[str] = []
    for name in ([agent] if agent else clients.keeping_files()) if every else ():
        client = clients.row(name)
        folder, _, pattern = client.transcripts.rpartition("/")
        paths += _below(os.path.join(client.home(), folder), pattern)
    for path in given:
        if not os.path.exists(path):
            raise usage("MEMORY_INVALID_ARGS", f"there is no file {path}", "name a transcript, or a folder of them")
        paths += _below(path, "*.jsonl") if os.path.isdir(path) else [path]
    found = {file.key: file for file in map(File, paths)}
    return sorted(found.values(), key=lambda file: file.changed, reverse=True)


def not_archived(db: apsw.Connection | None, names: Iterable[str]) -> list[File]:
    """The session files of these clients of which nothing was ever read; subagents' are not counted."""
    from memory.archive.ingest import source_of

    read, known = progress.sources(db) if db is not None else set(), KnownFiles(db, "", clock.now_ms())
    every = (file for name in names if name in clients.keeping_files() for file in find((), name, every=True))
    return [
        file
        for file in every
        if file.size and f"{os.sep}subagents{os.sep}" not in file.path
        and known.of(file) is None and source_of(file.path) not in read
    ]  # fmt: skip


def _below(folder: str, pattern: str) -> Iterator[str]:
    """The files at any depth below a folder whose names are of the pattern, which has one star."""
    begin, _, end = pattern.partition("*")
    for here, _, names in os.walk(folder):
        yield from (os.path.join(here, name) for name in names if name.startswith(begin) and name.endswith(end))
