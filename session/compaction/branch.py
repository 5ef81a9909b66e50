"""Finds the branch that a session leaves when it goes back to an earlier entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clients.entry import path_to
from clients.file_operations import FileOperations, together
from clients.lines import Problems
from session.compaction import session_file

if TYPE_CHECKING:
    from clients.entry import Entry, Message, Transcript


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


def prepare(transcript: Transcript, leaf: str, target: str, *, budget: int) -> Branch:
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
