"""Where a compaction cuts a session: what comes before is summarised, what comes after stays as it is.

The rules are pi's (compaction.md): go back from the newest entry until `keep_recent` tokens are kept, then cut at the
next entry that may be first. One rule is ours: no tool result is kept without its call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from clients import registry
from clients.entry import Entry


@dataclass(frozen=True, slots=True)
class CutPoint:
    """Indices into the entries."""

    first_kept: int
    turn_start: int
    """where the turn begins that the cut splits; -1 without one"""

    @property
    def splits_turn(self) -> bool:
        """Whether the cut falls within a turn."""
        return self.turn_start >= 0


def find(
    entries: Sequence[Entry],
    start: int,
    keep_recent: int,
    client: str,
    sizes: Callable[[list[Entry]], Iterator[int]],
) -> CutPoint:
    """The cut between `start` and the newest entry.

    Args:
        entries: the active branch.
        start: index of the first entry that may be summarised.
        keep_recent: tokens of the newest messages that stay.
        client: whose session it is (`whole_turns` in its row).
        sizes: tokens of entries, one by one, as far as they are asked for.
    """
    points = [index for index in range(start, len(entries)) if entries[index].can_cut]
    if not points:
        return CutPoint(start, -1)
    cut = _by_budget(entries, points, start, keep_recent, client, sizes)
    cut = _with_calls(entries, start, cut)
    if registry.row(client).whole_turns:
        cut = _with_bookkeeping(entries, start, cut)
    first = entries[cut]
    if first.kind == "message" and first.role == "user":
        return CutPoint(cut, -1)
    return CutPoint(cut, turn_start(entries, cut, start))


def turn_start(entries: Sequence[Entry], index: int, start: int) -> int:
    """The entry at or before `index` that began its turn, -1 where none from `start` on did."""
    return next((i for i in range(index, start - 1, -1) if entries[i].starts_turn), -1)


def _by_budget(
    entries: Sequence[Entry],
    points: Sequence[int],
    start: int,
    keep_recent: int,
    client: str,
    sizes: Callable[[list[Entry]], Iterator[int]],
) -> int:
    # Only messages count, as in pi: not the texts of extensions and of summaries.
    newest = [index for index in range(len(entries) - 1, start - 1, -1) if entries[index].kind == "message"]
    kept = 0
    for index, size in zip(newest, sizes([entries[index] for index in newest]), strict=True):
        kept += size
        if kept >= keep_recent:
            # Where the newest results alone fill the budget, nothing behind them can be first. pi then keeps all; other
            # clients compact in the middle of a turn, where that is the rule: the call of those results is first.
            whole = registry.row(client).whole_turns
            return next((point for point in points if point >= index), points[0] if whole else points[-1])
    return points[0]


def _with_calls(entries: Sequence[Entry], start: int, cut: int) -> int:
    """Move the cut back to a call whose result would be kept without it."""
    called: dict[str, int] = {}
    needed: list[tuple[int, int]] = []
    """result, call; some providers use an id again, so a result belongs to the latest call of its id"""
    for index in range(start, len(entries)):
        needed += [(index, called[call]) for call in entries[index].answers if call in called]
        called.update(dict.fromkeys(entries[index].calls, index))
    for result, call in reversed(needed):
        if call < cut <= result:
            cut = _first_of_group(entries, start, call)
    return cut


def _first_of_group(entries: Sequence[Entry], start: int, index: int) -> int:
    group = entries[index].group
    if not group:
        return index
    return next(i for i in range(start, index + 1) if entries[i].group == group)


def _with_bookkeeping(entries: Sequence[Entry], start: int, cut: int) -> int:
    while cut > start and entries[cut - 1].kind not in ("message", "compaction"):
        cut -= 1
    return cut
