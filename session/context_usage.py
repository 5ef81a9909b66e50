"""How full a session's context is, from the end of its transcript. Hot path.

Only what came after the latest compaction counts: the usage of an answer from before it describes a context that is no
more, and taking it for the present one compacts a session twice, the second time to nothing.
"""

from __future__ import annotations

import os

import clients
from clients import content
from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO, Literal

    from clients.event import Format
    from core.config import Config
    from session.session import ContextUsage

MOST_BYTES = 4 * 1024 * 1024
"""What is read of a transcript at most, from its end."""
CHARS_PER_TOKEN = 4
"""As pi's compaction estimates a context whose size no model has said."""
_FIRST_BLOCK = 32 * 1024
_LAST_BLOCK = 1024 * 1024


def of_transcript(path: str, agent: str, *, model: str = "", config: Config) -> ContextUsage:
    """How full the context is, by the newest usage or compaction of a transcript, of which 4 MiB are read at most."""
    found = _Found()
    try:
        form = clients.transcript(agent)
        if not os.path.isfile(path):
            raise OSError(path)
        with open(path, "rb") as handle:
            found.look(handle, form)
            if found.tokens is None:
                found.tokens, found.source = _estimated(handle, form, found.boundary), "estimate"
    except (OSError, ValueError, Failure):
        found.tokens, found.source = None, "none"
    tokens = found.tokens
    used = tokens or 0 if found.source != "estimate" else 0
    window = found.window or clients.row(agent).context_window((model, found.model), used, config)
    if tokens is not None and found.source == "estimate":
        tokens = min(tokens, window)
    percent = round(tokens * 100 / window, 2) if tokens is not None else None
    return {"tokens": tokens, "window": window, "percent": percent, "source": found.source}


class _Found:
    """What a transcript says of the context, collected from its end backwards."""

    def __init__(self) -> None:
        self.tokens: int | None = None
        self.source: Literal["usage", "boundary", "estimate", "none"] = "none"
        self.window = 0
        self.model = ""
        self.boundary: int | None = None
        """Offset of the line of a compaction that does not say its tokens."""

    def look(self, handle: BinaryIO, form: Format) -> None:
        """Find the newest usage or compaction, and the window where the client writes it."""
        window_of = getattr(form, "window_of", None)
        snapshot_of = getattr(form, "snapshot_of", None)
        snapshot, written_at = "", 0
        older = _backwards(handle)
        for offset, line in older:
            if not any(mark in line for mark in form.CONTEXT_MARKS):
                continue
            entry = content.parsed(line) or {}  # half written, or cut
            if window_of is not None and not self.window:
                self.window = window_of(entry)
            if snapshot_of is not None and not snapshot:
                snapshot, written_at = snapshot_of(entry), offset
            if not self._decided:
                self._record(form, entry, offset)
                if self.source == "usage" and snapshot and not any(snapshot.encode() in line for _, line in older):
                    # the history was compressed after this usage; where it only was resumed, it stands further up, too
                    self.tokens, self.source, self.boundary = None, "none", written_at
            if self._decided and (self.window or window_of is None):
                return
        if not self._decided and snapshot:
            self.boundary = written_at

    @property
    def _decided(self) -> bool:
        return self.tokens is not None or self.boundary is not None

    def _record(self, form: Format, entry: dict[str, Any], offset: int) -> None:
        for item in reversed(form.items(entry)):
            if item["kind"] == "usage":
                self.tokens, self.source, self.model = item["tokens"], "usage", item["model"]
                self.window = item["window"] or self.window
                return
            if item["kind"] == "compaction":
                self.tokens = item["tokens"]
                if self.tokens is None:
                    self.boundary = offset
                else:
                    self.source = "boundary"
                return


def _estimated(handle: BinaryIO, form: Format, boundary: int | None) -> int:
    """Tokens of what was said since a compaction, and its summary; of all where there was none."""
    count = 0
    seen = set()
    for offset, line in _backwards(handle):
        entry = content.parsed(line) or {}
        identifier = entry.get("id")
        if isinstance(identifier, str):
            if identifier in seen:
                continue  # an earlier state of a message that was counted
            seen.add(identifier)
        count += form.context_characters(entry)
        if offset == boundary:
            break
    return -(-count // CHARS_PER_TOKEN)


def _backwards(handle: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of a file and their offsets, the last first; those that begin in its last 4 MiB."""
    at = handle.seek(0, os.SEEK_END)
    lowest = max(0, at - MOST_BYTES)
    block = _FIRST_BLOCK
    tail = b""
    while at > lowest:
        start = max(lowest, at - block)
        handle.seek(start)
        text = (handle.read(at - start) or b"") + tail
        at, block = start, min(2 * block, _LAST_BLOCK)
        lines = text.split(b"\n")
        tail = lines[0]  # its beginning may lie further up
        offset = at + len(text)
        for line in reversed(lines[1:]):
            offset -= len(line)
            if line:
                yield offset, line
            offset -= 1
    if tail and lowest == 0:
        yield 0, tail
