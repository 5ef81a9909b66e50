"""Ingesting a session: every message becomes an episode that can be found later. Hot path.

What is new since the last time is read in pieces. A piece is parsed, redacted and embedded while nothing is
locked. Its episodes and the offset after it are stored in one transaction, unless another process has advanced the
offset meanwhile: then reading begins again at the new offset. A kill loses and doubles nothing.
"""

from __future__ import annotations

import os
import time
from stat import S_ISREG

import clients
from clients import content
from core import TYPE_CHECKING, files, ids
from core.errors import Failure
from core.redaction import redact
from core.store import progress as stored_progress
from core.store import sqlite
from core.words import clean
from memory.archive import Limits, Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import apsw

    from clients.entries import Entry
    from memory.archive.session_archive import Piece, SessionArchive

PIECE_BYTES = 256 * 1024  # of a piece in a hook, which checks its deadline after each; a longer line is read, too
BULK_BYTES = 1024 * 1024  # of a piece without a deadline
MAX_LINE_BYTES = 16 * 1024 * 1024  # a longer line is left out
LARGE_BYTES = 64 * 1024  # a larger line may take longer than a hook has
GLANCE_BYTES = 16 * 1024  # of new lines that are skipped unread if none of them has a message
HEAD_BYTES = 1024  # of the beginning of a file, which identify it
MAX_ENTRIES = 400  # given back, for the feedback about memories
MAX_TRIES = 8  # to store a piece while other processes do the same


class Ingested:
    """The result of ingesting a session. Without a client nothing was ingested, and `reason` says why."""

    def __init__(self, client: str = "", reason: str = "") -> None:
        self.client = client
        self.reason = reason
        self.added = self.updated = self.calls = self.bytes = self.bad_lines = 0
        self.entries: list[Entry] = []

    def add(self, stored: tuple[int, int, int], piece: Piece, source: str) -> None:
        """Count a piece that was stored (`SessionArchive.store`), and note a source whose outputs were cut."""
        added, updated, calls = stored
        self.added, self.updated, self.calls = self.added + added, self.updated + updated, self.calls + calls
        self.entries = [*self.entries, *piece.entries][-MAX_ENTRIES:]
        if piece.calls.is_cut:
            from memory.archive.slow_lines import Attempt

            Attempt(source, -1, 0.0).ended(cut=True)


def ingest_file(
    db: apsw.Connection, path: str, origin: Origin, limits: Limits | None = None, *,
    progress: Callable[[int], None] = lambda _: None,
) -> Ingested:  # fmt: skip
    """Archive the new part of a transcript; a file that does not exist has no new part.

    Args:
        db: open for writing, in no transaction.
        limits: how much is read; the next call continues. None: to the end.
        progress: called with the bytes of each piece.

    Raises Failure: TRANSCRIPT_UNREADABLE, or what the store says; pieces that were stored remain.
    """
    limits = limits or Limits()
    until = limits.until
    ingested = Ingested(origin.agent)
    try:
        descriptor = opened(path)
    except FileNotFoundError:
        return ingested
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    try:
        source = source_of(path)
        lines = _Lines(descriptor, source, origin, until)
        archive: SessionArchive | None = None
        tries = 0
        while tries < MAX_TRIES:
            position = stored_progress.transcript_position(db, source)
            offset, carried = _resumed(descriptor, position)
            # Before most prompts there is nothing new: then neither the reader nor the store is imported.
            if lines.has_nothing(offset, limits.least):
                return ingested
            if archive is None:
                from memory.archive.session_archive import Piece, SessionArchive

                archive = SessionArchive(db, origin)
            piece = Piece(archive.session, archive.folder, carried)
            read = lines.add_to(piece, offset)
            if read is None:  # a large line took too long; the next hook begins with it again
                break
            if read.end == offset:
                return ingested
            try:
                stored = archive.store(source, position, piece, read.end, _head(descriptor, read.end))
            finally:  # the store may be busy or full, but the line itself was not too slow
                read.ended()
            if stored is None:  # another process was faster: continue from its offset
                tries += 1
                continue
            ingested.add(stored, piece, source)
            ingested.bad_lines += read.bad_lines
            ingested.bytes += read.end - offset
            progress(read.end - offset)
            is_late = until is not None and time.monotonic() >= until
            if read.is_last or is_late or (limits.most is not None and ingested.bytes + PIECE_BYTES > limits.most):
                break
    except OSError as error:
        raise unreadable(path, error) from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        os.close(descriptor)
    return ingested


def ingest_entries(db: apsw.Connection, entries: Sequence[Entry], origin: Origin) -> Ingested:
    """Archive what a client without a transcript sends; what it has sent before changes nothing."""
    from memory.archive.session_archive import Piece, SessionArchive, clean_name

    ingested = Ingested(origin.agent)
    archive = SessionArchive(db, origin)
    source = "session:" + clean_name(origin.session)
    for _ in range(MAX_TRIES):
        position = stored_progress.transcript_position(db, source)
        piece = Piece(archive.session, archive.folder, _carry_of(position))
        periods = _OffPeriods(origin)
        for entry in piece.new_of(entries):
            if not periods.cover(entry.at):
                piece.add(entry)
        stored = archive.store(source, position, piece)
        if stored is not None:
            ingested.add(stored, piece, source)
            break
    return ingested


class _Read:
    """A piece that was read: the offset after it, and whether it ends the file."""

    def __init__(self, end: int, bad_lines: int, *, is_last: bool) -> None:
        self.end = end
        self.bad_lines = bad_lines
        self.is_last = is_last
        self.ended: Callable[[], None] = lambda: None  # to be called after the piece was stored


class _Lines:
    """Reads the lines of a transcript in pieces and hands their entries over."""

    def __init__(self, descriptor: int, source: str, origin: Origin, until: float | None) -> None:
        self._descriptor = descriptor
        self._source = source
        self._client = clients.with_transcript(origin.agent)
        self._off_periods = _OffPeriods(origin)
        self._until = until

    def has_nothing(self, offset: int, least: int) -> bool:
        """Whether the file ends less than `least` bytes after `offset`, or has no message from there on.

        More than 16 KB are not searched for messages.
        """
        left = os.fstat(self._descriptor).st_size - offset
        if left < least:
            return True
        if left == 0 or self._until is None or left > GLANCE_BYTES:
            return left == 0
        new = os.pread(self._descriptor, left, offset)
        return not any(mark in new for mark in self._client.said_marks)

    def add_to(self, piece: Piece, offset: int) -> _Read | None:
        """Add the next piece to a piece; None if its first line is large and takes too long."""
        most = BULK_BYTES if self._until is None else PIECE_BYTES
        lines, end, too_long, is_end = read(self._descriptor, offset, most)
        if self._until is None or not lines or len(lines[0]) <= LARGE_BYTES:
            bad, left = self._add(piece, lines)
            return _Read(end - left, bad + too_long, is_last=is_end and not left)
        from memory.archive.slow_lines import Attempt

        attempt = Attempt(self._source, offset, self._until)
        added = attempt.within(lambda: self._add(piece, lines[:1], attempt.cut))
        if added is None:
            return None
        left = sum(len(line) + 1 for line in lines[1:])
        found = _Read(end - left, added[0] + too_long, is_last=is_end and not left)
        found.ended = attempt.ended
        return found

    def _add(
        self, piece: Piece, lines: list[bytes], cut: Callable[[Entry], Entry] = lambda entry: entry
    ) -> tuple[int, int]:
        """Add lines until the deadline, but at least one. Returns how many lines held no object, and the bytes left."""
        bad = 0
        for place, line in enumerate(lines):
            if place and self._until is not None and (len(line) > LARGE_BYTES or time.monotonic() >= self._until):
                return bad, sum(len(rest) + 1 for rest in lines[place:])
            if not line.strip():
                continue
            value = content.parsed(line)
            if value is None:
                bad += 1
                continue
            if self._off_periods.all and self._off_periods.cover(content.parse_timestamp(value.get("timestamp"))):
                continue
            for number, entry in enumerate(self._client.entries(value)):
                if not entry.is_meta:
                    piece.add(cut(entry), line, number)
        return bad, 0


def source_of(path: str) -> str:
    """The name under which a file's offset is stored: its real path, or a hash of a path that looks like a secret."""
    real = os.path.realpath(path)
    plain = clean(real)
    return "hash-" + ids.fingerprint(real) if redact(plain)[1] or plain != real else plain


def opened(path: str) -> int:
    """A descriptor of a regular file. Raises OSError for anything else: a pipe must not stall a hook."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is not a regular file")
    return descriptor


def read(descriptor: int, offset: int, most: int) -> tuple[list[bytes], int, int, bool]:
    """The complete lines in the next `most` bytes of a file, or a single longer line.

    Returns the lines, the offset after them, the number of lines that were left out, and whether the file ends there.
    """
    data = os.pread(descriptor, most, offset)
    ended = len(data) < most
    last = data.rfind(b"\n")
    if last >= 0 or ended:
        return data[: last + 1].split(b"\n")[:-1], offset + last + 1, 0, ended
    data = os.pread(descriptor, MAX_LINE_BYTES, offset)
    newline, at = data.find(b"\n"), offset + len(data)
    if newline >= 0:
        return [data[:newline]], offset + newline + 1, 0, False
    while block := os.pread(descriptor, PIECE_BYTES, at):
        newline = block.find(b"\n")
        if newline >= 0:
            return [], at + newline + 1, 1, False
        at += len(block)
    return [], offset, 0, True


def _resumed(descriptor: int, position: tuple[int, str, str] | None) -> tuple[int, dict[str, Any]]:
    """The offset and the carry to continue with; the start if the file is shorter than before or another file."""
    offset, head = position[:2] if position else (0, "")
    is_same = 0 < offset <= os.fstat(descriptor).st_size and _head(descriptor, offset) == head
    if is_same and os.pread(descriptor, 1, offset - 1) == b"\n":
        return offset, _carry_of(position)
    return 0, {}


def _carry_of(position: tuple[int, str, str] | None) -> dict[str, Any]:
    """What the piece before left, from a stored position."""
    return content.parsed(position[2]) or {} if position else {}


def _head(descriptor: int, offset: int) -> str:
    return ids.fingerprint(os.pread(descriptor, min(offset, HEAD_BYTES), 0).decode("latin-1"))


class _OffPeriods:
    """The times in which a session was switched off. An entry without a time has that of the entry before it."""

    def __init__(self, origin: Origin) -> None:
        self._last: int | None = None
        self.all: list[Any] = []
        if files.has_switches():
            from core import switches

            self.all = list(switches.off_periods(switches.load()[0], origin.session, origin.cwd))

    def cover(self, at: int | None) -> bool:
        """Whether nothing from that time may be stored."""
        if not self.all:
            return False
        from core.switches import is_in_period

        self._last = at if at is not None else self._last
        return is_in_period(self.all, self._last)


def unreadable(path: str, reason: object) -> Failure:
    """That a file cannot be read, or is no transcript."""
    reason = (reason.strerror if isinstance(reason, OSError) else None) or reason
    fix = f"name a session's transcript of {', '.join(clients.keeping_files())} that you may read"
    return Failure("TRANSCRIPT_UNREADABLE", f"{path}: {reason}", fix)
