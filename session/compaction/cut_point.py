"""Where a compaction cuts a session: what comes before is summarised, what comes after stays as it is.

The rules are pi's (compaction.md): go back from the newest entry until `keep_recent` tokens are kept, then cut at the
next entry that may be first. One rule is ours: no tool result is kept without its call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clients import registry
from clients.entry import Entry, Transcript
from session.compaction import session_file


class CutPoint(NamedTuple):
    """Indices into the entries; `turn_start` is -1 where the cut splits no turn."""

    first_kept: int
    turn_start: int

    @property
    def splits_turn(self) -> bool:
        """Whether the cut falls within a turn."""
        return self.turn_start >= 0


def find(transcript: Transcript, start: int, keep_recent: int) -> CutPoint:
    """The cut between `start`, the first entry that may be summarised, and the newest entry.

    Args:
        keep_recent: tokens of the newest messages that stay.
    """
    entries = transcript.entries
    points = [index for index in range(start, len(entries)) if entries[index].can_cut]
    if not points:
        return CutPoint(start, -1)
    cut = _with_calls(entries, start, _by_budget(transcript, points, start, keep_recent))
    if registry.row(transcript.client).whole_turns:
        while cut > start and entries[cut - 1].kind not in ("message", "compaction"):
            cut -= 1  # bookkeeping goes with what follows it
    is_turn = entries[cut].kind == "message" and entries[cut].role == "user"
    return CutPoint(cut, -1 if is_turn else turn_start(entries, cut, start))


def turn_start(entries: Sequence[Entry], index: int, start: int) -> int:
    """The entry at or before `index` that began its turn, -1 where none from `start` on did."""
    return next((i for i in range(index, start - 1, -1) if entries[i].starts_turn), -1)


def _by_budget(transcript: Transcript, points: Sequence[int], start: int, keep_recent: int) -> int:
    # Only messages count, as in pi: not the texts of extensions and of summaries.
    entries = transcript.entries
    newest = [index for index in range(len(entries) - 1, start - 1, -1) if entries[index].kind == "message"]
    kept = 0
    for index, size in zip(newest, session_file.sizes(transcript, [entries[one] for one in newest]), strict=True):
        kept += size
        if kept >= keep_recent:
            # Where the newest results alone fill the budget, nothing behind them can be first. pi then keeps all; other
            # clients compact in the middle of a turn, where that is the rule: the call of those results is first.
            whole = registry.row(transcript.client).whole_turns
            return next((point for point in points if point >= index), points[0] if whole else points[-1])
    return points[0]


def _with_calls(entries: Sequence[Entry], start: int, cut: int) -> int:
    """Move the cut back to a call whose result would be kept without it, with all lines of its answer."""
    called: dict[str, int] = {}
    needed: list[tuple[int, int]] = []
    """result, call; some providers use an id again, so a result belongs to the latest call of its id"""
    for index in range(start, len(entries)):
        needed += [(index, called[call]) for call in entries[index].answers if call in called]
        called.update(dict.fromkeys(entries[index].calls, index))
    for result, call in reversed(needed):
        if call < cut <= result:
            group = entries[call].group
            cut = next(i for i in range(start, call + 1) if i == call or (group and entries[i].group == group))
    return cut
