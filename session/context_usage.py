"""How full a session's context is, and what a compaction kept in it, from the end of its transcript. Hot path.

Only what came after the latest compaction counts. The usage of an answer from before it describes a context that no
longer exists; taking it for the present context compacts a session twice, the second time to nothing.
"""

from __future__ import annotations

import clients
from clients import content
from core import TYPE_CHECKING
from core.errors import Failure
from core.store.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from clients import Client
    from clients.entries import Entry
    from core.config import Config
    from core.store.sources import Source
    from session.session import ContextUsage

MAX_BYTES = 4 * 1024 * 1024  # read of a transcript, from its end


def of_transcript(path: str, agent: str, *, model: str = "", config: Config) -> ContextUsage:
    """How full the context is, by the newest usage or compaction in the last 4 MiB of a transcript, else estimated."""
    found = _Newest()
    try:
        client = clients.with_transcript(agent)
        with open_source(path) as source:
            found.read(source, client)
            if found.tokens is None:
                found.tokens, found.source = _estimate(source, client, found.boundary), "estimate"
    except (OSError, ValueError, Failure):
        found.tokens, found.source = None, "none"
    tokens = found.tokens
    used = tokens or 0 if found.source != "estimate" else 0
    window = found.window or clients.row(agent).context_window((model, found.model), used, config)
    if tokens is not None and found.source == "estimate":
        tokens = min(tokens, window)
    percent = round(tokens * 100 / window, 2) if tokens is not None else None
    return {"tokens": tokens, "window": window, "percent": percent, "source": found.source}


def kept_text(path: str, agent: str) -> str:
    """What the last compaction left in the context word for word, if the client records its first kept entry."""
    client = clients.row(agent)
    texts: list[str] = []
    first_kept = ""
    most = 8 * 1024 * 1024  # bytes: a context holds less
    with open_source(path) as source:
        for _, line in lines_backward(source, most):
            entries = client.entries(content.parsed(line) or {})
            if not first_kept:
                compaction = next((entry for entry in entries if entry.kind == "compaction"), None)
                if compaction is not None and not compaction.first_kept:
                    return ""
                first_kept = compaction.first_kept if compaction is not None else ""
                continue
            texts += reversed(content.texts_in([entry.content for entry in entries if entry.kind != "system"]))
            if entries and entries[0].id == first_kept:
                return "\n".join(reversed(texts))
        is_whole = source.size() <= most
    return "" if is_whole else "\n".join(reversed(texts))  # else it begins further up


class _Newest:
    """What the end of a transcript says about the context."""

    def __init__(self) -> None:
        self.tokens: int | None = None
        self.source: Literal["usage", "boundary", "estimate", "none"] = "none"
        self.window = 0
        self.model = ""
        self.boundary: int | None = None
        """Offset of the line of a compaction that does not say how large the context is after it."""
        self.is_edited = False  # the client has changed the context since the usage was reported

    def read(self, source: Source, client: Client) -> None:
        """Find the newest usage or compaction, and the window if the client writes it."""
        snapshot, written_at = "", 0
        older = lines_backward(source, MAX_BYTES)
        for offset, line in older:
            if not any(mark in line for mark in client.context_marks):
                continue
            entries = client.entries(content.parsed(line) or {})  # a line may be half written
            if not self.window:
                self.window = max((entry.window for entry in entries), default=0)
            if entries and entries[0].kind == "history" and not snapshot:
                snapshot, written_at = entries[0].id, offset
            if not self._is_decided:
                self._take(entries, offset)
                if self.source == "usage" and snapshot and not any(snapshot.encode() in line for _, line in older):
                    # The history was compressed after this usage. If the session was only resumed, the snapshot is
                    # also further up.
                    self.tokens, self.source, self.boundary = None, "none", written_at
            if self._is_decided and (self.window or not client.has_window):
                return
        if not self._is_decided and snapshot:
            self.boundary = written_at

    @property
    def _is_decided(self) -> bool:
        return self.tokens is not None or self.boundary is not None

    def _take(self, entries: list[Entry], offset: int) -> None:
        for entry in reversed(entries):
            self.is_edited |= entry.kind == "context_edit"
            if entry.kind == "usage" and entry.tokens and not self.is_edited:
                self.tokens, self.source, self.model = entry.tokens, "usage", entry.model
                return
            if entry.kind == "compaction":
                if entry.tokens_after:
                    self.tokens, self.source = entry.tokens_after, "boundary"
                else:
                    self.boundary = offset
                return


def _estimate(source: Source, client: Client, boundary: int | None) -> int:
    """Estimated tokens since a compaction, with its summary; of everything if there was none. Four characters each."""
    count = 0
    seen: set[str] = set()
    for offset, line in lines_backward(source, MAX_BYTES):
        entries = client.entries(content.parsed(line) or {})
        identifier = entries[0].id if entries else ""
        if identifier and identifier in seen:
            continue  # an earlier state of a message that was counted
        seen.update((identifier, entries[0].edits) if entries else ())
        is_excluded = bool(entries) and entries[0].kind == "shell" and entries[0].is_meta
        count += 0 if is_excluded else content.characters([entry.content for entry in entries])
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
