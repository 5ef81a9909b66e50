"""Prepares a compaction, or leaving a branch: where to cut, what to summarise, which files to list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from clients import registry
from clients.entry import NO_FILES, Entry, FileOperations, Message, Problems, Transcript, path_to, together
from session.compaction import context, cut_point, session_file


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

    `keep_recent`: tokens of the newest messages that stay as they are.
    """
    entries = transcript.entries
    settings = {"reserveTokens": reserve, "keepRecentTokens": keep_recent, "window": window}
    tokens = context.size(transcript).total
    previous = transcript.last_compaction()
    if context.said_since_compaction(transcript) == 0:
        reason: Literal["empty", "nothing-since-compaction"] = "empty" if previous < 0 else "nothing-since-compaction"
        return Preparation(transcript, reason, None, False, tokens, "", (), (), NO_FILES, settings)
    start = _start(entries, previous)
    cut = cut_point.find(transcript, start, keep_recent)
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


@dataclass(frozen=True, slots=True)
class Branch:
    """The branch that is left."""

    transcript: Transcript
    leaf: str
    target: str
    common_ancestor: str | None
    entries: tuple[Entry, ...]
    """after the common ancestor up to the leaf, oldest first, bookkeeping included"""
    chosen: tuple[Entry, ...]
    """those that the summary is made from, newest first"""
    tokens: int
    """of the chosen ones, estimated"""
    file_ops: FileOperations
    problems: tuple[str, ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the summary is made from, oldest first."""
        return tuple(session_file.messages(self.transcript, reversed(self.chosen)))


def prepare_branch(transcript: Transcript, leaf: str, target: str, *, budget: int) -> Branch:
    """The branch that is left when a session goes from `leaf` to `target`.

    Args:
        transcript: the session.
        leaf: id of the entry that is left; "" is the session's newest.
        target: id of the entry that it goes to.
        budget: most tokens of messages, the newest first; 0 sets no limit. A summary that does not fit is still taken
            while less than nine tenths are used, since it stands for much.

    Raises:
        Failure: ENTRY_UNKNOWN (exit 2).
    """
    leaf = leaf or (transcript.entries[-1].id if transcript.entries else "")
    for identifier in (leaf, target):
        if identifier not in transcript.tree:
            raise session_file.unknown_entry(transcript.path, identifier)
    problems = Problems()
    left = path_to(leaf, transcript.tree, problems)
    there = {entry.id for entry in path_to(target, transcript.tree, problems)}
    common = next((entry.id for entry in reversed(left) if entry.id in there), None)
    own = tuple(entry for entry in left if entry.id not in there)
    chosen, walked, tokens = _chosen(transcript, own, budget)
    listed = [entry.files for entry in own if entry.kind == "branch_summary"]
    done = [entry.files for entry in walked if entry.kind == "message"]
    return Branch(transcript, leaf, target, common, own, chosen, tokens, together([*listed, *done]), problems.all())


def _chosen(
    transcript: Transcript, entries: tuple[Entry, ...], budget: int
) -> tuple[tuple[Entry, ...], tuple[Entry, ...], int]:
    """The entries within the budget, those that were looked at, and the tokens. Tool results are left out: their calls
    stand for them."""
    chosen: list[Entry] = []
    walked: list[Entry] = []
    total = 0
    speaking = [entry for entry in reversed(entries) if entry.role is not None and entry.role != "tool_result"]
    for entry, size in zip(speaking, session_file.sizes(transcript, speaking), strict=True):
        walked.append(entry)
        if budget > 0 and total + size > budget:
            if entry.kind in ("compaction", "branch_summary") and total < budget * 0.9:
                chosen.append(entry)
                total += size
            break
        chosen.append(entry)
        total += size
    return tuple(chosen), tuple(walked), total
