"""Ingesting a session: every message becomes an episode, so that all of it can be found later.

What is new since the last time is read in pieces. A piece is parsed, redacted and embedded while nothing is locked. Its
episodes and the offset behind it are stored in one transaction, unless another process has gone on from the same offset
meanwhile: then this one begins again behind it. A kill loses and doubles nothing. Hot path.
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

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import apsw

    from clients.event import Format, Item
    from memory.archive.session_archive import Piece, SessionArchive

PIECE_BYTES = 256 * 1024  # of a call with a deadline, which is looked at between two; a longer line is read, too
LONGEST_LINE = 16 * 1024 * 1024  # a longer line is left out
LARGE_BYTES = 64 * 1024
"""Of a line that may take longer than a hook has; a smaller one is read in time whatever it holds."""
_BULK_BYTES = 1048576
_BLOCK = 256 * 1024
_GLANCE_BYTES = 16 * 1024  # up to so many, new lines without a message are skipped unread
_MOST_ITEMS = 400
_HEAD_BYTES = 1024
_MOST_TRIES = 8


class Ingested:
    """What a call ingested of a client's session; without one, why (`reason`)."""

    def __init__(self, client: str = "", reason: str = "") -> None:
        self.client, self.reason = client, reason
        self.added = self.updated = self.calls = self.bytes = self.bad_lines = 0
        self.items: list[Item] = []
        self.is_new = False
        """Nothing of the session's transcript was read before."""

    def add(self, stored: tuple[int, int, int], piece: Piece, source: str) -> None:
        """Count what came of a piece (`SessionArchive.store`), and note which source has outputs that are cut."""
        added, updated, calls = stored
        self.added, self.updated, self.calls = self.added + added, self.updated + updated, self.calls + calls
        self.items = [*self.items, *piece.items][-_MOST_ITEMS:]
        if piece.work.is_cut:
            from memory.archive.stuck import Attempt

            Attempt(source, -1, 0.0).ended(cut=True)


def ingest_file(
    db: apsw.Connection, path: str, *, agent: str, session: str, cwd: str, now: int, vectors: bool,
    until: float | None = None, least: int = 0, most: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Ingested:  # fmt: skip
    """Archive what is new in a transcript since it was read last; one that does not exist has nothing new.

    Args:
        db: open for writing, in no transaction; `vectors`: sqlite-vec is loaded.
        session: the id under which the session is kept; it works in `cwd`, "" where that is not known.
        now: ms since the epoch, for messages without a time.
        until: `time.monotonic()` at which no further piece is begun; the next call goes on.
        least: bytes that have to be new, else they stay for the next call.
        most: bytes that are read at most, in whole pieces; the next call goes on.
        progress: called with the bytes of each piece.

    Raises Failure: TRANSCRIPT_UNREADABLE, or what the store says; the pieces before stay.
    """
    ingested = Ingested(agent)
    try:
        descriptor = opened(path)
    except FileNotFoundError:
        return ingested
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    try:
        source, silences, form = source_of(path), _Silences(session, cwd), clients.transcript(agent)
        archive: SessionArchive | None = None
        tries = 0
        while tries < _MOST_TRIES:
            found = stored_progress.transcript_position(db, source)
            offset, carried = _resumed(descriptor, found)
            # As before most prompts: the reader and the store are not imported for it, and the offset stays.
            if _has_nothing(descriptor, offset, None if until is None else form, least):
                return ingested
            if archive is None:
                from memory.archive.session_archive import Piece, SessionArchive

                archive = SessionArchive(db, agent, session, cwd, now, vectors)
            lines, end, too_long, is_end = read(descriptor, offset, _BULK_BYTES if until is None else PIECE_BYTES)
            if end == offset:
                return ingested
            piece = Piece(archive.session, archive.folder, carried)
            added = _added(piece, lines, form, silences, until, source, offset)
            if added is None:  # the next hook begins with it again
                break
            bad, unread, ended = added
            end -= unread
            try:
                stored = archive.store(source, found, piece, end, _head(descriptor, end))
            finally:  # a store that is busy or full is another matter; who is killed here was too slow
                ended()
            if stored is None:  # another process was faster: on from where it is
                tries += 1
                continue
            ingested.add(stored, piece, source)
            ingested.is_new = ingested.is_new or found is None
            ingested.bad_lines += bad + too_long
            ingested.bytes += end - offset
            progress(end - offset)
            is_late = until is not None and time.monotonic() >= until
            if (is_end and not unread) or is_late or (most is not None and ingested.bytes + PIECE_BYTES > most):
                break
    except OSError as error:
        raise unreadable(path, error) from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        os.close(descriptor)
    return ingested


def ingest_items(
    db: apsw.Connection, items: Sequence[Item], *, agent: str, session: str, cwd: str, now: int, vectors: bool
) -> Ingested:
    """Archive what a client without a transcript file gives; what it has given before changes nothing."""
    from memory.archive.session_archive import Piece, SessionArchive, clean_name

    ingested = Ingested(agent)
    archive = SessionArchive(db, agent, session, cwd, now, vectors)
    source = "session:" + clean_name(session)
    for _ in range(_MOST_TRIES):
        found = stored_progress.transcript_position(db, source)
        piece = Piece(archive.session, archive.folder, _carried_in(found))
        silences = _Silences(session, cwd)
        for item in piece.new_of(items):
            if not silences.cover(item.get("at")):
                piece.add(item)
        stored = archive.store(source, found, piece)
        if stored is not None:
            ingested.add(stored, piece, source)
            break
    return ingested


def source_of(path: str) -> str:
    """The name under which a file's offset is stored: its real path, or a hash of one like a secret."""
    real = os.path.realpath(path)
    plain = clean(real)
    return "hash-" + ids.fingerprint(real) if redact(plain)[1] or plain != real else plain


def opened(path: str) -> int:
    """A descriptor of a regular file, an OSError for what is none: a pipe must not hold a hook up."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is not a regular file")
    return descriptor


def read(descriptor: int, offset: int, most: int) -> tuple[list[bytes], int, int, bool]:
    """The complete lines among the next `most` bytes of a file, or the one line that is longer than that."""
    data = os.pread(descriptor, most, offset)
    ended = len(data) < most
    last = data.rfind(b"\n")
    if last >= 0 or ended:
        return data[: last + 1].split(b"\n")[:-1], offset + last + 1, 0, ended
    data = os.pread(descriptor, LONGEST_LINE, offset)
    newline, at = data.find(b"\n"), offset + len(data)
    if newline >= 0:
        return [data[:newline]], offset + newline + 1, 0, False
    while block := os.pread(descriptor, _BLOCK, at):
        newline = block.find(b"\n")
        if newline >= 0:
            return [], at + newline + 1, 1, False
        at += len(block)
    return [], offset, 0, True


def _added(
    piece: Piece, lines: list[bytes], form: Format, silences: _Silences, until: float | None, source: str, offset: int
) -> tuple[int, int, Callable[[], None]] | None:
    """`_add_lines`, and what to do once it is stored; None where a large line, which is read alone, takes too long."""
    if until is None or not lines or len(lines[0]) <= LARGE_BYTES:
        return *_add_lines(piece, lines, form, silences, until), lambda: None
    from memory.archive.stuck import Attempt

    attempt = Attempt(source, offset, until)
    added = attempt.within(lambda: _add_lines(piece, lines[:1], form, silences, until, attempt.cut))
    return added and (added[0], sum(len(line) + 1 for line in lines[1:]), attempt.ended)


def _add_lines(
    piece: Piece, lines: list[bytes], form: Format, silences: _Silences, until: float | None,
    cut: Callable[[Item], Item] = lambda item: item,
) -> tuple[int, int]:  # fmt: skip
    """Add what the lines say, up to the deadline but at least one: how many were no object, and the bytes left."""
    bad = 0
    for place, line in enumerate(lines):
        if place and until is not None and (len(line) > LARGE_BYTES or time.monotonic() >= until):
            return bad, sum(len(one) + 1 for one in lines[place:])
        if not line.strip():
            continue
        entry = content.parsed(line)
        if entry is None:
            bad += 1
        elif not (silences.all and silences.cover(content.parse_timestamp(entry.get("timestamp")))):
            for number, item in enumerate(form.items(entry)):
                piece.add(cut(item), line, number)
    return bad, 0


def _has_nothing(descriptor: int, offset: int, form: Format | None, least: int) -> bool:
    """Whether the file ends less than `least` bytes behind `offset`, or has no message from there on; False where that
    is too much to look at."""
    left = os.fstat(descriptor).st_size - offset
    if left < least:
        return True
    if left == 0 or form is None or left > _GLANCE_BYTES:
        return left == 0
    new = os.pread(descriptor, left, offset)
    return not any(mark in new for mark in form.SAID_MARKS)


def _resumed(descriptor: int, found: tuple[int, str, str] | None) -> tuple[int, dict[str, Any]]:
    """The offset and the carry to go on with; the start, where the file is shorter than before or another one."""
    offset, head = found[:2] if found else (0, "")
    is_same = 0 < offset <= os.fstat(descriptor).st_size and _head(descriptor, offset) == head
    if is_same and os.pread(descriptor, 1, offset - 1) == b"\n":
        return offset, _carried_in(found)
    return 0, {}


def _carried_in(found: tuple[int, str, str] | None) -> dict[str, Any]:
    """What the stretch before left, of a position (`transcripts.position`)."""
    return content.parsed(found[2]) or {} if found else {}


def _head(descriptor: int, offset: int) -> str:
    return ids.fingerprint(os.pread(descriptor, min(offset, _HEAD_BYTES), 0).decode("latin-1"))


class _Silences:
    """The times in which a session was switched off. What has no time is of the time of what stood before it."""

    def __init__(self, session: str, cwd: str) -> None:
        self._last: int | None = None
        self.all: list[Any] = []
        if files.has_switches():
            from core import switches

            self.all = list(switches.silences_of(switches.load()[0], session, cwd))

    def cover(self, at: object) -> bool:
        """Whether what was said then is not to be kept."""
        if not self.all:
            return False
        from core.switches import is_silent

        self._last = at if isinstance(at, int) else self._last
        return is_silent(self.all, self._last)


def unreadable(path: str, reason: object) -> Failure:
    """That a file cannot be read, or is no transcript."""
    reason = (reason.strerror if isinstance(reason, OSError) else None) or reason
    fix = f"name a session's transcript of {', '.join(clients.keeping_files())} that you may read"
    return Failure("TRANSCRIPT_UNREADABLE", f"{path}: {reason}", fix)
