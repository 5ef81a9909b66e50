"""A recall that means names too: what a query names, which searches it makes, and its hits. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, words
from recall import ranking
from recall.by_name import calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import apsw

    from core.records import Budget, CandidateSource, Filters, Hit
    from recall.by_name.calls import Match
    from recall.query import Query, Scope
    from recall.ranking import Ranked

    Holds = Callable[[str], bool]

COMMANDS = "commands"  # what a query may ask for beside files, folders and programs
_EDGES = "\"'`“”‘’.,;:!?()[]{}<>*#$=|&…"
_LEAST = 3
_TELLING_NUMBER = 5
"""Digits from which a number tells something even among words: shorter ones are line numbers and counts."""
_ABBREVIATIONS = frozenset(("e.g", "i.e", "a.m", "p.m", "u.s.a"))
SNIPPET_CHARS, LEAST_CHARS = 320, 160
"""Of a call where nobody says how long an answer may be; of a text in an answer of many: less is not understood."""
_MUCH_TOLD = 2500
"""Characters of places from which on an answer has no room for calls."""
_BEST = 2.5  # times the room of another hit that the best may have
_LOOKED_AT = 50
"""Documents that are looked into for a name; more than that many hold none of its parts more often."""
_NAME_CHARS, _LEAN_CHARS, _WORDS_CHARS, _HITS = 820, 1000, 1800, 5
"""Of an answer to a name, a lean one, one to words, with so many hits; more have room in proportion."""


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
        if calls.holds(text, self.names):
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


class ByName:
    """What a query names, and what answers it beside the documents: the work in a place, tool calls."""

    def __init__(
        self, db: apsw.Connection, text: str, query: Query, budget: Budget, filters: Filters, scope: Scope, most: int
    ) -> None:
        self.names = QueryNames(text)
        self._most = most
        chosen = query.collections
        narrowed = bool(query.category or query.tags)
        self.places = [] if narrowed or chosen or query.between else self._places(db, text, query, budget, filters)
        told = sum(len(one["observation"]) for one in self.places)
        is_alone = bool(self.places) and bool(self.places[0]["path"])
        self._documents = (not self.places or is_alone) and (not chosen or bool(filters["collections"]))
        self.beside: list[Match] = []
        if told <= _MUCH_TOLD and not narrowed and (not chosen or calls.COLLECTION in chosen):
            found = calls.matches(db, text, self.names, filters, scope, most)
            self.beside = [match for match in found if match.score >= query.min_score]

    def _places(self, db: apsw.Connection, text: str, query: Query, budget: Budget, filters: Filters) -> list[Hit]:
        """Where the names and files stand that a query is made of; of a single one, `path` is that."""
        asked = places_asked(text)
        if asked is None:
            return []
        from recall.by_name import places

        found = places.ask(db, text, asked, query, filters["projects"], lean=budget["applied"] == "lean")
        return [] if found is None else [found]

    def searches(self, terms: list[str]) -> Iterator[tuple[list[str], bool, Holds | None]]:
        """Terms, whether meaning counts, and condition of each search; the first that finds documents counts."""
        if self._documents and not self.names.alone:
            yield terms, True, None
        elif self._documents:
            yield self.names.phrases, False, self.names.held_by
            if not self.beside:
                yield terms, False, self.names.nearly_held_by

    def holding(self, found_in: CandidateSource, ranked: Sequence[Ranked], holds: Holds) -> list[Ranked]:
        """Those of the first of ranked documents whose title, path or text holds what is asked for."""
        first = {entry[3]["rowid"]: entry for entry in ranked[:_LOOKED_AT]}
        return [
            first[document["rowid"]]
            for document in (found_in.documents(list(first)) if first else ())
            if holds(f"{document['title']}\n{document['path']}\n{document['text']}")
        ]

    def hits(self, documents: Sequence[Hit], known: float, budget: Budget, *, raw: bool) -> list[Hit]:
        """The best of the documents and of what is beside them, each in its room, behind a session's work."""
        most = max(self._most - len(self.places), 0)
        kept = min(len(documents), most * 2 // 5) if self.names.alone else 0
        if known < ranking.DOUBTED:
            self.beside = [match for match in self.beside if match.score * known >= ranking.BELIEVED]
        chosen: list[Match | Hit] = [*self.beside[: most - kept]]
        chosen += documents[: most - len(chosen)] if self.names.alone else documents
        chosen.sort(key=lambda one: -(one["score"] if isinstance(one, dict) else one.score))
        del chosen[most:]
        hits: list[Hit] = [*self.places]
        lean = budget["applied"] == "lean"
        left = None
        if lean or (raw and budget["requested"] != "deep"):  # else the texts are whole
            chars = _NAME_CHARS if self.names.alone else _LEAN_CHARS if lean else _WORDS_CHARS
            left = max(chars, sum(len(one["observation"]) for one in self.places)) * max(self._most, _HITS) // _HITS
        needed = [len(one["observation"]) if isinstance(one, dict) else SNIPPET_CHARS for one in chosen]
        for at, one in enumerate(chosen):
            room = None
            if left is not None:
                rest = left - sum(len(hit["observation"]) + 1 for hit in hits)
                if rest < LEAST_CHARS and self.places:
                    break
                share = _share(rest, needed[at:])
                if at == 0:  # the best has more than the others, if that leaves them enough
                    share = max(share, min(int(_BEST * share), rest - (LEAST_CHARS + 1) * (len(needed) - 1)))
                room = max(LEAST_CHARS, share - 1)
            if not isinstance(one, dict):
                hits.append(one.hit(room or SNIPPET_CHARS))
            elif room is None or len(one["observation"]) <= room:
                hits.append(one)
            else:
                from recall import snippet

                wanted = [*self.names.names, *self.names.words]
                hits.append({**one, "observation": snippet.around(one["observation"], wanted, room)})
        return hits


def _share(characters: int, needed: Sequence[int]) -> int:
    """The most that each may have of so many characters, where those that need less leave the rest to the others."""
    left = characters
    ascending = sorted(needed)
    for at, length in enumerate(ascending):
        equal = left // (len(ascending) - at)
        if length > equal:
            return equal
        left -= length
    return max(characters, ascending[-1])
