"""The words by which a text is recognised: numbers, names and long words, not those of any talk about work."""

from __future__ import annotations

from core import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_READ_CHARS = 50_000
_LONGEST = 40  # as the state keeps them
_LONG = 8
_SHORTEST = 5
# Words of any talk about work: that the agent says them shows nothing.
_COMMON = frozenset(
    "about above according actually added adding after again agreed allow allowed along already although always among"
    " another answer anything approach around asked asking available because become before begin behavior behaviour"
    " being below better between branch bring broken called calls cannot cause caused causes change changed changes"
    " changing check checked checking checkpoint checks choose clear clearly close code command commit common complete"
    " completed confirm correct correctly could create created current currently decide decided decision default"
    " delete different directory document during either enough ensure error errors every everything exactly example"
    " existing expected explain failed failing fails failure feature figure figures final finally finding finished"
    " first fixed fixes folder follow following found function further given going handle happen happens having helper"
    " implement implementation important include including inside insight instead issue issues itself keeps known"
    " later leave likely listed little longer looked looking looks makes making matter maybe means memory method might"
    " missing module moment needed needs never nothing number observation often other otherwise output parts passed"
    " passes pending people place please point possible prefer preferred prefers present previous probably problem"
    " problems project properly question quickly rather reading ready really reason recall related relevant remember"
    " remove removed request requires result results retry return returned right running safely second section should"
    " similar simple simply since single small solution something special specific start started starting state stays"
    " still stops summary support system takes tasks testing tests their there therefore these thing things think"
    " those though three through together total tried tries trying under understand unless until update updated usage"
    " using usually value values version wanted wants whether which while whole without worked working works would"
    " write writing written wrong".split()
)


def distinctive(text: str, known: Collection[str]) -> list[str]:
    """The words by which a text is recognised: numbers and parts of names and paths first, then long words."""
    weights: dict[str, int] = {}
    for chunk in text.split():
        named = _is_name(chunk)
        for word in sorted(spoken(chunk)):
            if word in known or word in words.STOP_WORDS or word in _COMMON or len(word) > _LONGEST:
                continue
            weight = _weight(word, named)
            if weight:
                weights[word] = max(weight, weights.get(word, 0))
    return sorted(weights, key=lambda word: -weights[word])


def spoken(text: str) -> set[str]:
    """The words of a text; of a run in a script without spaces its pairs."""
    text = text[:_READ_CHARS]
    found = set(words.split(text))
    if not text.isascii():
        found.update(words.parts(text).split())
    return found


def _is_name(chunk: str) -> bool:
    """Whether a chunk is a path, an identifier or the like: signs within it, or capitals within a word."""
    inner = chunk.strip("\"'`.,;:!?()[]{}<>*_-‹›")
    if any(not sign.isalnum() and sign not in "'’" for sign in inner):
        return True
    return not (inner.islower() or inner.istitle()) and any(map(str.isalpha, inner))


def _weight(word: str, named: bool) -> int:
    """How well a word tells a memory from others, 0 where it tells nothing."""
    if not word.isascii() and words.parts(word):  # a script without spaces: its pairs stand for words
        return 1 if len(word) == 2 else 0
    if any(map(str.isdigit, word)):
        return 3 if len(word) > 1 else 0
    if named and len(word) > 2:
        return 3 if len(word) >= _SHORTEST else 2
    return 2 if len(word) >= _LONG else 1 if len(word) >= _SHORTEST else 0
