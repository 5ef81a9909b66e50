"""A recall that means names too: which searches it makes, and its hits. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING
from recall import ranking
from recall.by_name import calls
from recall.by_name.asked import QueryNames, places_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import apsw

    from core.records import Budget, CandidateSource, Filters, Hit
    from recall.by_name.calls import Match
    from recall.query import Query, Scope
    from recall.ranking import Ranked

    Holds = Callable[[str], bool]

SNIPPET_CHARS, LEAST_CHARS = 320, 160
"""Of a call where nobody says how long an answer may be; of a text in an answer of many: less is not understood."""
_MUCH_TOLD = 2500
"""Characters of places from which on an answer has no room for calls."""
_BEST = 2.5  # times the room of another hit that the best may have
_LOOKED_AT = 50
"""Documents that are looked into for a name; more than that many hold none of its parts more often."""
_NAME_CHARS, _LEAN_CHARS, _WORDS_CHARS, _HITS = 820, 1000, 1800, 5
"""Of an answer to a name, a lean one, one to words, with so many hits; more have room in proportion."""


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
