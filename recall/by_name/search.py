"""A recall that means names too: which searches it makes, what answers beside the documents, and its hits. Hot path.

Whatever answers beside the documents gives matches: a score on the documents' scale, and a hit in a number of
characters. Tool calls of sessions do (`recall.by_name.session_calls`); another source is one more list in `_beside`.
"""

from __future__ import annotations

from core.names import is_file
from core.store.migrations import COLLECTIONS
from core.store.sessions import call_search
from recall import budget as budgets
from recall.by_name import passage, session_calls, work_cards
from recall.by_name.query_names import QueryNames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol

    import apsw

    from core.store.interface import CandidateSource, Filters
    from recall.budget import Budget
    from recall.engine import Hit
    from recall.ranking import Ranked
    from recall.reach import Reach

    class Match(Protocol):
        """What answers beside the documents. `score` is 0 to 1."""

        score: float
        raw: float
        """The same, wherever it is from."""

        def hit(self, room: int) -> Hit:
            """The hit, its text in about `room` characters."""

    Holds = Callable[[str], bool]


PASSAGE_CHARS = 320
"""Of a match where nobody says how long an answer may be."""
LEAST_CHARS = 160
"""Of a text in an answer of many hits: less is not understood."""
_LOOKED_AT = 50
"""Documents that are looked into for a name; more than that many hold none of its parts more often."""


class ByName:
    """What a query names, and what answers it beside the documents.

    Args:
        filters: `collections` may name `calls`; a category is a document's.
        budget: as it is applied.
        reach: what another project's hits keep of their score.
        near: the project whose calls go before equals of others, "" for none.
        own: the session that asks, whose work goes before that of others, "" for none.
        most: hits.
    """

    __slots__ = ("_documents", "_most", "beside", "cards", "names")

    def __init__(
        self, db: apsw.Connection | None, query: str, filters: Filters, budget: str, reach: Reach,
        *, near: str, own: str, most: int, min_score: float,
    ) -> None:  # fmt: skip
        self.names = QueryNames(query)
        places = all("/" in name or is_file(name) for name in self.names.names)  # else an identifier is asked for too
        self.cards = _cards(db, query, budget, filters, near, own) if db is not None and places else []
        self._most = most
        chosen = filters["collections"]
        only_cards = bool(self.cards) and not self.cards[0]["path"]
        self._documents = not only_cards and (not chosen or bool(set(chosen) & set(COLLECTIONS)))
        self.beside: list[Match] = []
        narrowed = filters["category"] or filters.get("tags")
        beside = not only_cards and not narrowed and (not chosen or session_calls.COLLECTION in chosen)
        if db is not None and beside:
            found = _beside(db, query, self.names, filters, reach, near, most)
            self.beside = [match for match in found if match.score >= min_score]

    def searches(
        self, terms: list[str], vector: Callable[[], bytes]
    ) -> Iterator[tuple[list[str], bytes, Holds | None]]:
        """Terms, vector and condition of the searches for documents, of which the first that finds any counts.

        Of a query that is one name: what holds it and, where nothing at all does, what holds all of its parts. What
        only means something like it is unrelated.
        """
        if not self._documents:
            return
        if not self.names.alone:
            yield terms, vector(), None
            return
        yield self.names.phrases, b"", self.names.held_by
        if not self.beside:
            yield terms, b"", self.names.nearly_held_by

    def hits(self, documents: Sequence[Hit], budget: Budget, *, raw: bool) -> list[Hit]:
        """The best of the documents, which come best first, and of what is beside them, best first, each in its room.

        What a session was at work on in the file or folder that is asked for goes before all. Documents keep room among
        five: of a query with a name for two, of words for four. What was said is worth more than what a tool printed; a
        name is mostly asked for because of the latter.
        """
        most = max(self._most - len(self.cards), 0)
        named = bool(self.names.names) or self._is_copied()
        kept = min(len(documents), most * 2 // 5 if named else most - most // 5)
        chosen: list[tuple[float, Hit | None, Match | None]] = [
            (match.score, None, match) for match in self.beside[: most - kept]
        ]
        chosen += [(hit["score"], hit, None) for hit in documents[: most - len(chosen)]]
        chosen.sort(key=lambda one: -one[0])
        left = budgets.answer_chars(budget, self._most, raw=raw, named=named)
        if left is not None:
            left -= sum(len(card["observation"]) + 1 for card in self.cards)
        wanted = [*self.names.names, *self.names.words]
        needed = [len(document["observation"]) if document else PASSAGE_CHARS for _, document, _ in chosen]
        hits: list[Hit] = [*self.cards]
        for at, (_, document, match) in enumerate(chosen):
            if left is not None and left < LEAST_CHARS and self.cards:
                break
            room = None if left is None else max(LEAST_CHARS, budgets.share(left, needed[at:]) - 1)
            if match is not None:
                hit = match.hit(room or PASSAGE_CHARS)
            elif document is not None:
                hit = document
                if room is not None and len(hit["observation"]) > room:
                    hit = {**hit, "observation": passage.around(hit["observation"], wanted, room)}
            hits.append(hit)
            if left is not None:
                left -= len(hit["observation"]) + 1
        return hits

    def _is_copied(self) -> bool:
        return bool(self.beside) and self.beside[0].raw >= session_calls.WHOLE_QUERY


def holding(found_in: CandidateSource, ranked: Sequence[Ranked], holds: Holds) -> list[Ranked]:
    """Those of the first of ranked documents whose title, path or text holds what is asked for."""
    first = {entry[3]["rowid"]: entry for entry in ranked[:_LOOKED_AT]}
    return [
        first[document["rowid"]]
        for document in (found_in.documents(list(first)) if first else ())
        if holds(f"{document['title']}\n{document['path']}\n{document['text']}")
    ]


def _cards(db: apsw.Connection, query: str, budget: str, asked: Filters, near: str, own: str) -> list[Hit]:
    """What a session was at work on in the places that a query is made of; `path` is the file, if it is one alone."""
    if asked["category"] or asked.get("tags") or asked["collections"] or not call_search.exists(db):
        return []
    session, projects = asked["session"], asked["projects"]
    found = work_cards.ask(db, query, budget=budget, session=session, projects=projects, near=near, own=own)
    if found is None or session_calls.is_command(db, query, session, projects):
        return []
    return [work_cards.hit(found)]


def _beside(
    db: apsw.Connection, query: str, names: QueryNames, filters: Filters, reach: Reach, near: str, most: int
) -> list[Match]:
    """What answers beside the documents, best first. Another source adds its matches here."""
    session, projects = filters["session"], filters["projects"]
    return [
        *session_calls.matches(db, query, names, session=session, projects=projects, reach=reach, near=near, most=most)
    ]
