"""What a query names: files, folders, names, and whether they are all that it says. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, words

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = "commands"  # what a query may ask for beside files, folders and programs
_EDGES = "\"'`“”‘’.,;:!?()[]{}<>*#$=|&…"
_LEAST, _TELLING_NUMBER = 3, 5
"""Digits from which a number tells something even among words: shorter ones are line numbers and counts."""
_ABBREVIATIONS = frozenset(("e.g", "i.e", "a.m", "p.m", "u.s.a"))


class QueryNames:
    """What a query names: `names`, other `words`, whether it is one name `alone`, `phrases` (names as words)."""

    def __init__(self, query: str) -> None:
        bare = [bare_name(chunk) for chunk in query.split()]
        self.alone = len(bare) == 1 and _is_name(bare[0], alone=True)
        self.names = list(dict.fromkeys(name for name in bare if _is_name(name, alone=self.alone)))
        others = dict.fromkeys(word for name in bare if name not in self.names for word in words.split(name))
        self.words = [word for word in others if word not in words.STOP_WORDS]
        forms = ((" ".join(words.split(name)), words.parts(name) if name.isalnum() else "") for name in self.names)
        self.phrases = [phrase for both in forms for phrase in both if phrase]

    def held_by(self, text: str) -> bool:
        """Whether a text holds one of the names, written together or apart (`retryBackoff`, retry backoff)."""
        if holds(text, self.names):
            return True
        units = f" {' '.join(words.split(text))} {words.parts(text)} "
        return any(f" {phrase} " in units for phrase in self.phrases)

    def nearly_held_by(self, text: str) -> bool:
        """Whether a text holds all parts of one of the names, wherever they stand."""
        units = {*words.split(text), *words.parts(text).split()}
        return any(units.issuperset(phrase.split()) for phrase in self.phrases)


def bare_name(chunk: str) -> str:
    """A word of a query without the punctuation around it, `./` before it and `:12` or `:12:5` behind it."""
    bare = chunk.strip(_EDGES).removesuffix("'s")
    while "/" in bare or "." in bare:
        head, colon, tail = bare.rpartition(":")
        if not (colon and tail.isdigit() and head):
            break
        bare = head
    return bare.strip("/") if bare.count("/") == 1 and bare[-1:] == "/" else bare


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


class Asked:
    """What a query asks the places of: `files` and folders, `names`, and whether `commands` are asked for, too."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.names: list[str] = []
        self.commands = False


def places_asked(query: str) -> Asked | None:
    """What a query of nothing but names and files asks for; None of another one."""
    asked = Asked()
    chunks = query.replace(",", " ").split()
    for chunk in chunks:
        bare = chunk if chunk.endswith("/") else bare_name(chunk)
        if bare == COMMANDS:
            asked.commands = True
        elif is_anchor(bare):
            asked.files.append(bare)
        elif _is_name(bare, alone=len(chunks) == 1):
            asked.names.append(bare.replace("::", ".").rpartition(".")[2])
        elif not words.STOP_WORDS.issuperset(words.split(bare)):
            return None
    return asked if asked.files or asked.names else None


def is_anchor(unit: str) -> bool:
    """Whether a unit is a file or a folder: a query without any is taken for words."""
    if "." not in unit or unit.endswith("/"):
        return unit.endswith("/") and len(unit) > 1
    from core.names import is_file

    return is_file(unit)


def holds(text: str, wanted: Sequence[str]) -> bool:
    """Whether a text has something of what is wanted, in upper or lower case."""
    lower = text.lower()
    return bool(text) and any(word.lower() in lower for word in wanted)
