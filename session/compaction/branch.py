"""What a summary of a branch is made from, when a session goes back to an earlier entry and on from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clients.entry import path_to
from clients.file_operations import FileOperations, together
from clients.lines import Problems
from core.errors import usage
from session.compaction import reading

if TYPE_CHECKING:
    from clients.entry import Entry, Message, Transcript


@dataclass(frozen=True, slots=True)
class Branch:
    """The way that is left."""

    transcript: Transcript
    leaf: str
    target: str
    common_ancestor: str | None
    entries: tuple[Entry, ...]
    """from behind the common ancestor to the leaf, oldest first, bookkeeping included"""
    chosen: tuple[Entry, ...]
    """those of them that the summary is made from, newest first"""
    tokens: int
    """estimated, of those"""
    file_ops: FileOperations
    problems: tuple[str, ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the summary is made from, oldest first."""
        return tuple(reading.messages(self.transcript, reversed(self.chosen)))


def prepare(transcript: Transcript, leaf: str, target: str, *, budget: int) -> Branch:
    """The branch that is left when a session goes from `leaf` to `target`.

    Args:
        transcript: the session.
        leaf: id of the entry that is left; "" is where the session stands.
        target: id of the entry that it goes to.
        budget: tokens that the messages may take together, from the newest one back; 0 sets no limit. A summary that
            does not fit is taken while less than nine tenths of it are used, since it stands for much.

    Raises:
        Failure: ENTRY_UNKNOWN (exit 2).
    """
    leaf = leaf or (transcript.entries[-1].id if transcript.entries else "")
    for identifier in (leaf, target):
        if identifier not in transcript.tree:
            raise usage(
                "ENTRY_UNKNOWN",
                f"{transcript.path} has no entry {identifier[:80]!r}",
                "name the id of an entry; `joelclaw compaction prepare` shows some",
            )
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
    """The entries within the budget, those that were looked at, and the tokens. What a tool returned is left out: the
    call tells of it."""
    chosen: list[Entry] = []
    walked: list[Entry] = []
    total = 0
    speaking = [entry for entry in reversed(entries) if entry.role is not None and entry.role != "tool_result"]
    for entry, size in zip(speaking, reading.sizes(transcript, speaking), strict=True):
        walked.append(entry)
        if budget > 0 and total + size > budget:
            if entry.kind in ("compaction", "branch_summary") and total < budget * 0.9:
                chosen.append(entry)
                total += size
            break
        chosen.append(entry)
        total += size
    return tuple(chosen), tuple(walked), total
