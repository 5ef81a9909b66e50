"""The archive: transcripts become episodes, calls, names and places, so that all of a session can be found later.

A line of a transcript becomes rows of the store in four steps:

1. `transcript_files.find` lists the transcripts and `look_at` says whose they are; a hook knows both.
2. `ingest.ingest_file` continues at the stored offset and reads the new lines, a piece at a time. The client's
   `entries` turns a line into entries, and `admission` leaves out those of excluded folders.
3. `session_archive.Piece` collects the entries: messages, and calls in `calls.SessionCalls`. `texts` redacts and cuts
   whatever is kept, while nothing is locked. What a fork copied goes to a piece of the session that said it.
4. `session_archive.SessionArchive.store` writes a piece and the new offset in one transaction: messages as documents,
   then calls with their names, places and the reason of a failure (`calls`, `places`, `error_cause`), then the tree
   of entries, which shows what the user went back from (`core.store.branches`).

Nothing is stored twice, in whatever order transcripts are read:

- The offset is stored with the piece, and only if no other process has moved it meanwhile.
- An episode has its client's id, a call its client's key. What is known under it is completed. What was purged or
  forgotten stays known, so that it does not come back.
- What a session copied from another stays with the session that said it first (`copies` lists how that is known).
- A session that a fork has given entries is read again from its beginning, in its own order (`kinds.start_over`).
- A prompt that was typed ahead may be written twice (`carry.TypedAhead`).
"""

from __future__ import annotations

import time

from core import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.entries import Entry


class Origin:
    """The session that is archived, and how."""

    __slots__ = ("again", "agent", "cwd", "now", "session", "vectors")

    def __init__(self, agent: str, session: str, cwd: str, *, now: int, vectors: bool, again: bool = False) -> None:
        self.agent = agent  # the client's name
        self.session = session  # the id under which the session is stored
        self.cwd = cwd  # the folder that it works in, "" if unknown
        self.now = now  # ms since the epoch, for messages without a time
        self.vectors = vectors  # sqlite-vec is loaded
        self.again = again  # purged content may be archived again


class Limits:
    """How much of a transcript a call reads. By default all of it."""

    __slots__ = ("deadline", "is_short")

    def __init__(self, *, deadline: float | None = None, is_short: bool = False) -> None:
        self.deadline = deadline  # `time.monotonic()` after which no further line is begun; None except in a hook
        self.is_short = is_short  # only a piece is read

    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def is_over(self, size: int) -> bool:
        """Whether nothing more may be read after `size` bytes."""
        return self.is_late() or (self.is_short and size > 0)


class Start:
    """Where the next piece of a transcript begins. Only the first piece has more than an offset."""

    __slots__ = ("carry", "earlier_files", "header", "offset", "went_back_to")

    def __init__(
        self, offset: int, carry: str = "", *, header: Entry | None = None, earlier_files: Sequence[str] = (),
        went_back_to: tuple[str, int] = ("", 0),
    ) -> None:  # fmt: skip
        self.offset = offset
        self.carry = carry  # what the piece before it left (`carry.Carry` as JSON); "" for the first piece
        self.header = header  # the file's first entry, if reading begins behind it; its time is that of the fork
        self.earlier_files = earlier_files  # of a session that goes on in this file (Codex 0.171), the oldest first
        self.went_back_to = went_back_to  # the file of these, and the offset in it, to which the user went back
