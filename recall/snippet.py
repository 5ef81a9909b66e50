"""The part of a text around what was asked for, cut to a number of characters. Hot path."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CUT = "…"
_BEFORE = 0.3  # share of the room that stands before the match in a line that is cut
_LEAST_LINE = 12  # characters: less room than that is not filled with a part of a neighbouring line


def around(text: str, wanted: Sequence[str], room: int) -> str:
    """The line of a text that holds most of what is wanted, and what of the lines around it has room (characters)."""
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    if not lines or len(text) <= room:
        return "\n".join(lines)
    words = [word for word in wanted if word]

    def worth(line: str) -> float:
        folded = line.lower()
        found = ((rank, word) for rank, word in enumerate(reversed(words), 1) if word.lower() in folded)
        return sum(rank * (2.0 if word in line else 1.5) for rank, word in found)

    worths = [worth(line) for line in lines]
    best = worths.index(max(worths))
    return _cut(lines[best], words, room) if len(lines[best]) > room else _widened(lines, best, room)


def _cut(line: str, words: Sequence[str], room: int) -> str:
    """A part of a line that is too long: around the first of what is wanted that stands in it."""
    folded = line.lower() if len(line.lower()) == len(line) else ""  # folding may lengthen a text
    places = ((line.find(word) if word in line else folded.find(word.lower()), len(word)) for word in words)
    place, length = next((found for found in places if found[0] >= 0), (0, 0))
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
    shown, left = [lines[at]], room - len(lines[at])
    after, before = [*lines[at + 1 :]], [*lines[:at]]
    while after or before:
        if after:
            line = after.pop(0)
            if len(line) >= left:
                line = line[: left - 1 - len(CUT)].rstrip() + CUT if left > _LEAST_LINE + len(CUT) else ""
                after.clear()
            if line:
                shown.append(line)
                left -= len(line) + 1
        if before and len(before[-1]) < left:
            shown.insert(0, before.pop())
            left -= len(shown[0]) + 1
        else:
            before.clear()
    return "\n".join(shown)
