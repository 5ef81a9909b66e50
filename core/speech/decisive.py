"""How much a sentence says: whether it decides, gives a reason, warns, rules out or asks for something. Hot path."""

from __future__ import annotations

from core import words
from core.speech import own_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SPEAKERS = ("user: ", "assistant: ", "toolresult: ", "tool: ")
# Words with which people and agents say what was decided, why, what went wrong, what is open and what is wanted.
_DECISIVE = frozenset(
    "decision decided decide chose chosen instead rather ruled agreed because since cause caused reason therefore"
    " failed fails fail failing breaks broke broken crashes crashed wrong dropped reverted rejected retry blocked"
    " blocker waits waiting pending requires prefer prefers preferred always never only must not don without avoid"
    " please except unless until insight checkpoint remaining open done limit deadline careful warning".split()
)
_MOST_DECISIVE = 2
_CLAUSE_LEAST = 12
_LONGEST = 280
_SAME = 40
_ASKED_FOR = 0.3
_USER = "user"
_LEAST = 0.45


def sentences(text: str) -> list[str]:
    """The sentences of a text, a line break ending one too; without who said it, and without what is very short."""
    lower = text[:20].lower()
    for speaker in SPEAKERS:
        if lower.startswith(speaker):
            text = text[len(speaker) :]
            break
    found: list[str] = []
    for line in text.splitlines():
        found += [part for part in (piece.strip() for piece in line.split(". ")) if len(part) >= _CLAUSE_LEAST]
    return found


def weight(sentence: str) -> float:
    """What is lost with a sentence, 0 to 1."""
    said = words.split(sentence)
    decisive = min(_MOST_DECISIVE, len(_DECISIVE.intersection(said)))
    concrete = any(map(str.isdigit, sentence)) or "/" in sentence or "`" in sentence or "_" in sentence
    return 0.15 + 0.3 * decisive + 0.25 * concrete


def lines_of(turns: Sequence[str], told: str, room: int) -> list[str]:
    """The sentences that say most of what was said, within so many characters, in their order, each with its speaker.

    Of the user what he wrote himself: what he pasted decides nothing.

    Args:
        turns: texts such as `user: …`, oldest first.
        told: what needs not be said again, in lower case, its white space as one space.
    """
    found: list[tuple[float, int, str]] = []
    seen: set[str] = set()
    for number, turn in enumerate(turns):
        speaker, _, body = turn.partition(":")
        for sentence in sentences(own_words.said(body) if speaker == _USER else turn):
            line = " ".join(sentence.replace("**", "").split()).lstrip("-#> ")
            key = line.lower()[:_SAME]
            if len(line) > _LONGEST or key in told or key in seen:
                continue
            seen.add(key)
            worth = weight(line) + _ASKED_FOR * (speaker == _USER)
            if worth >= _LEAST:
                found.append((worth, number, f"{speaker}: {line}"))
    chosen: list[tuple[int, str]] = []
    for _, number, line in sorted(found, key=lambda one: (-one[0], -one[1])):
        if len(line) + 1 <= room:
            room -= len(line) + 1
            chosen.append((number, line))
    return [line for _, line in sorted(chosen, key=lambda one: one[0])]
