"""Ingesting a transcript: every message becomes an episode, so that all of it can be found later.

What is new since the last time is read in pieces. A piece is parsed, redacted and embedded while nothing is locked. Its
episodes and the offset behind it are stored in one transaction, unless another process has gone on from the same offset
meanwhile: then this one begins again behind it. A kill loses and doubles nothing. Hot path.
"""

from __future__ import annotations

import os
import time

from core import files, ids, json_text
from core.errors import Failure
from core.redaction import redact
from core.store import sqlite
from core.store.sessions import transcripts
from core.words import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypedDict

    import apsw

    from clients.client import Format
    from clients.event import Item
    from core.repository.switches import Silence
    from memory.archive.episode_draft import Drafting
    from memory.archive.session_archive import SessionArchive
    from memory.archive.session_work import SessionWork

    class Ingested(TypedDict):
        """What a call ingested: episodes that are new or say more, and tool calls that are new."""

        added: int
        updated: int
        calls: int
        skipped: int
        """Lines that were no JSON object, or too long."""
        bytes: int
        """How many of the file were read now."""
        offset: int
        size: int
        """Bytes of the file that were read by now, and all of them; of `ingest_items` both are 0."""
        complete: bool
        """Nothing that could be ingested is left: the end was reached, or but half a line follows."""
        items: list[Item]
        """The new items in order, the last 400 of them."""


MOST_BYTES = 1_000_000
"""Of a call, so that the first hook of a resumed session does not stall; one longer line is read all the same."""
PIECE_BYTES = 256 * 1024
_HURRIED_BYTES = 64 * 1024
"""The same of a call with a deadline, which is looked at between two pieces."""
_GLANCE_BYTES = 16 * 1024
"""New lines without a message are skipped unread up to so many bytes; beyond, they are ingested."""
MOST_ITEMS = 400
_HEAD_BYTES = 1024
_MOST_TRIES = 8
_REGULAR, _KIND = 0o100000, 0o170000  # of a file's mode; `stat` is an import


def ingest_file(
    db: apsw.Connection,
    path: str,
    *,
    agent: str,
    session: str,
    cwd: str,
    now: int,
    vectors: bool,
    most_bytes: int = MOST_BYTES,
    until: float | None = None,
) -> Ingested:
    """Archive what is new in a transcript since it was read last; one that does not exist has nothing new.

    Args:
        db: open for writing, in no transaction.
        agent: one of `clients.registry.KEEPING_FILES`.
        session: the id under which the session is kept.
        cwd: the folder it works in, "" where that is not known.
        now: ms since the epoch, for messages without a time.
        vectors: whether sqlite-vec is loaded.
        most_bytes: after which the call ends; the next one goes on.
        until: `time.monotonic()` at which no further piece is begun.

    Raises:
        Failure: TRANSCRIPT_UNREADABLE, or what the store says; the pieces before stay.
    """
    ingested = _nothing()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe must not hold a hook up
    except FileNotFoundError:
        return ingested
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    try:
        if os.fstat(descriptor).st_mode & _KIND != _REGULAR:
            raise _unreadable(path, "it is no regular file")

        def begin() -> SessionArchive:
            from memory.archive.session_archive import SessionArchive

            return SessionArchive(db, agent, session, cwd, now, vectors)

        silences = _silences(session, cwd)
        _ingest_pieces(begin, db, source_of(path), descriptor, agent, most_bytes, until, silences, ingested)
    except OSError as error:
        raise _unreadable(path, error) from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        os.close(descriptor)
    return ingested


def ingest_items(
    db: apsw.Connection,
    items: Sequence[Item],
    *,
    agent: str,
    session: str,
    cwd: str,
    now: int,
    vectors: bool,
) -> Ingested:
    """Archive what a client without a transcript file gives; what it has given before changes nothing.

    Raises:
        Failure: what the store says; nothing was changed.
    """
    from memory.archive import episode_draft
    from memory.archive.session_archive import SessionArchive
    from memory.archive.session_work import SessionWork

    ingested = _nothing()
    archive = SessionArchive(db, agent, session, cwd, now, vectors)
    source = source_of_session(session)
    silences = _silences(session, cwd)
    try:
        for _ in range(_MOST_TRIES):
            found = transcripts.position(db, source)
            carry = episode_draft.read_carry(_carried(found))
            new = _after(items, carry["drafts"][-1]["id"] if carry["drafts"] else "", archive.session)
            new = _told(new, silences)
            drafting, work = episode_draft.Drafting(carry, archive.session), SessionWork(carry["work"])
            for item in new:
                work.add(item, drafting.prompts)
                if item["kind"] == "said":
                    drafting.said(item, b"", 0)
            ready = archive.prepared(drafting.changed)
            drafting.trim()
            stored = archive.store(source, found, ready, 0, "", json_text.dumps(carry), work, drafting.prompts)
            if stored is not None:
                ingested["added"], ingested["updated"], ingested["calls"] = stored
                ingested["items"] = list(new[-MOST_ITEMS:])
                return ingested
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    ingested["complete"] = False
    return ingested


def source_of(path: str) -> str:
    """The name under which a file's offset is stored: its real path, or a hash of one like a secret."""
    real = os.path.realpath(path)
    plain = clean(real)
    return "hash-" + ids.fingerprint(real) if redact(plain)[1] or plain != real else plain


def source_of_session(session: str) -> str:
    """The same for a session without a file."""
    from memory.archive.session_archive import clean_name

    return "session:" + clean_name(session)


def _ingest_pieces(
    begin: Callable[[], SessionArchive],
    db: apsw.Connection,
    source: str,
    descriptor: int,
    agent: str,
    most_bytes: int,
    until: float | None,
    silences: list[Silence],
    ingested: Ingested,
) -> None:
    left, tries = most_bytes, 0
    most = PIECE_BYTES if until is None else _HURRIED_BYTES
    archive: SessionArchive | None = None
    while True:
        found = transcripts.position(db, source)
        ingested["size"] = os.fstat(descriptor).st_size
        offset, carried, is_behind = _resumed(descriptor, ingested["size"], found, hurried=until is not None)
        ingested["offset"] = offset
        if offset == ingested["size"]:
            return
        from clients import registry

        form = registry.transcript(agent)
        # As before most prompts: the reader and the store are not imported for it, and the offset stays.
        if until is not None and not carried.get("skipping") and _is_silent(descriptor, offset, ingested["size"], form):
            return
        from memory.archive import episode_draft, transcript_lines
        from memory.archive.session_work import SessionWork

        archive = archive or begin()
        parse = form.items
        piece = transcript_lines.read(
            descriptor, offset, max(1, min(most, left)), skipping=bool(carried.get("skipping"))
        )
        ingested["complete"] = piece["complete"]
        if piece["end"] == offset:
            return
        carry = episode_draft.read_carry(carried)
        if not offset and found is not None and not found[1]:
            carry["again"] = found[0]
        elif offset >= carry["again"]:
            carry["again"] = 0
        drafting, work = episode_draft.Drafting(carry, archive.session), SessionWork(carry["work"])
        items, bad = _items(parse, piece["lines"], drafting, work, silences)
        ready = archive.prepared(drafting.changed)
        again = drafting.silent if carry["again"] else None
        drafting.trim()
        kept = json_text.dumps({**carry, "skipping": True} if piece["skipping"] else carry)
        stored = archive.store(
            source,
            found,
            ready,
            piece["end"],
            "" if is_behind else _head(descriptor, piece["end"]),
            kept,
            work,
            drafting.prompts,
            anew=not offset,
            again=again,
        )
        if stored is None:  # another process was faster: on from where it is
            tries += 1
            if tries == _MOST_TRIES:
                ingested["complete"] = False
                return
            continue
        ingested["added"] += stored[0]
        ingested["updated"] += stored[1]
        ingested["calls"] += stored[2]
        ingested["skipped"] += bad + piece["too_long"]
        ingested["items"] = [*ingested["items"], *items][-MOST_ITEMS:]
        ingested["offset"] = piece["end"]
        ingested["bytes"] += piece["end"] - offset
        left -= piece["end"] - offset
        if piece["complete"] or left <= 0 or (until is not None and time.monotonic() >= until):
            return


def _is_silent(descriptor: int, offset: int, size: int, form: Format) -> bool:
    """Whether the file has no message from `offset` on; False also where that is too much to look at."""
    if size - offset > _GLANCE_BYTES:
        return False
    new = os.pread(descriptor, size - offset, offset)
    return not any(mark in new for mark in form.SAID_MARKS)


def _resumed(
    descriptor: int, size: int, found: tuple[int, str, str] | None, *, hurried: bool
) -> tuple[int, Mapping[str, Any], bool]:
    """The offset and the carry to go on with; the start, where the file is shorter than before or another one.

    An empty head says that the file is to be read again from its start, for its calls. That is for `memory archive`. A
    hurried one goes on from the offset all the same, since else dozens of hooks would store nothing new, and the last
    value is true: the head stays empty. The calls that it stores have the first numbers of the session then, and those
    before them, when the archive reads them, further ones: `number` is the order of storing. So is the `call` of a
    compaction: it is the number of the call before it, but calls with smaller numbers may have come later.
    """
    if found is None:
        return 0, {}, False
    offset, head, _ = found
    carried = _carried(found)
    is_behind = hurried and not head and offset > 0
    whole = offset <= size and (is_behind or _head(descriptor, offset) == head)
    if whole and offset and not carried.get("skipping"):
        whole = os.pread(descriptor, 1, offset - 1) == b"\n"
    return (offset, carried, is_behind) if whole else (0, {}, False)


def _carried(found: tuple[int, str, str] | None) -> Mapping[str, Any]:
    try:
        value = json_text.loads(found[2]) if found else {}
    except json_text.InvalidJSON:
        value = {}
    return value if isinstance(value, dict) else {}


def _head(descriptor: int, offset: int) -> str:
    return ids.fingerprint(os.pread(descriptor, min(offset, _HEAD_BYTES), 0).decode("latin-1"))


def _silences(session: str, cwd: str) -> list[Silence]:
    """The times in which this session was switched off."""
    if not files.has_switches():
        return []
    from core.repository import switches

    return list(switches.concerning(switches.sound()[0], session, cwd))


def _told(items: Sequence[Item], silences: list[Silence]) -> Sequence[Item]:
    """Without what was said and done while the session was switched off."""
    if not silences:
        return items
    from core.repository.switches import is_silent

    kept: list[Item] = []
    at: int | None = None
    for item in items:
        at = item.get("at") or at  # type: ignore[assignment]  # an outcome has no time: that of its call
        if not is_silent(silences, at):
            kept.append(item)
    return kept


def _is_told(entry: dict[str, Any], silences: list[Silence], last: list[int]) -> bool:
    """Whether an entry of a transcript is to be kept; `last` has the time of the one before, and gets its own."""
    from clients.content import parse_timestamp
    from core.repository.switches import is_silent

    at = parse_timestamp(entry.get("timestamp"))
    last[:] = last if at is None else [at]
    return not is_silent(silences, last[0] if last else None)


def _items(
    parse: Any, lines: list[bytes], drafting: Drafting, work: SessionWork, silences: list[Silence]
) -> tuple[list[Item], int]:
    found: list[Item] = []
    bad = 0
    last: list[int] = []
    for line in lines:
        if not line.strip():
            continue
        try:
            entry = json_text.loads(line)
        except json_text.InvalidJSON:
            entry = None
        if not isinstance(entry, dict):
            bad += 1
            continue
        if silences and not _is_told(entry, silences, last):
            continue
        for number, item in enumerate(parse(entry)):
            work.add(item, drafting.prompts)
            if item["kind"] == "said":
                drafting.said(item, line, number)
            elif item["kind"] == "queue":
                drafting.queue(item)
            found.append(item)
    return found, bad


def _after(items: Sequence[Item], last: str, session: str) -> Sequence[Item]:
    """The items from the last known message on: clients give the same ones again."""
    from memory.archive import episode_draft

    for place in range(len(items) - 1, -1, -1):
        item = items[place]
        if item["kind"] == "said" and last and episode_draft.identifier_of(item, session, b"", 0) == last:
            return items[place:]
    return items


def _nothing() -> Ingested:
    return {
        "added": 0, "updated": 0, "calls": 0, "skipped": 0, "bytes": 0, "offset": 0, "size": 0, "complete": True,
        "items": [],
    }  # fmt: skip


def _unreadable(path: str, error: object) -> Failure:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return Failure("TRANSCRIPT_UNREADABLE", f"{path}: {reason}", "check the path and its permissions")
