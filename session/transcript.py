"""What a hook reads of a transcript: new entries, which it archives, and how full the context is. Hot path.

Only what came after the latest compaction counts for the context: the usage of an answer from before it describes a
context that no longer exists; taking it for the present context compacts a session twice, the second time to nothing.
"""

from __future__ import annotations

import os

import clients
from clients import content
from core import TYPE_CHECKING
from core.store import sources
from session.record import TURN_KINDS, leave_out_abandoned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Literal

    import apsw

    from clients.base import Client, HookEvent
    from clients.entries import Entry
    from core.config import Config
    from core.store.sources import Source
    from session.session import ContextUsage, Session

MAX_BYTES = 4 * 1024 * 1024  # read of a transcript, from its end
WAITING_BYTES = 256 * 1024  # of new transcript: after a tool, less than this waits for the end of the turn
UNSAID_BYTES = 16 * 1024  # of new transcript without a message: at a prompt, less than this waits


def archive(event: HookEvent, session: Session, until: float, *, is_short: bool) -> tuple[Sequence[Entry], int]:
    """Archive the new messages and calls, those in the payload, else those in the transcript.

    Returns them, and how many bytes of the transcript they were. Reading ends at `until` (`time.monotonic()`);
    `is_short`: after a piece, so that the next event goes on there.
    """
    items = event["items"]
    if not (items or _must_read(event, session)):
        return (), 0
    otherwise: tuple[Sequence[Entry], int] = items, 0
    return session.store.write("archive", lambda db: _ingest(db, event, session, until, is_short=is_short), otherwise)


def _must_read(event: HookEvent, session: Session) -> bool:
    """Whether new lines of the transcript must be read now; otherwise the store need not be opened.

        event    client                             they wait until
        tool     an event reports its compactions   there are 256 KB of them
        prompt   any                                there are 16 KB of them, or a message among them
        other    any                                no longer

    In an excluded folder, lines that name their folder wait until the agent works elsewhere; others are passed over.
    """
    client, kind, path = clients.by_name(session.agent), event["kind"], event["transcript"]
    if session.is_excluded(event["cwd"]):
        return not client.folder_mark
    if kind == "tool" and client.compaction_sign == "event":
        return _has_grown(path, session.state.archived_to, WAITING_BYTES)
    if kind == "prompt":
        return _has_grown(path, session.state.archived_to, UNSAID_BYTES, client.said_marks)
    return True


def _has_grown(path: str, begin: int, enough: int, marks: Sequence[bytes] = ()) -> bool:
    """Whether a transcript has `enough` bytes after `begin`, or one of the marks among them, or was replaced."""
    try:
        with sources.open_source(path) as source:
            size = source.size() - begin
            if not 0 <= size < enough:
                return True
            new = source.read(size, begin) if marks else b""
    except Exception:  # the archive reports that
        return True
    return any(mark in new for mark in marks)


def _ingest(
    db: apsw.Connection, event: HookEvent, session: Session, until: float, *, is_short: bool
) -> tuple[Sequence[Entry], int]:
    from core.store import sessions
    from memory.archive import Origin, ingest

    kind, items, path = event["kind"], event["items"], event["transcript"]
    cwd = event["cwd"] or session.state.cwd
    agent = session.agent or "generic"  # of a script
    origin = Origin(agent, session.id, cwd, now=session.now)
    if session.is_excluded(cwd):
        ingest.pass_over(db, path, items, origin)
        return (), 0
    if items:
        ingested = ingest.ingest_entries(db, items, origin)
    else:
        ingested = ingest.ingest_file(db, path, origin, deadline=until, is_short=is_short)
    if kind in TURN_KINDS and not items:
        position = sessions.transcript_position(db, ingest.source_of(path))
        session.state.archived_to = position[0] if position else 0
    if ingested.is_rewound:
        asked = event["messages"][-1:] if kind == "prompt" else ()  # earlier ones may be from when it was off
        leave_out_abandoned(session, db, asked)
    if items:
        return items, 0
    for side in clients.by_name(session.agent).side_transcripts(path) if kind in ("turn", "end") else ():
        name = os.path.splitext(os.path.basename(side))[0]
        of_side = Origin(agent, name, cwd, now=session.now)
        ingest.ingest_file(db, side, of_side, deadline=until, is_short=is_short)
    return ingested.entries, ingested.bytes


def context_usage(path: str, agent: str, *, model: str = "", config: Config) -> ContextUsage:
    """How full the context is, by the newest usage or compaction in the last 4 MiB of a transcript, else estimated."""
    client = clients.by_name(agent)
    newest = _Newest()
    try:
        with sources.open_source(path) as source:
            newest = _newest(source, client)
            if newest.tokens is None:
                newest.tokens, newest.source = _estimate(source, client, newest.boundary), "estimate"
    except (OSError, ValueError):
        newest.tokens, newest.source = None, "none"
    tokens, is_estimate = newest.tokens, newest.source == "estimate"
    window = newest.window or client.context_window((model, newest.model), 0 if is_estimate else tokens or 0, config)
    if tokens is not None and is_estimate:
        tokens = min(tokens, window)
    percent = round(tokens * 100 / window, 2) if tokens is not None else None
    return {"tokens": tokens, "window": window, "percent": percent, "source": newest.source}


def kept_text(path: str, agent: str) -> str:
    """What the last compaction left in the context word for word, if the client records its first kept entry."""
    if not sources.existing(path):  # a client may keep no transcripts
        return ""
    client = clients.by_name(agent)
    texts: list[str] = []
    most = 8 * 1024 * 1024  # bytes: a context holds less
    with sources.open_source(path) as source:
        lines = (client.entries(content.parsed(line) or {}) for _, line in lines_backward(source, most))
        first = next((entry.first_kept for entries in lines for entry in entries if entry.kind == "compaction"), "")
        for entries in lines if first else ():
            texts += reversed(content.texts_in([entry.content for entry in entries if entry.kind != "system"]))
            if entries and entries[0].id == first:
                return "\n".join(reversed(texts))
    return ""


class _Newest:
    """What the end of a transcript says about the context."""

    tokens: int | None = None
    source: Literal["usage", "boundary", "estimate", "none"] = "none"
    window = 0
    model = ""
    boundary: int | None = None
    """Offset of the line of a compaction that does not say how large the context is after it."""


def _newest(source: Source, client: Client) -> _Newest:
    """The newest usage or compaction, and the window if the client writes it."""
    newest = _Newest()
    snapshot, written_at = "", None
    older = lines_backward(source, MAX_BYTES)
    for offset, line in older:
        if not any(mark in line for mark in client.context_marks):
            continue
        entries = client.entries(content.parsed(line) or {})  # a line may be half written
        newest.window = newest.window or max((entry.window for entry in entries), default=0)
        if entries and entries[0].kind == "history" and not snapshot:
            snapshot, written_at = entries[0].id, offset
        last = next((entry for entry in reversed(entries) if entry.tokens or entry.kind == "compaction"), None)
        if last is not None and newest.tokens is None and newest.boundary is None:
            if last.kind != "usage" and not last.tokens_after:
                newest.boundary = offset
            elif last.kind != "usage":
                newest.tokens, newest.source = last.tokens_after, "boundary"
            elif snapshot and not any(snapshot.encode() in line for _, line in older):
                # The history was compressed after this usage. If the session was only resumed, the snapshot is also
                # further up.
                newest.model, newest.boundary = last.model, written_at
            else:
                newest.tokens, newest.source, newest.model = last.tokens, "usage", last.model
        is_decided = newest.tokens is not None or newest.boundary is not None
        if is_decided and (newest.window or not client.has_window):
            return newest
    if newest.tokens is None and newest.boundary is None:
        newest.boundary = written_at
    return newest


def _estimate(source: Source, client: Client, boundary: int | None) -> int:
    """Estimated tokens since a compaction, with its summary; of everything if there was none. Four characters each."""
    count = 0
    seen: set[str] = set()
    for offset, line in lines_backward(source, MAX_BYTES):
        entries = client.entries(content.parsed(line) or {})
        identifier = entries[0].id if entries else ""
        if not (identifier and identifier in seen):  # else an earlier state of a message that was counted
            seen.add(identifier)
            count += content.characters([entry.content for entry in entries])
        if offset == boundary:
            break
    return -(-count // 4)


def lines_backward(source: Source, most: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a source with their offsets, the last first; only those that begin in its last `most` bytes."""
    at = source.size()
    lowest = max(0, at - most)
    block = 32 * 1024  # the newest usage is usually near the end
    tail = b""
    while at > lowest:
        start = max(lowest, at - block)
        text = source.read(at - start, start) + tail
        at, block = start, min(2 * block, 1024 * 1024)
        lines = text.split(b"\n")
        tail = lines[0]  # its beginning may be further up
        offset = at + len(text)
        for line in reversed(lines[1:]):
            offset -= len(line)
            if line:
                yield offset, line
            offset -= 1
    if tail and lowest == 0:
        yield 0, tail
