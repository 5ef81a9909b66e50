"""Ingesting a transcript: every message becomes an episode, so that all of it can be found later.

What is new since the last time is read in pieces. A piece is parsed, redacted and embedded while nothing is locked. Its
episodes and the offset behind it are stored in one transaction, unless another process has gone on from the same offset
meanwhile: then this one begins again behind it. A kill loses and doubles nothing. Hot path.
"""

from __future__ import annotations

import os
import time

from clients import content, registry
from core import files, ids, json_text
from core.errors import Failure
from core.redaction import redact
from core.store import sqlite
from core.store.sessions import transcripts
from core.words import clean
from memory.archive import transcript_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

    import apsw

    from clients.event import Format, Item
    from memory.archive.session_archive import Piece, SessionArchive

    class Ingested(TypedDict):
        """What a call ingested: episodes that are new or say more, and tool calls that are new."""

        added: int
        updated: int
        calls: int
        skipped: int
        """Lines that were no JSON object, or too long."""
        bytes: int
        """How many of the file were read now."""
        complete: bool
        """Nothing that could be ingested is left: the end was reached, or but half a line follows."""
        items: list[Item]
        """The new items in order, the last 400 of them."""


PIECE_BYTES = 256 * 1024
"""Of a call with a deadline, which is looked at between two pieces; one longer line is read all the same."""
_BULK_BYTES = 1048576
_GLANCE_BYTES = 16 * 1024
"""New lines without a message are skipped unread up to so many bytes; beyond, they are ingested."""
MOST_ITEMS = 400
_HEAD_BYTES = 1024
MOST_TRIES = 8


def ingest_file(
    db: apsw.Connection,
    path: str,
    *,
    agent: str,
    session: str,
    cwd: str,
    now: int,
    vectors: bool,
    until: float | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Ingested:
    """Archive what is new in a transcript since it was read last; one that does not exist has nothing new.

    Args:
        db: open for writing, in no transaction.
        agent: one of `clients.registry.KEEPING_FILES`.
        session: the id under which the session is kept.
        cwd: the folder it works in, "" where that is not known.
        now: ms since the epoch, for messages without a time.
        vectors: whether sqlite-vec is loaded.
        until: `time.monotonic()` at which no further piece is begun; the next call goes on.
        progress: called with the bytes of each piece.

    Raises:
        Failure: TRANSCRIPT_UNREADABLE, or what the store says; the pieces before stay.
    """
    ingested = nothing()
    try:
        descriptor = transcript_lines.opened(path)
    except FileNotFoundError:
        return ingested
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    try:
        source, silences = source_of(path), Silences(session, cwd)
        archive: SessionArchive | None = None
        tries = 0
        while tries < MOST_TRIES:
            found = transcripts.position(db, source)
            offset, carried = _resumed(descriptor, found)
            # As before most prompts: the reader and the store are not imported for it, and the offset stays.
            if _has_nothing(descriptor, offset, None if until is None else registry.transcript(agent)):
                return ingested
            if archive is None:
                from memory.archive.session_archive import SessionArchive

                archive = SessionArchive(db, agent, session, cwd, now, vectors)
            most = _BULK_BYTES if until is None else PIECE_BYTES
            lines, end, too_long, ingested["complete"] = transcript_lines.read(descriptor, offset, most)
            if end == offset:
                return ingested
            piece = archive.piece(carried)
            bad = _add_lines(piece, lines, registry.transcript(agent), silences)
            stored = archive.store(source, found, piece, end, _head(descriptor, end))
            if stored is None:  # another process was faster: on from where it is
                tries += 1
                continue
            count(ingested, stored, piece)
            ingested["skipped"] += bad + too_long
            ingested["bytes"] += end - offset
            progress(end - offset)
            if ingested["complete"] or (until is not None and time.monotonic() >= until):
                return ingested
        ingested["complete"] = False
    except OSError as error:
        raise _unreadable(path, error) from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        os.close(descriptor)
    return ingested


def source_of(path: str) -> str:
    """The name under which a file's offset is stored: its real path, or a hash of one like a secret."""
    real = os.path.realpath(path)
    plain = clean(real)
    return "hash-" + ids.fingerprint(real) if redact(plain)[1] or plain != real else plain


def _add_lines(piece: Piece, lines: list[bytes], form: Format, silences: Silences) -> int:
    """Add what lines say; how many are no JSON objects."""
    bad = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            entry = json_text.loads(line)
        except json_text.InvalidJSON:
            entry = None
        if not isinstance(entry, dict):
            bad += 1
        elif not (silences and silences.cover(content.parse_timestamp(entry.get("timestamp")))):
            for number, item in enumerate(form.items(entry)):
                piece.add(item, line, number)
    return bad


def _has_nothing(descriptor: int, offset: int, form: Format | None) -> bool:
    """Whether the file ends at `offset`, or has no message from there on; False where that is too much to look at."""
    size = os.fstat(descriptor).st_size
    if offset == size:
        return True
    if form is None or size - offset > _GLANCE_BYTES:
        return False
    new = os.pread(descriptor, size - offset, offset)
    return not any(mark in new for mark in form.SAID_MARKS)


def _resumed(descriptor: int, found: tuple[int, str, str] | None) -> tuple[int, dict[str, Any]]:
    """The offset and the carry to go on with; the start, where the file is shorter than before or another one."""
    if found is None:
        return 0, {}
    offset, head, _ = found
    is_same = offset <= os.fstat(descriptor).st_size and _head(descriptor, offset) == head
    if is_same and (not offset or os.pread(descriptor, 1, offset - 1) == b"\n"):
        return offset, carried_in(found)
    return 0, {}


def carried_in(found: tuple[int, str, str] | None) -> dict[str, Any]:
    """What the stretch before left, of a position (`transcripts.position`)."""
    try:
        value = json_text.loads(found[2]) if found else {}
    except json_text.InvalidJSON:
        value = {}
    return value if isinstance(value, dict) else {}


def _head(descriptor: int, offset: int) -> str:
    return ids.fingerprint(os.pread(descriptor, min(offset, _HEAD_BYTES), 0).decode("latin-1"))


class Silences:
    """The times in which a session was switched off. What has no time is of the time of what stood before it."""

    def __init__(self, session: str, cwd: str) -> None:
        self._last: int | None = None
        self._all: list[Any] = []
        if files.has_switches():
            from core.repository import switches

            self._all = list(switches.concerning(switches.sound()[0], session, cwd))

    def __bool__(self) -> bool:
        return bool(self._all)

    def cover(self, at: object) -> bool:
        """Whether what was said then is not to be kept."""
        if not self._all:
            return False
        from core.repository.switches import is_silent

        self._last = at if isinstance(at, int) else self._last
        return is_silent(self._all, self._last)


def nothing() -> Ingested:
    """What a call ingested that found nothing new."""
    return {"added": 0, "updated": 0, "calls": 0, "skipped": 0, "bytes": 0, "complete": True, "items": []}


def count(ingested: Ingested, stored: tuple[int, int, int], piece: Piece) -> None:
    """Add what came of a piece."""
    ingested["added"] += stored[0]
    ingested["updated"] += stored[1]
    ingested["calls"] += stored[2]
    ingested["items"] = [*ingested["items"], *piece.items][-MOST_ITEMS:]


def _unreadable(path: str, error: object) -> Failure:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return Failure("TRANSCRIPT_UNREADABLE", f"{path}: {reason}", "check the path and its permissions")
