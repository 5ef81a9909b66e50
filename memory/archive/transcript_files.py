"""Transcripts on disk: finding them, telling whose they are and which have changed, and ingesting many. Not hot.

A file is not opened if its size, its times of change and its number in the file system are as they were when the
archive had all of it.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from fnmatch import fnmatchcase
from stat import S_ISREG

import clients
from clients import content, generic
from core import TYPE_CHECKING, clock, words
from core import files as home_files
from core.errors import Failure, usage
from core.store import documents, sessions, sources, sqlite
from core.store.sqlite import fold_log
from memory.archive import Origin, ingest, texts
from memory.archive.ingest import Ingested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    import apsw


SUBAGENT = "a subagent's transcript"
FORGOTTEN = "its session was forgotten"
NO_LINES = "no JSON lines"
NO_CLIENT = "no transcript of a known client"
UNKNOWN_FOLDER = "the folder of this session is unknown, and some folders are excluded or off"


class File:
    """A source and its state when it was found; `stamp` is "" if it is gone or not a regular file.

    `stamp`, `changed` (in ms) and `size` are given for a session in a database.
    """

    def __init__(self, path: str, stamp: str = "", changed: int = 0, size: int = 0) -> None:
        self.path = path
        self.key = words.fingerprint(sources.real_path(path))
        self.stamp, self.changed, self.size = stamp, changed, size
        with suppress(OSError, ValueError):
            status = os.stat(path)  # that of a session in a database names no file
            self.changed = status.st_mtime_ns // 1_000_000
            if S_ISREG(status.st_mode):
                self.size = status.st_size
                self.stamp = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


class Archived:
    """Counts what became of the files, for the answer of the command. It names up to twenty of the skipped files."""

    def __init__(self) -> None:
        self.result: dict[str, Any] = {
            "transcripts": 0, "unchanged": 0, "agents": {}, "episodes": {"added": 0, "updated": 0}, "calls": 0,
            "bytes": 0, "badLines": 0, "subagents": 0, "excluded": 0, "forgotten": 0, "skippedCount": 0, "skipped": [],
            "unreadable": {},
        }  # fmt: skip

    def take(self, client: str, path: str, new: Ingested | None = None) -> None:
        """Count a transcript of a client, or of one of its subagents, and its new part."""
        result, new = self.result, new or Ingested(client)
        if clients.by_name(client).is_side(path):
            result["subagents"] += 1
        else:
            result["transcripts"] += 1
            result["agents"][client] = result["agents"].get(client, 0) + 1
            result["unchanged"] += not new.bytes
        result["episodes"]["added"] += new.added
        result["episodes"]["updated"] += new.updated
        for name, count in (("calls", new.calls), ("bytes", new.bytes), ("badLines", new.bad_lines)):
            result[name] += count

    def leave_out(self, path: str, reason: str) -> None:
        """Count a file that was skipped; without a reason its session ran in an excluded folder."""
        counted = {"": "excluded", SUBAGENT: "subagents", FORGOTTEN: "forgotten"}
        if reason in counted:
            self.result[counted[reason]] += 1
            return
        self.result["skippedCount"] += 1
        if reason not in (NO_LINES, NO_CLIENT, UNKNOWN_FOLDER):
            self.result["unreadable"][reason] = self.result["unreadable"].get(reason, 0) + 1
        if len(self.result["skipped"]) < 20:
            self.result["skipped"].append({"path": path, "reason": reason})


class KnownFiles:
    """What the archive knows about files before they are read; `agent` is named as their writer, or ""."""

    def __init__(self, db: apsw.Connection, agent: str, now: int) -> None:
        self._agent = agent
        self._now = now
        self._new: dict[str, dict[str, Any]] = {}
        self._seen = sessions.seen_files(db)

    def of(self, file: File) -> dict[str, Any] | None:
        """The record of a file that has not changed. A skipped file is tried again after a day, since a later
        version may know its form."""
        seen = self._seen.get(file.key)
        if seen is None or not file.stamp or (seen["stamp"], seen["asked"]) != (file.stamp, self._agent):
            return None
        return seen if seen["client"] or self._now - seen["seen_at"] < clock.DAY_MS else None

    def note(self, file: File, client: str, reason: str) -> None:
        """Note that the archive has all of a client's transcript, or its reason to skip a file."""
        if file.stamp:
            self._new[file.key] = {
                "path": file.key, "stamp": file.stamp, "asked": self._agent, "client": client, "reason": reason,
                "seen_at": self._now,
            }  # fmt: skip

    def save(self, db: apsw.Connection, every: Iterable[File] | None) -> None:
        """Store the notes; with `every` file that exists, forget the others."""
        gone = set() if every is None else self._seen.keys() - {file.key for file in every}
        if self._new or gone:
            with sqlite.transaction(db):
                sessions.note_seen(db, self._new.values(), gone)


def find(given: Iterable[str], agent: str, *, every: bool) -> list[File]:
    """The transcripts in the given files and folders, and with `every` also those that the clients keep.

    The file that changed last comes first, so that a run that is stopped has archived the newest sessions.
    """
    keeping = [(name, *where) for name in clients.keeping_files() for where in clients.by_name(name).histories()]
    chosen = (where for name, *where in keeping if every and agent in ("", name))
    kept = [path for folder, pattern in chosen for path in _below(folder, pattern)]
    found = {file.key: file for path in kept for file in _sources_at(path, may_be_shared=False)}
    for name in given:
        path = name if os.path.exists(name) else sources.existing(name)
        if not path:
            raise usage("MEMORY_INVALID_ARGS", f"there is no file {name}", "name a transcript, or a folder of them")
        patterns = {"*.jsonl", "*.json", *(pattern for _, _, pattern in keeping)}
        for below in _below(path, *patterns) if os.path.isdir(path) else [path]:
            if below == path or not below.endswith(".json") or sources.kind_of(below):
                found |= {file.key: file for file in _sources_at(below, may_be_shared=True)}
    return sorted(found.values(), key=lambda file: file.changed, reverse=True)


def _sources_at(path: str, *, may_be_shared: bool) -> list[File]:
    """A file; or the sessions in it, if it is a database that can be read, or has lines of several sessions."""
    file = File(path)
    if path.endswith(".jsonl") and not may_be_shared:
        return [file]
    if sources.kind_of(path) == "database":
        with suppress(sources.Unreadable):
            return [File(*session) for session in sources.sessions_in(path)]
        return [file]
    names = _sessions_of_lines(path) if file.stamp and may_be_shared else []
    size = file.size // max(1, len(names))
    return [File(f"{path}#{name}", file.stamp, file.changed, size) for name in names] if len(names) > 1 else [file]


def _sessions_of_lines(path: str) -> list[str]:
    """The sessions that the lines of a file name, if they are in the form of `clients.generic`."""
    found: dict[str, None] = {}
    with suppress(OSError), sources.open_source(path) as read:
        for value in filter(None, (content.parsed(line) for line, _ in content.lines_from(read))):
            if generic.is_documented(value):
                found[generic.session_of(value)] = None
            elif not found:
                return []
    return list(found)


def not_archived(db: apsw.Connection, client: str) -> list[File]:
    """The transcripts of a client that were never read, without subagents."""
    read, known = sessions.transcripts(db), KnownFiles(db, "", clock.now_ms())
    return [
        file
        for file in find((), client, every=True)
        if file.size and f"{os.sep}subagents{os.sep}" not in file.path
        and known.of(file) is None and ingest.source_of(file.path) not in read
        and "session:" + file.path.rpartition("#")[2] not in read  # which its plugin has sent
    ]  # fmt: skip


def unreadable(files: Iterable[File]) -> dict[str, str]:
    """The reason for each of these files that cannot be opened, by its path."""
    reasons = {}
    for file in files:
        try:
            if os.path.exists(file.path):  # else it is a session in a database that was just read
                sources.open_source(file.path).close()
        except (OSError, ValueError) as error:
            reasons[file.path] = ingest.reason_of(error)
    return reasons


def of_sessions(db: apsw.Connection, *names: str) -> list[str]:
    """The transcripts of sessions that still exist."""
    found = [path for path in map(sources.existing, sessions.transcripts_of(db, *names)) if path]
    for file in () if found else find((), "", every=True):
        with suppress(Failure):
            if any(name in file.path or name in look_at(file.path)[1] for name in names):
                found.append(file.path)
    return found


def _below(folder: str, *patterns: str) -> Iterator[str]:
    """The files at any depth below a folder whose names match a pattern; each real folder is read once."""
    seen: set[str] = set()
    for here, folders, names in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(here)) in seen:
            folders.clear()  # a link in a circle, or a second link
            continue
        seen.add(real)
        for name in names:
            if any(fnmatchcase(sources.plain_path(name), pattern) for pattern in patterns):
                yield os.path.join(here, name)


def look_at(path: str, agent: str = "", known: Iterable[str] = ()) -> tuple[str, str, str]:
    """Whose transcript a file is: the client, the session, and the folder that it worked in, "" if unknown.

    `known`: folders that it may have worked in, for clients that write only a hash. Raises TRANSCRIPT_UNREADABLE.
    """
    first = _some_lines(path)
    if not first:
        raise ingest.unreadable(path, NO_LINES)
    agent = agent or clients.detect(first)
    if not agent:
        raise ingest.unreadable(path, NO_CLIENT)
    client = clients.with_transcript(agent)
    heads = [entries[0] for line in first if (entries := clients.entries_of(client, line))]
    if client.name == generic.Generic.name and all(head.kind == "node" for head in heads):
        raise ingest.unreadable(path, NO_CLIENT)
    sides = [head.is_side for head in heads if head.is_side is not None]
    session = next((head.session for head in heads if head.session), "")
    name = os.path.splitext(os.path.basename(sources.plain_path(path)))[0]
    if name in ("events", "full", "session", "transcript"):
        name = os.path.basename(os.path.dirname(os.path.abspath(path)))
    if client.is_side(path):
        session = name
    elif "subagents" in path.split(os.sep) or (sides and all(sides)):
        raise ingest.unreadable(path, SUBAGENT)
    elif client.named_by_file:
        # A fork begins with lines of its parent. In a copy under another name, the last line decides.
        is_own = re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name, re.IGNORECASE)
        last = [] if is_own else _some_lines(path, last=True)
        named = [entries[0].session for line in last if (entries := clients.entries_of(client, line))]
        session = name if is_own else [session, *filter(None, named)][-1]
    folder = next((head.folder for head in heads if head.folder), "") or client.folder_of(path, first[0], known)
    return agent, session or name, folder


def _some_lines(path: str, *, last: bool = False) -> list[dict[str, Any]]:
    """The objects in the first or the last lines of a file."""
    try:
        with sources.open_source(path) as read:
            most = 256 * 1024  # bytes
            if last:
                lines = read.read(most, max(0, read.size() - most)).split(b"\n")
            else:
                lines, offset = [], 0
                while not any(map(content.parsed, lines)) and (ahead := content.read_lines(read, offset, most)):
                    lines, offset = [line for line, _ in ahead], ahead[-1][1]
    except (OSError, ValueError) as error:
        raise ingest.unreadable(path, error) from None
    return [value for line in lines if (value := content.parsed(line)) is not None]


def ingest_all(
    archiver: Archiver, files: Sequence[File], *, progress: Callable[[int], None] = lambda _: None,
    known: KnownFiles | None = None,
) -> Archived:  # fmt: skip
    """Archive each file to its end. If this is stopped, the next run continues.

    `progress` is called with the size of each file. `known` notes the files that need not be read until they change.
    """
    report, claims, db = Archived(), [], archiver.db
    for file, result in _results(archiver, files):
        progress(file.size)
        claims += result.claims
        if result.client:
            report.take(result.client, file.path, result)
        else:
            report.leave_out(file.path, result.reason)
        is_final = result.client or result.reason in (SUBAGENT, NO_LINES, NO_CLIENT)  # no error that may pass
        if known is not None and is_final:
            known.note(file, result.client, result.reason)
    claims += [claim for path in sessions.transcripts_due_again(db) for claim in archiver.archive(File(path)).claims]
    while claims:
        from memory.archive.copies import settle_claims

        again = settle_claims(db, claims)
        read = (archiver.archive(File(path)) for name in again for path in of_sessions(db, name))
        claims = [claim for ingested in read for claim in ingested.claims]
    archiver.name_sessions()
    documents.renew_due_segments(db)
    if report.result["episodes"]["added"] >= documents.MERGE_AFTER:
        from core.store import store_file

        store_file.merge(db, "lexicon")
    fold_log(db, over=0)
    return report


class Archiver:
    """Archives file after file.

    `identity`: the id under which a session is stored, from the client's own. `agent`: the client that wrote the files;
    "" to find out. `again`: what was purged is archived again.
    """

    def __init__(
        self, db: apsw.Connection, identity: Callable[[str], str], agent: str = "", *, again: bool = False
    ) -> None:
        self.db = db
        self._identity = identity
        self._agent = agent
        self._again = again
        self._now = clock.now_ms()

    def archive(self, file: File) -> Ingested:
        """Archive a file to its end, unless it is no transcript or its folder is excluded."""
        try:
            writer, session, cwd = look_at(file.path, self._agent, self._known_folders())
            if home_files.has_switches():
                from memory.archive.admission import folder_to_archive

                folder = folder_to_archive(file.path, writer, cwd, file.changed)
                if folder is None:
                    return Ingested(reason="" if cwd else UNKNOWN_FOLDER)
                cwd = folder
            identifier = self._identity(session)
            origin = Origin(writer, identifier, cwd, now=self._now, again=self._again)
            if sessions.is_forgotten(self.db, identifier):
                return Ingested(reason=FORGOTTEN)
            return ingest.ingest_file(self.db, file.path, origin)
        except (OSError, ValueError) as error:
            return Ingested(reason=ingest.reason_of(error))
        except Failure as failure:
            if failure.code != "TRANSCRIPT_UNREADABLE":
                raise
            return Ingested(reason=failure.message.removeprefix(f"{file.path}: "))

    def name_sessions(self) -> None:
        """Give sessions the titles that their client keeps in a file of their own."""
        from memory.archive.session_archive import SessionArchive

        for client in clients.keeping_files():
            with sqlite.transaction(self.db):
                for session, title in clients.by_name(client).titles().items():
                    origin = Origin(client, self._identity(session), "", now=self._now)
                    SessionArchive(self.db, origin).name(texts.one_line(title, 200))

    def _known_folders(self) -> Iterator[str]:
        yield from sessions.folders(self.db)
        if home_files.has_switches():
            from core import switches

            yield from switches.load()[0]["excluded"]

    def begin_in_process(self) -> None:
        """Prepare a forked process, which needs a connection of its own."""
        import signal

        parent = os.getppid()
        signal.signal(signal.SIGALRM, lambda *_: os.getppid() == parent or os._exit(1))  # the parent was killed
        signal.setitimer(signal.ITIMER_REAL, 2.0, 2.0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
        self.db = sqlite.open_writing(busy_ms=60_000, durable=False)  # the other processes write, too
        _process_workers.append(self)


_process_workers: list[Archiver] = []  # in a forked process its worker


def _archive_in_process(file: File) -> tuple[File, Ingested]:
    return file, _process_workers[0].archive(file)


def _results(worker: Archiver, files: Sequence[File]) -> Iterator[tuple[File, Ingested]]:
    """What became of each file. Many bytes are read in a few forked processes."""
    # the system libraries of macOS do not survive a fork
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    count = min(processors, 4, len(files))
    if count < 2 or sum(file.size for file in files) < 8_000_000:  # a process takes 50 ms to start
        yield from ((file, worker.archive(file)) for file in files)
        return
    from multiprocessing import get_context

    with get_context("fork").Pool(count, worker.begin_in_process) as pool:
        yield from pool.imap_unordered(_archive_in_process, files)
