"""A session's turns in order: what the user asked, how full the context was, what the hooks cost, what happened."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from core import clock
from core.quoting import clip
from core.records import HookCall, Prompt
from session.session_report.moment import Moment, Timed, began

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
) -> list[dict[str, Any]]:
    """The turns, oldest first: each a message of the user and what followed it.

    Turn 0 is what was before the first message, where there was something. A `prompt` is its beginning, "" where it is
    not archived; `contextPercent` the last that was told in the turn.

    Args:
        hooks, prompts: oldest first.
        calls: of each tool call its time (ms, 0 unknown), the number of its prompt, and whether it failed.
        moments: with their times, in any order.
        zone_of: the zone of a context usage.
    """
    starts = [(0, ""), *_starts(hooks, prompts)]
    begins = [at for at, _ in starts]
    hooks_of: list[list[HookCall]] = [[] for _ in starts]
    calls_of: list[list[bool]] = [[] for _ in starts]
    moments_of: list[list[Moment]] = [[] for _ in starts]
    for hook in hooks:
        hooks_of[_index(begins, began(hook))].append(hook)
    for at, prompt, failed in calls:
        calls_of[_index(begins, at) if at else min(prompt, len(starts) - 1)].append(failed)
    for at, moment in sorted(moments, key=lambda timed: (timed[0], _ORDER.get(timed[1]["kind"], 1))):
        moments_of[_index(begins, at)].append(moment)
    last = max([one["at"] for one in hooks[-1:]] + [at for at, _, _ in calls[-1:]] + begins[-1:])
    found = []
    for number, (start, text) in enumerate(starts):
        own, made, happened = hooks_of[number], calls_of[number], moments_of[number]
        if not (number or own or made or happened):
            continue
        at = start or (began(own[0]) if own else 0)
        until = begins[number + 1] if number + 1 < len(begins) else last
        percent = next((hook["percent"] for hook in reversed(own) if hook["percent"] is not None), None)
        found.append(
            {
                "number": number,
                "at": clock.iso(at) if at else (happened[0]["at"] if happened else "unknown"),
                "seconds": round(max(0, until - at) / 1000, 1) if at else None,
                "prompt": text,
                "contextPercent": None if percent is None else round(percent, 1),
                "zone": zone_of(percent),
                "toolCalls": len(made),
                "failedCalls": sum(made),
                "hooks": len(own),
                "hookMs": round(sum(hook["ms"] or 0 for hook in own), 1),
                "moments": happened,
            }
        )
    return found


def points_of(hooks: Sequence[HookCall], turns: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The context usage (`turn`, `at`, `percent`) at each hook that told it, at most so many: the fullest of
    neighbours."""
    starts = [(clock.parse_iso(turn["at"]) or 0) if turn["number"] else 0 for turn in turns]
    known = [
        {
            "turn": turns[_index(starts, began(hook))]["number"],
            "at": clock.iso(hook["at"]),
            "percent": round(hook["percent"], 1),
        }
        for hook in hooks
        if hook["percent"] is not None and turns
    ]
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
