"""Ranks candidates: what words and meaning say, what the session around says, when it was, use. Hot path."""

from __future__ import annotations

from core import words
from recall import fusion, trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.store.interface import CandidateSource, Filters, Traits
    from recall.contextual_vectors import Question
    from recall.dates import Span
    from recall.reach import Reach

    Ranked = tuple[float, float, float, Traits]
    """Score, raw score, boost, traits."""


_TIME_WORDS = frozenset(
    "ago april august december february january july june last latest march may monday newest november october on past"
    " previous recent recently saturday september sunday this thursday today tuesday wednesday friday yesterday"
    " jan feb mar apr jun jul aug sep oct nov dec".split()
)


def may_name_time(query: str) -> bool:
    """Whether a word of the query may name a time: then `recall.dates` reads it."""
    return any(word in _TIME_WORDS or (len(word) == 4 and word.isdigit()) for word in words.split(query))


def time_named(query: str, now: int) -> Span | None:
    """The time that a query names; what reads it is imported where a word may name one."""
    if not may_name_time(query):
        return None
    from recall import dates

    return dates.named(query, now)


def rank(
    found_in: CandidateSource,
    terms: Sequence[str],
    vector: bytes,
    filters: Filters,
    wide: int,
    now: int,
    *,
    episode_decay: float,
    said: Sequence[str] = (),
    asked_for: Span | None = None,
    contextual: Question | None = None,
    reach: Reach | None = None,
) -> list[Ranked]:
    """Every candidate, best first; ties go to the newer.

    Args:
        wide: candidates of each search.
        said: the terms of the query as it was given; `terms` may be more, or phrases.
        now: ms since the epoch.
        episode_decay: see `trust.age_factor`.
        asked_for: the time that the query names.
        reach: what another project's hits keep of their score.
    """
    raw = {}
    candidates = found_in.candidates(terms, vector, filters, wide, wide)
    half = fusion.lexical_half(len(terms), found_in.size())  # a cluster knows its size from the candidates' answer
    nearness = contextual.cosines([candidate["rowid"] for candidate in candidates]) if contextual else {}
    for candidate in candidates:
        near = nearness.get(candidate["rowid"])
        if near is None:
            score = fusion.fuse(candidate["bm25"], candidate["cosine"], half)
        else:
            score = fusion.fuse_contextual(candidate["bm25"], candidate["cosine"], near, half)
        if score >= fusion.LEAST:
            raw[candidate["rowid"]] = score
    around = found_in.around(list(raw), terms) if raw else {}
    if around:
        segments = found_in.segments()
        weight, half = fusion.segment_weight(segments), fusion.segment_half(len(terms), segments)
    whole = fusion.answerable(found_in.absent(said), found_in.size()) if raw else 1.0
    ranked: list[Ranked] = []
    for traits in found_in.traits(list(raw)) if raw else ():
        score = raw[traits["rowid"]] * trust.substance(traits["collection"], traits["chars"])
        segment = around.get(traits["rowid"])
        if segment is not None:
            score = fusion.with_segment(score, segment, half, weight)
        if asked_for is not None and traits["collection"] != "knowledge":
            aged = asked_for.factor(traits["confirmed_at"])
        elif traits["pinned"]:
            aged = 1.0
        else:
            aged = trust.age_factor(traits["collection"], now - traits["confirmed_at"], episode_decay)
        if reach is not None and reach.prefer:
            aged *= reach.factor(traits["project"], traits["session"])
        boost = trust.usage_boost(traits["retrieval_priority"], traits["recall_count"])
        ranked.append((min(score * aged * boost, 1.0) * whole, raw[traits["rowid"]], boost, traits))
    ranked.sort(key=lambda entry: (-entry[0], -entry[3]["confirmed_at"], entry[3]["rowid"]))
    return ranked
