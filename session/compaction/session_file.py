"""Reads a client's session file: finds out whose it is, and reads its tree, its active branch and its messages."""

import errno
import gc
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import Any, BinaryIO

import clients
from clients.entry import Entry, Line, Message, Problems, Transcript, lines, parsed
from core.errors import Failure, usage

_Parsed = tuple[Line, dict[str, Any] | None]
_PEEK_LINES, _PEEK_BYTES = 1000, 32 * 1024 * 1024
"""What is read to find out whose file it is."""
_SEEKING = 64 * 1024
"""Bytes of the buffer when single lines are read."""


def read(path: str, client: str = "", leaf: str = "") -> Transcript:
    """Read a session file. Damaged lines are left out and listed in `problems`."""
    with _opened(path) as handle, ExitStack() as stack:
        if gc.isenabled():  # no reference cycles are made here, and looking for them takes half of the time
            gc.disable()
            stack.callback(gc.enable)
        problems = Problems()
        found, whose = _detected(lines(handle, problems), path, client)
        reader = clients.row(whose).entries().Reader()
        entries: list[Entry] = []
        tree: dict[str, Entry] = {}
        for line, value in found:
            entry = reader.entry(line, value, problems) if value is not None else None
            if entry is None:
                continue
            if entry.id in tree:
                problems.append(f"line {entry.line} has the id of line {tree[entry.id].line} and replaces it")
            entries.append(entry)
            tree[entry.id] = entry
        if leaf:
            place = max((place for place, entry in enumerate(entries) if entry.id == leaf), default=-1)
            if place < 0:
                raise unknown_entry(path, leaf)
            entries = entries[: place + 1]
        branch = reader.branch(entries, tree, problems)
        for entry in branch:
            tree[entry.id] = entry
    cwd = getattr(reader, "cwd", "")
    return Transcript(whose, path, tuple(branch), tree, reader.window, reader.model, cwd=cwd, problems=problems.told())


def unknown_entry(path: str, identifier: str) -> Failure:
    """That a session has no entry of this id."""
    fix = "name an entry by its id; `joelclaw compaction prepare` shows some"
    return usage("ENTRY_UNKNOWN", f"{path} has no entry {identifier[:80]!r}", fix)


def messages(transcript: Transcript, entries: Iterable[Entry]) -> Iterator[Message]:
    """The messages of entries, read from the file one by one; bookkeeping entries have none."""
    make = clients.row(transcript.client).entries().messages
    with _opened(transcript.path, _SEEKING) as handle:
        for entry in entries:
            value = _again(handle, entry)
            if value is not None:
                yield from make(value, entry)


def sizes(transcript: Transcript, entries: Iterable[Entry]) -> Iterator[int]:
    """Estimated tokens of each entry, 0 for bookkeeping. Only what is asked for is measured: to measure all takes a
    third of the time of a large session."""
    measure = clients.row(transcript.client).entries().size
    with ExitStack() as stack:
        handle: BinaryIO | None = None
        for entry in entries:
            size = entry.tokens if entry.tokens >= 0 else transcript.measured.get(entry.id, -1)
            if size < 0:
                handle = handle or stack.enter_context(_opened(transcript.path, _SEEKING))
                value = _again(handle, entry)
                size = transcript.measured[entry.id] = 0 if value is None else measure(value, entry)
            yield size


def _again(handle: BinaryIO, entry: Entry) -> dict[str, Any] | None:
    if entry.size == 0 or entry.role is None:
        return None
    handle.seek(entry.offset)
    value = parsed(handle.read(entry.size))
    return value if isinstance(value, dict) else None


@contextmanager
def _opened(path: str, buffer: int = 1024 * 1024) -> Iterator[BinaryIO]:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        with open(path, "rb", buffering=buffer) as handle:
            yield handle
    except (FileNotFoundError, NotADirectoryError):
        raise usage("TRANSCRIPT_NOT_FOUND", f"{path!r} does not exist", "name an existing session file") from None
    except OSError as error:
        fix = f"check its permissions and its disk, or name a session file of {_titles()}"
        raise Failure("TRANSCRIPT_UNREADABLE", f"{path} cannot be read: {error.strerror}", fix) from None


def _detected(found: Iterator[_Parsed], path: str, client: str) -> tuple[Iterator[_Parsed], str]:
    first: list[_Parsed] = []
    size = 0
    for line, value in found:
        first.append((line, value))
        size += line.size
        whose = client or (clients.detect([value]) if value is not None else None)
        if whose in clients.with_entries():
            return chain(first, found), whose
        if whose:
            what = f"{path} is a transcript of {whose}; compactions of {', '.join(clients.with_entries())} are known"
            raise Failure("TRANSCRIPT_UNSUPPORTED", what, "name a session of one of them")
        if len(first) >= _PEEK_LINES or size > _PEEK_BYTES:
            break
    if not first:
        raise Failure("TRANSCRIPT_EMPTY", f"{path} is empty", "name a session with messages")
    fix = f"name a session file of {_titles()}; for a damaged one, name its client with --client"
    raise Failure("TRANSCRIPT_UNKNOWN", f"{path} is not a transcript of a known client", fix)


def _titles() -> str:
    return clients.either(clients.row(name).title for name in clients.with_entries())
