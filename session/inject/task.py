"""What a session was last asked to do, as a prompt has it (ADR-0203). Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.quoting import CUT, clip, cost, one_line
from session.inject.topics import is_request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.records import Call

LINE_CHARS, LAST_CHARS, OFFER_CHARS = 150, 100, 190
_CHOICE_CHARS = 60
_COUNTED = {"first": "1", "second": "2", "third": "3"}
_LOOKED_BACK = 12
READ_CHARS = 2_000  # of a prompt
_EVER = 1 << 62
_AWAY_MS = 2 * 3_600_000
"""A prompt so long after what was said or called last begins a turn, whatever ended the one before."""
_GO_ON = frozenset("go on ahead continue proceed resume carry keep going and please yes ok okay sure thanks".split())


def last_request(prompts: Sequence[str]) -> str:
    """The last prompt that says what to do, more than "go on"; of prompts oldest first."""
    return next((prompt for prompt in prompts[: -_LOOKED_BACK - 1 : -1] if is_request(prompt)), "")


def quoted(
    said: Sequence[tuple[int, str]], calls: Sequence[Call], ended_at: int, spoken: Callable[[int], str] | None = None
) -> str:
    """What was asked in the open turn, its first and last request and the last words: `"…" · then: "…"`.

    Where the last words only choose ("1+2", "yes"), what the agent had asked stands behind them, as its words; where
    else they are no request, the last one before stands in front. What the agent ended its turn after says so. "Go on"
    is none. `said` tells when (ms) and what, "" for the agent; `spoken` what the agent said last up to a time.
    """
    at = _turn(said, calls, ended_at)
    before = [one for _, one in said[:at] if _is_telling(one)]
    opened = [one for _, one in said[at:] if one]
    telling = [one for one in opened if _is_telling(one)] or opened[-1:] * bool(before)
    asked = [one for one in telling if is_request(one)]
    told = dict.fromkeys((asked or telling)[:1] + asked[-1:] + telling[-1:], "")
    is_open = bool(told)
    told = told or dict.fromkeys(before[-1:], " (turn ended)")
    last = next(reversed(told), "")
    offer = ""
    if spoken and last and not is_request(last) and len(last) <= _CHOICE_CHARS:
        offer = offered(last, spoken(max(when for when, one in said if one == last)))
    if is_open and not asked and not offer:
        request = last_request([one for one in before if len(one) > LAST_CHARS or "?" not in one])
        told = dict.fromkeys([request] * bool(request), " (turn ended)") | told
    return " · then: ".join(
        f'"{opening(one, LAST_CHARS if at else LINE_CHARS)}"{answered}'
        for at, (one, answered) in enumerate(told.items())
    ) + (f' · to the agent\'s "{offer}"' if offer else "")


def offered(choice: str, words: str) -> str:
    """The options of an agent's last words that a prompt chooses by number, else the question that they end with."""
    import re

    words = words.replace("**", "")
    asked = words.rstrip().rpartition("\n")[2]
    numbers = [_COUNTED.get(one, one) for one in re.findall(r"\b(?:\d|first|second|third)\b", choice.lower())]
    listed = dict(re.findall(r"(?mi)^\W*(?:option |#)?(\d)[.):]\s*(\S.*)$", words))
    chosen = [f"{one}. {listed[one]}" for one in numbers if one in listed]
    if not chosen and (numbers or not asked.endswith("?")):
        return ""
    chosen = chosen or [re.split(r"(?<=[.!:]) ", asked)[-1]]
    return " ".join(clip(one_line(one), OFFER_CHARS // len(chosen)) for one in chosen)[:OFFER_CHARS]


def _turn(said: Sequence[tuple[int, str]], calls: Sequence[Call], ended_at: int) -> int:
    """Where what is open begins: behind the last turn that ended (ms; 0: not noted by the client), and behind the last
    words of the agent that no call followed before the user's; in a turn that goes on, after some work."""
    times = sorted(call["at"] for call in calls if call["at"] is not None)
    earlier = times[:]
    for at in range(len(said) - 1, 0, -1):
        spoke, text = said[at]
        while earlier and earlier[-1] > spoke:
            earlier.pop()
        if text and spoke - max(said[at - 1][0], *earlier[-1:], 0) > _AWAY_MS:
            ended_at = max(ended_at, said[at - 1][0])
            break
    over = sum(at <= ended_at for at, _ in said)
    is_noted = ended_at and sum(bool(text) for _, text in said[over:]) <= _LOOKED_BACK
    over *= bool(is_noted)
    until = _EVER
    for at in range(len(said), 0, -1):
        spoke, text = said[at - 1]
        while times and times[-1] >= until:
            times.pop()
        last = times[-1] if times else 0
        if not text and last < spoke and (at == len(said) or said[at][1]):
            asked = next((when for when, one in reversed(said[: at - 1]) if one), 0)
            if not is_noted or (at < len(said) and asked < last):
                return max(at, over)
        until = spoke
    return over


def _is_telling(prompt: str) -> bool:
    return bool(prompt) and not _GO_ON.issuperset(words.split(prompt))


def opening(prompt: str, characters: int) -> str:
    """A prompt in a line without marks or quotations, a plan by its title. A long one is cut at a line's end if it can;
    one paragraph in its middle, for what is still open often stands last."""
    outside = "".join(f"\n{prompt[:READ_CHARS]}".split("\n```")[::2]).splitlines()
    own = [line for line in outside if line.strip() and line.lstrip()[0] != ">"]
    parts = [part.strip() for part in own or prompt[:READ_CHARS].splitlines() if part.strip()]
    if len(parts) > 1 and parts[0].endswith(":") and parts[1].startswith("# "):
        parts = parts[1:2]
    text = "\n".join(part.lstrip("#>*- ") for part in parts)
    end = text.rfind("\n", characters // 2, characters - 1) if len(text) > characters else -1
    if end < 0 and "\n" not in text and len(prompt) < READ_CHARS and len(text) > characters:
        tail = text[-(characters * 2 // 5) :].partition(" ")[2]
        both = f"{clip(one_line(text), characters - len(tail) - 1)} {one_line(tail)}"
        if cost(both) <= characters // 2:
            return both
    return clip(one_line(text if end < 0 else f"{text[:end]} {CUT}"), characters, characters // 2)


def is_in(summary: str, line: str) -> bool:
    """Whether a client's summary repeats what the user asked for, of the line that tells it."""
    asked = line.partition('"')[2].rstrip('"').lower().split(CUT)
    known = " ".join(summary.lower().split())
    return all(" ".join(part.split()) in known for part in asked)
