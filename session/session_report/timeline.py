"""A session's turns in order: what the user asked, how full the context was, what the hooks cost, what happened."""

from __future__ import annotations

from bisect import bisect_right

from core import clock
from core.quoting import clip
from session.session_report.moment import began

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypedDict

    from core.records import HookCall, Prompt
    from session.session_report.moment import Moment, Timed

    class Turn(TypedDict):
        """A message of the user and what followed it. `number` 0 is what was before the first.

        `prompt` is its beginning, "" where it is not archived; `contextPercent` is the last that was told in it.
        """

        number: int
        at: str
        seconds: float | None
        prompt: str
        contextPercent: float | None
        zone: str
        toolCalls: int
        failedCalls: int
        hooks: int
        hookMs: float
        moments: list[Moment]

    class Point(TypedDict):
        """How full the context was at a hook, in percent."""

        turn: int
        at: str
        percent: float


PROMPT_CHARS = 240
_SAME_MS = 30_000
"""A hook tells of a prompt so long before the transcript's time of it, or after, at most."""
_READ_CHARS = 4_000
_ORDER = {"start": 0, "compaction": 2, "skipped": 3, "injection": 3}
"""Of what has the same time; the rest stands between."""


def turns_of(
    hooks: Sequence[HookCall],
    prompts: Sequence[Prompt],
    calls: Sequence[tuple[int, int, bool]],
    moments: Sequence[Timed],
    *,
    zone_of: Callable[[float | None], str],
) -> list[Turn]:
    """The turns, oldest first; turn 0 only where something was before the first prompt.

    Args:
        hooks, prompts: oldest first.
        calls: of each tool call its time (ms, 0 unknown), the number of its prompt, and whether it failed.
        moments: with their times, in any order.
        zone_of: the zone of a context usage.
    """
    starts = _starts(hooks, prompts)
    made = [_Turn(number, at, text) for number, (at, text) in enumerate([(0, ""), *starts])]
    begins = [one.at for one in made]
    for hook in hooks:
        made[_index(begins, began(hook))].add_hook(hook)
    for at, prompt, failed in calls:
        turn = made[_index(begins, at)] if at else made[min(prompt, len(made) - 1)]
        turn.calls += 1
        turn.failed += failed
    for at, moment in sorted(moments, key=lambda timed: (timed[0], _ORDER.get(timed[1]["kind"], 1))):
        made[_index(begins, at)].moments.append(moment)
    last = max([one["at"] for one in hooks[-1:]] + [at for at, _, _ in calls[-1:]] + begins[-1:])
    found = []
    for turn, until in zip(made, [*begins[1:], last], strict=True):
        if turn.number or turn.hooks or turn.calls or turn.moments:
            found.append(turn.record(until, zone_of))
    return found


def points_of(hooks: Sequence[HookCall], turns: Sequence[Turn], most: int) -> list[Point]:
    """The context usage at each hook that told it, at most so many: of neighbours then the fullest."""
    starts = [(clock.parse_iso(turn["at"]) or 0) if turn["number"] else 0 for turn in turns]
    known: list[Point] = []
    for hook in hooks:
        if hook["percent"] is not None and turns:
            turn = turns[_index(starts, began(hook))]["number"]
            known.append({"turn": turn, "at": clock.iso(hook["at"]), "percent": round(hook["percent"], 1)})
    size = -(-len(known) // most) if known else 1
    return [max(known[at : at + size], key=lambda one: one["percent"]) for at in range(0, len(known), size)]


def _starts(hooks: Sequence[HookCall], prompts: Sequence[Prompt]) -> list[tuple[int, str]]:
    """When each turn began, and its prompt: what a hook told and what is archived are one where their times agree."""
    told = [began(one) for one in hooks if one["kind"] == "prompt"]
    texts: dict[int, str] = dict.fromkeys(told, "")
    for prompt in prompts:
        near = [at for at in texts if abs(at - prompt["at"]) <= _SAME_MS and not texts[at] and at in told]
        at = min(near, key=lambda one: abs(one - prompt["at"])) if near else prompt["at"]
        if at not in texts or not texts[at]:
            texts[at] = clip(" ".join(prompt["text"][:_READ_CHARS].split()), PROMPT_CHARS)
    return sorted(texts.items())


def _index(begins: Sequence[int], at: int) -> int:
    """The last turn that had begun by a time."""
    return max(0, bisect_right(begins, at) - 1)


class _Turn:
    __slots__ = ("at", "calls", "failed", "first", "hooks", "moments", "ms", "number", "percent", "text")

    def __init__(self, number: int, at: int, text: str) -> None:
        self.number = number
        self.at = at
        self.text = text
        self.hooks = 0
        self.first = 0
        self.ms = 0.0
        self.percent: float | None = None
        self.calls = 0
        self.failed = 0
        self.moments: list[Moment] = []

    def add_hook(self, hook: HookCall) -> None:
        self.hooks += 1
        self.first = self.first or began(hook)
        self.ms += hook["ms"] or 0
        if hook["percent"] is not None:
            self.percent = hook["percent"]

    def record(self, until: int, zone_of: Callable[[float | None], str]) -> Turn:
        at = self.at or self.first
        return {
            "number": self.number,
            "at": clock.iso(at) if at else (self.moments[0]["at"] if self.moments else "unknown"),
            "seconds": round(max(0, until - at) / 1000, 1) if at else None,
            "prompt": self.text,
            "contextPercent": None if self.percent is None else round(self.percent, 1),
            "zone": zone_of(self.percent),
            "toolCalls": self.calls,
            "failedCalls": self.failed,
            "hooks": self.hooks,
            "hookMs": round(self.ms, 1),
            "moments": self.moments,
        }
