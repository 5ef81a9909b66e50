"""The names in a query: identifiers, paths, file names, numbers, flags; and whether a text holds one. Hot path.

A name is found as it is written; words are found by what they mean. A query that is one name means that name.
"""

from __future__ import annotations

from core import words
from core.names import is_file

COMMANDS = "commands"
"""What a query may ask for beside files, folders and programs."""
_EDGES = "\"'`“”‘’.,;:!?()[]{}<>*#$=|&…"
_LEAST = 3
_TELLING_NUMBER = 5
"""Digits from which a number tells something even among words: shorter ones are line numbers and counts."""
_ABBREVIATIONS = frozenset(("e.g", "i.e", "a.m", "p.m", "u.s.a"))


class QueryNames:
    """What a query names.

    Attributes:
        names: the names, without the quotes and brackets around them, each once.
        words: its other words, lower-cased, without stop words.
        alone: the query is one name and nothing else.
        phrases: the names as rows of words, as the lexical index of documents holds them.
    """

    __slots__ = ("alone", "names", "phrases", "words")

    def __init__(self, query: str) -> None:
        chunks = query.split()
        bare = [bare_name(chunk) for chunk in chunks]
        self.alone = len(chunks) == 1 and _is_name(bare[0], alone=True)
        self.names = list(dict.fromkeys(name for name in bare if _is_name(name, alone=self.alone)))
        named = set(self.names)
        others = dict.fromkeys(word for name in bare if name not in named for word in words.split(name))
        self.words = [word for word in others if word not in words.STOP_WORDS]
        self.phrases = [phrase for name in self.names for phrase in _phrases(name)]

    def held_by(self, text: str) -> bool:
        """Whether a text holds one of the names, written together or apart (`retryBackoff`, retry backoff)."""
        lower = text.lower()
        if any(name.lower() in lower for name in self.names):
            return True
        units = f" {' '.join(words.split(text))} {words.parts(text)} "
        return any(f" {phrase} " in units for phrase in self.phrases)

    def nearly_held_by(self, text: str) -> bool:
        """Whether a text holds all parts of one of the names, wherever they stand."""
        units = {*words.split(text), *words.parts(text).split()}
        return any(units.issuperset(phrase.split()) for phrase in self.phrases)


def units_of(query: str) -> list[str]:
    """The units of a query that is made of them; none where it is another one, or names no file and no folder."""
    units: list[str] = []
    program: list[str] = []
    for token in query.replace(",", " ").split():
        if is_anchor(token) or token == COMMANDS:
            if program:
                units.append(" ".join(program))
            program = []
            units.append(token)
        else:
            program.append(token)
    if program:
        units.append(" ".join(program))
    return units if any(map(is_anchor, units)) else []


def is_anchor(unit: str) -> bool:
    """Whether a unit is a file or a folder: a query without any is taken for words."""
    return is_file(unit) or (unit.endswith("/") and len(unit) > 1)


def bare_name(chunk: str) -> str:
    """A word of a query without the punctuation around it, `./` before it and `:12` or `:12:5` behind it."""
    bare = chunk.strip(_EDGES).removesuffix("'s")
    while "/" in bare or "." in bare:
        head, colon, tail = bare.rpartition(":")
        if not (colon and tail.isdigit() and head):
            break
        bare = head
    return bare.strip("/") if bare.count("/") == 1 and bare[-1:] == "/" else bare


def _phrases(name: str) -> list[str]:
    """The words of a name in a row, as the lexical index of documents holds them; of camel case also its humps."""
    found = [" ".join(words.split(name)), words.parts(name) if name.isalnum() else ""]
    return [phrase for phrase in found if phrase]


def _is_name(bare: str, *, alone: bool) -> bool:
    signs = sum(map(str.isalnum, bare))
    if signs < _LEAST:
        return False
    if bare.isdigit():
        return alone or len(bare) >= _TELLING_NUMBER
    if bare.isalnum():
        mixed = bare.isascii() and not bare.isalpha()
        return (mixed and signs > _LEAST) or (any(map(str.isupper, bare[1:])) and any(map(str.islower, bare)))
    inner = bare.strip("-./\\:")
    if "_" in inner or "/" in inner or "\\" in inner or "::" in inner:
        return True
    if "." in inner:
        return bare.lower() not in _ABBREVIATIONS
    if "-" in bare:
        return alone or bare[0] == "-" or inner.count("-") > 1 or not inner.replace("-", "").isalpha()
    return False
