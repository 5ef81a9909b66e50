"""One score from two searches.

Both are brought to an absolute scale before they are added, so that a score means the same for every query and on
every backend, and `--min-score` has a sense: a memory that shares nothing with the query gets 0, one that says the same
0.7 to 0.9. Against min-max scaling over the candidates this costs half a point at 10 on dialogue turns, and gains
a third of a point on observations (docs/recall.md).
"""

from __future__ import annotations

from math import log

LEXICAL_SCALE = 0.7
LEAST = 0.05
"""What scores less shares nothing with the query that would matter, and is not found."""
SEMANTIC_WEIGHT = 0.35
"""The most that meaning alone can score."""
COSINE_LOW = 0.3
"""Unrelated texts of the static space lie below this cosine."""
COSINE_HIGH = 0.8

SEGMENT_SCALE = 0.35
SEGMENT_WEIGHT = 0.6
COVERAGE_SHARE = 0.5
"""Of a segment's evidence that it loses where it holds but the words that say least."""
SEGMENTS_HALF = 25
"""Segments at which they count for half of that."""

ABSENT_HALF = 200
"""Documents at which a word that none of them has counts for half: a small store lacks most words."""

CONTEXTUAL_WEIGHT = 0.5
CONTEXTUAL_LOW = 0.78
"""e5 puts any two texts close together: the median of unrelated ones is .78, and one in a hundred is over .87."""
CONTEXTUAL_HIGH = 0.92
STATIC_BESIDE = 0.2
"""What the static space still counts for beside it."""


def lexical_half(terms: int, documents: int) -> float:
    """The BM25 at which the lexical part is one half: it grows with the query and, as an idf does, with the store."""
    return LEXICAL_SCALE * float(max(terms, 1) ** 0.5) * max(log(1.0 + documents), 0.5)


def fuse(bm25: float, cosine: float | None, half: float, contextual: float | None = None) -> float:
    """The score of a candidate, 0 to 1: the probabilistic sum of its parts. Without vectors the words decide alone.

    Args:
        bm25: 0 or higher.
        cosine: -1 to 1 in the static space, None where there is no vector.
        half: see `lexical_half`.
        contextual: -1 to 1 in the contextual space, where it takes over most of the static one's weight.
    """
    score = bm25 / (bm25 + half) if bm25 > 0 else 0.0
    weight = SEMANTIC_WEIGHT
    if contextual is not None:
        share = min(max((contextual - CONTEXTUAL_LOW) / (CONTEXTUAL_HIGH - CONTEXTUAL_LOW), 0.0), 1.0)
        score += CONTEXTUAL_WEIGHT * share * (1 - score)
        weight = STATIC_BESIDE
    if cosine is not None and cosine > COSINE_LOW:
        score += weight * min(1.0, (cosine - COSINE_LOW) / (COSINE_HIGH - COSINE_LOW)) * (1 - score)
    return score


def answerable(absent: float, documents: int) -> float:
    """What is left of every score of a query where words of it stand nowhere: then the store hardly speaks of it.

    The order of the answers is as it was; but what nothing answers would else score like what something does, since
    some turn or segment has some of its words.

    Args:
        absent: the share of the query's words that no document has, 0 to 1.
    """
    return 1 - absent * documents / (documents + ABSENT_HALF)


def segment_half(terms: int, segments: int) -> float:
    """The BM25 of a segment at which its evidence is one half."""
    return SEGMENT_SCALE * float(max(terms, 1) ** 0.5) * max(log(1.0 + segments), 0.5)


def segment_weight(segments: int) -> float:
    """How much the segments say which of them is meant: next to nothing of a few, up to one half of many."""
    return SEGMENT_WEIGHT * segments / (segments + SEGMENTS_HALF)


def with_segment(score: float, around: tuple[float, float], half: float, weight: float) -> float:
    """The score of an episode together with that of the turns around it.

    Args:
        around: the segment's BM25, and the share of the query's weight that it covers, 0 to 1.
        half: see `segment_half`.
        weight: see `segment_weight`.
    """
    bm25, coverage = around
    evidence = bm25 / (bm25 + half) if bm25 > 0 else 0.0
    return (1 - weight) * score + weight * evidence * (1 - COVERAGE_SHARE * (1 - coverage))
