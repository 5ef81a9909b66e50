"""A source of candidates that remembers what it said, so that a recall can be explained after it was made.

It stands between a recall and the store where an explanation is asked for, and nowhere else: a recall without one does
nothing more than before.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.store.interface import Candidate, CandidateSource, Document, Filters, Traits


class Witness:
    """A source of candidates, and what it said of the last search.

    `terms` are those of the search, `candidates_by_row` what both searches brought, `lexical_rank` and `semantic_rank`
    the places in them (1 is the best), `segments_by_row` BM25 and coverage of the turns around, `absence` the share of
    words that nothing holds, `texts` the documents that were read, by row.
    """

    __slots__ = (
        "_inner", "absence", "backend", "candidates_by_row", "lexical_rank", "segments_by_row", "semantic_rank",
        "terms", "texts",
    )  # fmt: skip

    def __init__(self, inner: CandidateSource) -> None:
        self._inner = inner
        self.backend = inner.backend
        self.terms: Sequence[str] = ()
        self.candidates_by_row: dict[int, Candidate] = {}
        self.lexical_rank: dict[int, int] = {}
        self.semantic_rank: dict[int, int] = {}
        self.segments_by_row: dict[int, tuple[float, float]] = {}
        self.absence = 0.0
        self.texts: dict[int, Document] = {}

    @property
    def semantic(self) -> bool:
        """See `core.store.interface.CandidateSource`."""
        return self._inner.semantic

    def candidates(
        self, terms: Sequence[str], vector: bytes, filters: Filters, lexical: int, semantic: int
    ) -> list[Candidate]:
        """See `core.store.interface.CandidateSource`."""
        found = self._inner.candidates(terms, vector, filters, lexical, semantic)
        self.terms = terms
        self.candidates_by_row = {candidate["rowid"]: candidate for candidate in found}
        words = sorted((one for one in found if one["bm25"] > 0), key=lambda one: -one["bm25"])
        near = sorted((one for one in found if one["cosine"] is not None), key=lambda one: -(one["cosine"] or 0.0))
        self.lexical_rank = {one["rowid"]: rank for rank, one in enumerate(words, 1)}
        self.semantic_rank = {one["rowid"]: rank for rank, one in enumerate(near, 1)}
        return found

    def documents(self, rowids: Sequence[int]) -> list[Document]:
        """See `core.store.interface.CandidateSource`."""
        found = self._inner.documents(rowids)
        self.texts |= {document["rowid"]: document for document in found}
        return found

    def around(self, rowids: Sequence[int], terms: Sequence[str]) -> dict[int, tuple[float, float]]:
        """See `core.store.interface.CandidateSource`."""
        self.segments_by_row = self._inner.around(rowids, terms)
        return self.segments_by_row

    def weights(self, rowids: Sequence[int], terms: Sequence[str]) -> dict[str, dict[int, float]]:
        """See `core.store.interface.CandidateSource`."""
        return self._inner.weights(rowids, terms)

    def absent(self, terms: Sequence[str]) -> float:
        """See `core.store.interface.CandidateSource`."""
        self.absence = self._inner.absent(terms)
        return self.absence

    def segments(self) -> int:
        """See `core.store.interface.CandidateSource`."""
        return self._inner.segments()

    def size(self) -> int:
        """See `core.store.interface.CandidateSource`."""
        return self._inner.size()

    def traits(self, rowids: Sequence[int]) -> list[Traits]:
        """See `core.store.interface.CandidateSource`."""
        return self._inner.traits(rowids)
