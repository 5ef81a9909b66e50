"""Ranks candidates: what words and meaning say, what the session around says, when it was, use. Hot path."""

from __future__ import annotations

from core import words
from recall import fusion, trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import CandidateSource, Filters, Traits
    from recall.contextual_vectors import Question
    from recall.scope import Scope

    Ranked = tuple[float, float, float, Traits]
    """Score, raw score, boost, traits."""


_TIME_WORDS = frozenset(
    "ago today yesterday week month year days weeks months years monday tuesday wednesday"
    " thursday friday saturday sunday january february april june july august september october november december"
    " feb apr jun jul aug sep oct nov dec".split()
)
_RECENT = frozenset(("latest", "newest", "recent", "recently"))
_BEFORE_MONTHS = frozenset(("in", "of", "since", "during", "last", "this", "on", "early", "late", "mid"))


def time_named(query: str, now: int) -> trust.Span | None:
    """The time that a query names; what reads a calendar is imported where a word may name a day."""
    before = ""
    for word in words.split(query):
        if word in _RECENT or (before, word) == ("last", "time"):
            return trust.Span(None, now, now)
        is_month = word in ("may", "march") and (before in _BEFORE_MONTHS or before[:1].isdigit())
        is_number = word[:1].isdigit() and ((len(word) == 4 and word[:2] in ("19", "20")) or before in ("may", "march"))
        if word in _TIME_WORDS or is_month or is_number:
            from recall import dates

            found = dates.named(query, now)
            if found is not None:
                return found
        before = word
    return None


class Ranking:
    """What the scores of one recall depend on, besides the documents.

    Args:
        text: the query as it was given; what is searched for may be more, or phrases.
        now: ms since the epoch.
        episode_decay: see `trust.age_factor`.
        contextual: the tier above the static vectors, where it is there.
    """

    __slots__ = ("asked_for", "contextual", "episode_decay", "now", "said", "scope")

    def __init__(self, text: str, scope: Scope, now: int, episode_decay: float, contextual: Question | None) -> None:
        self.said = words.query_terms(text)
        self.scope = scope
        self.now = now
        self.episode_decay = episode_decay
        self.contextual = contextual
        self.asked_for = time_named(text, now)

    def rank(
        self, found_in: CandidateSource, terms: Sequence[str], vector: bytes, filters: Filters, wide: int
    ) -> list[Ranked]:
        """Every candidate, best first; ties go to the newer. `wide`: candidates of each search."""
        raw = {}
        candidates = found_in.candidates(terms, vector, filters, wide, wide)
        half = fusion.lexical_half(len(terms), found_in.size())  # a cluster knows its size from the candidates' answer
        rowids = [candidate["rowid"] for candidate in candidates]
        nearness = self.contextual.cosines(rowids) if self.contextual else {}
        for candidate in candidates:
            near = nearness.get(candidate["rowid"])
            score = fusion.fuse(candidate["bm25"], candidate["cosine"], half, near)
            if score >= fusion.LEAST:
                raw[candidate["rowid"]] = score
        if not raw:
            return []
        around = found_in.around(list(raw), terms)
        segments = found_in.segments() if around else 0
        weight, segment_half = fusion.segment_weight(segments), fusion.segment_half(len(terms), segments)
        known = fusion.answerable(found_in.absent(self.said), found_in.size())
        ranked: list[Ranked] = []
        for traits in found_in.traits(list(raw)):
            fused = raw[traits["rowid"]]
            score = fused * trust.substance(traits["collection"], traits["chars"])
            if traits["rowid"] in around:
                score = fusion.with_segment(score, around[traits["rowid"]], segment_half, weight)
            score *= self.aged(traits)[0] * self.scope.factor(traits["project"], traits["session"])
            boost = trust.usage_boost(traits["retrieval_priority"], traits["recall_count"])
            ranked.append((min(score * boost, 1.0) * known, fused, boost, traits))
        ranked.sort(key=lambda entry: (-entry[0], -entry[3]["confirmed_at"], entry[3]["rowid"]))
        return ranked

    def aged(self, traits: Traits) -> tuple[float, str]:
        """What time leaves of a score, and by which rule: the time that the query names, a pin, or age."""
        if self.asked_for is not None and traits["collection"] != "knowledge":
            return self.asked_for.factor(traits["confirmed_at"]), "time_named"
        if traits["pinned"]:
            return 1.0, "pinned"
        return trust.age_factor(traits["collection"], self.now - traits["confirmed_at"], self.episode_decay), "age"
