"""Prepares a compaction: where to cut, what to summarise, which files to list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from clients import registry
from clients.file_operations import NONE, together
from session.compaction import context, cut_point, session_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clients.entry import Entry, Message, Transcript
    from clients.file_operations import FileOperations


@dataclass(frozen=True, slots=True)
class Preparation:
    """A prepared compaction. Its messages are read from the session file each time they are asked for."""

    transcript: Transcript
    reason: Literal["ready", "nothing-to-summarize", "nothing-since-compaction", "empty"]
    first_kept_entry_id: str | None
    is_split_turn: bool
    tokens_before: int
    previous_summary: str
    """ "" without one"""
    entries_to_summarize: tuple[Entry, ...]
    turn_prefix_entries: tuple[Entry, ...]
    file_ops: FileOperations
    """cumulative over compactions"""
    settings: dict[str, int]
    """reserveTokens, keepRecentTokens, window"""

    @property
    def messages_to_summarize(self) -> tuple[Message, ...]:
        """The messages of whole turns that are dropped, oldest first."""
        return tuple(session_file.messages(self.transcript, self.entries_to_summarize))

    @property
    def turn_prefix_messages(self) -> tuple[Message, ...]:
        """The messages at the beginning of a turn whose end is kept; empty unless `is_split_turn`."""
        return tuple(session_file.messages(self.transcript, self.turn_prefix_entries))


def prepare(transcript: Transcript, *, keep_recent: int, reserve: int, window: int) -> Preparation:
    """The compaction of a session; `reason` tells whether there is anything to summarise.

    Args:
        transcript: the session.
        keep_recent: tokens of the newest messages that stay as they are.
        reserve: tokens kept free for the answer.
        window: size of the model's context in tokens.
    """
    entries = transcript.entries
    settings = {"reserveTokens": reserve, "keepRecentTokens": keep_recent, "window": window}
    tokens = context.size(transcript).total
    previous = transcript.last_compaction()
    if context.said_since_compaction(transcript) == 0:
        reason: Literal["empty", "nothing-since-compaction"] = "empty" if previous < 0 else "nothing-since-compaction"
        return Preparation(transcript, reason, None, False, tokens, "", (), (), NONE, settings)
    start = _start(entries, previous)

    def sizes(some: list[Entry]) -> Iterator[int]:
        return session_file.sizes(transcript, some)

    cut = cut_point.find(entries, start, keep_recent, transcript.client, sizes)
    history_end = cut.turn_start if cut.splits_turn else cut.first_kept
    history = _speaking(entries[start:history_end])
    prefix = _speaking(entries[cut.turn_start : cut.first_kept]) if cut.splits_turn else ()
    compaction = entries[previous].compaction if previous >= 0 else None
    return Preparation(
        transcript,
        "ready" if history or prefix else "nothing-to-summarize",
        entries[cut.first_kept].id,
        cut.splits_turn,
        tokens,
        compaction.summary if compaction is not None else "",
        history,
        prefix,
        _files(transcript, previous, cut.first_kept, (*history, *prefix)),
        settings,
    )


def _start(entries: Sequence[Entry], previous: int) -> int:
    """The index of the first entry that no summary covers."""
    compaction = entries[previous].compaction if previous >= 0 else None
    if compaction is None:
        return 0
    first = (index for index, entry in enumerate(entries) if entry.id == compaction.first_kept)
    return next(first, previous + 1)


def _speaking(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(entry for entry in entries if entry.role is not None and entry.kind != "compaction")


def _files(transcript: Transcript, previous: int, cut: int, summarized: Iterable[Entry]) -> FileOperations:
    """What the last summary listed, and what was done since. Where the client's compactions list no files, everything
    that was done before the cut is still in the file."""
    if not registry.row(transcript.client).lists_files:
        return together(entry.files for entry in transcript.entries[:cut])
    listed = [transcript.entries[previous].files] if previous >= 0 else []
    return together([*listed, *(entry.files for entry in summarized if entry.kind == "message")])
