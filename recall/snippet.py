"""The passage of a text around what was asked for, cut to a number of characters. Hot path."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CUT = "…"
_BEFORE = 0.3
"""Share of the room that stands before the match in a line that is cut."""
_LEAST_LINE = 12
"""Characters: less room than that is not filled with a part of a neighbouring line."""


def around(text: str, wanted: Sequence[str], room: int) -> str:
    """The line of a text that holds most of what is wanted, and what of the lines around it has room.

    What stands first in `wanted` counts most; where nothing of it stands in the text, that is its beginning. White
    space at the ends of lines goes, empty lines too.

    Args:
        room: characters of the result, 2 or more.
    """
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        return ""
    if len(text) <= room:
        return "\n".join(lines)
    exact = [word for word in wanted if word]
    lower = [word.lower() for word in exact]
    weights = [len(lower) - at for at in range(len(lower))]
    best, most = 0, 0.0
    for at, line in enumerate(lines):
        folded = line.lower()
        worth = 0.0
        for word, small, weight in zip(exact, lower, weights, strict=True):
            if small in folded:
                worth += weight * (2.0 if word in line else 1.5)
        if worth > most:
            best, most = at, worth
    line = lines[best]
    if len(line) > room:
        return _cut(line, exact, lower, room)
    return _widened(lines, best, room)


def _cut(line: str, exact: Sequence[str], lower: Sequence[str], room: int) -> str:
    """A part of a line that is too long: around the first of what is wanted that stands in it."""
    folded = line.lower()
    place, length = 0, 0
    for word, small in zip(exact, lower, strict=True):
        found = line.find(word)
        if found < 0 and len(folded) == len(line):  # folding may lengthen a text
            found = folded.find(small)
        if found >= 0:
            place, length = found, len(word)
            break
    inner = room - 2 * len(CUT)
    start = max(0, min(place - int(max(0, inner - length) * _BEFORE), len(line) - inner))
    end = start + inner
    if start <= len(CUT):  # the mark would stand for no more than itself
        start, end = 0, inner + len(CUT)
    elif end >= len(line) - len(CUT):
        start, end = len(line) - inner - len(CUT), len(line)
    return (CUT if start else "") + line[start:end] + (CUT if end < len(line) else "")


def _widened(lines: Sequence[str], at: int, room: int) -> str:
    """A line with those after and before it, in turn, that have room; of the last one tried, its beginning."""
    first, last = at, at
    left = room - len(lines[at])
    tail = ""
    while True:
        grown = False
        if last + 1 < len(lines) and not tail:
            following = lines[last + 1]
            if len(following) + 1 <= left:
                last += 1
                left -= len(following) + 1
                grown = True
            elif left > _LEAST_LINE + len(CUT):
                tail = following[: left - 1 - len(CUT)].rstrip() + CUT
                left -= len(tail) + 1
        if first and len(lines[first - 1]) + 1 <= left:
            first -= 1
            left -= len(lines[first]) + 1
            grown = True
        if not grown:
            return "\n".join([*lines[first : last + 1], *([tail] if tail else [])])
