"""How well a reference names a file: the words of one in the other.

score = .75 · (how much of the reference the name has) + .25 · (how much of the name the reference has), where a word
counts 1 when it is the same, .85 when one begins the other, its likeness when it is a misspelling, and .6 of that when
only a folder above has it. Under LEAST, or with less than two thirds of the reference, it is no match; a question needs
all of its words in the name: what is asked about is seldom what a file is called.
"""

from __future__ import annotations

import os
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from core import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LEAST = 0.55
_LEAST_COVERED = 0.66
_BEGINS = 0.85
_LEAST_ALIKE = 0.8
_FOLDER = 0.6
_SHORTEST = 3
"""Letters of a word that may be misspelt or abbreviated."""
_MOST_WORDS = 12
_ASKING = [[word] for word in "what why how which when who where whose".split()]


def best(reference: str, names: Iterable[tuple[str, str]], most: int) -> list[tuple[str, float]]:
    """The best matches among (key, relative path) pairs as (key, score), best first, at most `most`."""
    wanted = tokens(reference)
    if not wanted or len(wanted) > _MOST_WORDS:
        return []
    if is_question(reference):
        names = [(key, os.path.basename(name)) for key, name in names]
        names = [(key, name) for key, name in names if _has_all(wanted, name)]
    scored = [(key, score(wanted, name)) for key, name in names]
    kept = [one for one in scored if one[1] >= LEAST]
    kept.sort(key=lambda one: (-one[1], len(one[0]), one[0]))
    return kept[:most]


def is_question(reference: str) -> bool:
    """Whether a reference asks for something rather than names it."""
    return reference.rstrip().endswith("?") or words.split(reference)[:1] in _ASKING


def _has_all(wanted: Sequence[str], name: str) -> bool:
    own = _spelt(os.path.splitext(name)[0])
    return all(_nearest(word, own) for word in wanted)


def score(wanted: Sequence[str], name: str) -> float:
    """0 to 1: how well the words name the file with this relative path; 0 for no match."""
    folder, base = os.path.split(name)
    stem = os.path.splitext(base)[0]
    own, above = _spelt(stem), _spelt(folder)
    gains = [max(_nearest(word, own), _FOLDER * _nearest(word, above)) for word in wanted]
    covered = sum(gains) / len(wanted)
    if covered < _LEAST_COVERED:
        return 0.0
    named = [word for word in own if not word.isdigit()] or own
    back = sum(_nearest(word, wanted) for word in named) / len(named) if named else 0.0
    return round(0.75 * covered + 0.25 * back, 4)


def tokens(text: str) -> list[str]:
    """The words of a reference without stop words and a file's ending."""
    stem, ending = os.path.splitext(text)
    found = words.split(stem if ending.lower() in (".md", ".mdx", ".markdown") else text)
    return list(dict.fromkeys([word for word in found if word not in words.STOP_WORDS] or found))


def _spelt(text: str) -> list[str]:
    """The words of a name, with the parts of camelCase ones."""
    return list(dict.fromkeys([*words.split(text), *words.parts(text).split()]))


def _nearest(word: str, among: Sequence[str]) -> float:
    if word in among:
        return 1.0
    if word.isdigit():
        return 1.0 if any(other.isdigit() and int(other) == int(word) for other in among) else 0.0
    if len(word) < _SHORTEST:
        return 0.0
    nearest = 0.0
    for other in among:
        if len(other) < _SHORTEST:
            continue
        if other.startswith(word) or word.startswith(other):
            nearest = max(nearest, _BEGINS)
        elif abs(len(other) - len(word)) <= 2:
            alike = SequenceMatcher(None, word, other).ratio()
            nearest = max(nearest, alike if alike >= _LEAST_ALIKE else 0.0)
    return nearest
