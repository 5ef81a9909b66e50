"""BM25 as SQLite's FTS5 computes it, over documents that the cluster brings with their terms.

The figures of the whole (how many documents hold a term, how many there are, how long they are on average) come from
the cluster, so that a score is what the local file would say of the same memory. `core.store.candidates` is the other
side; its two exceptions, for very small and for very large memories, are kept here too.
"""

from __future__ import annotations

from math import log

from core.store.typesense.lexicon import BARRIER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

K1 = 1.2
B = 0.75
CONTEXT_WEIGHT = 0.5
AFFORDABLE = 20_000
ENOUGH = 50
SMALL = 64
_LEAST_IDF = 1e-6


class Bm25:
    """The score of one query's terms.

    Args:
        keys: the query's terms, stemmed; several words of one are a phrase.
        counts: how many documents hold each of them.
        documents: how many documents there are.
        average: how many terms a document has.
    """

    __slots__ = ("_average", "_idf", "_together", "small")

    def __init__(self, keys: Sequence[str], counts: Mapping[str, int], *, documents: int, average: float) -> None:
        self.small = documents <= SMALL
        self._average = average or 1.0
        chosen, self._together = (keys, False) if self.small else selective(keys, counts, documents)
        self._idf: list[tuple[str, float]] = []
        for key in chosen:
            count = counts.get(key, 0)
            if self.small:
                idf = log(1 + (max(documents - count, 0) + 0.5) / (count + 0.5))
            else:
                ratio = (documents - count + 0.5) / (count + 0.5)
                idf = log(ratio) if ratio > 1 else _LEAST_IDF
            self._idf.append((key, max(idf, _LEAST_IDF)))

    def of(self, words: str, context: str) -> float:
        """The score of a document: its fields `lexicon` and `lexicon_context`."""
        own, around = words.split(), context.split()
        if self.small:
            return self._of_small(own, around, words, context)
        length = len(own) - (BARRIER in own) + len(around)
        damped = K1 * (1 - B + B * length / self._average)
        score = 0.0
        for key, idf in self._idf:
            frequency = occurrences(key, own, words) + CONTEXT_WEIGHT * occurrences(key, around, context)
            if frequency:
                score += idf * frequency * (K1 + 1) / (frequency + damped)
            elif self._together:
                return 0.0
        return score

    def _of_small(self, own: list[str], around: list[str], words: str, context: str) -> float:
        score = 0.0
        for key, idf in self._idf:
            if occurrences(key, own, words):
                score += idf
            elif occurrences(key, around, context):
                score += CONTEXT_WEIGHT * idf
        return score


def selective(keys: Sequence[str], counts: Mapping[str, int], documents: int) -> tuple[list[str], bool]:
    """The terms that are scored: in a large memory as many of the rarest as can be afforded, as the local file does.

    Where none can, all of them, and a document must hold them together: the second value.
    """
    if len(keys) <= 1 or documents <= AFFORDABLE:
        return list(keys), False
    chosen = []
    total = 0
    for key in by_rarity(keys, counts):
        count = counts.get(key, 0)
        total += min(count, AFFORDABLE + 1)
        if total > AFFORDABLE:
            break
        if count:
            chosen.append(key)
    return chosen or list(keys), not chosen


def by_rarity(keys: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """The rarest term first. The local file does not count beyond what it can afford, so common ones are equal."""
    return sorted(keys, key=lambda key: (min(counts.get(key, 0), AFFORDABLE + 1), key))


def occurrences(key: str, terms: list[str], text: str) -> int:
    """How often a term, or a phrase of terms, stands in a field; phrases may share a term, as FTS5 counts them."""
    if " " not in key:
        return terms.count(key)
    field, phrase = f" {text} ", f" {key} "
    count, at = 0, field.find(phrase)
    while at >= 0:
        count, at = count + 1, field.find(phrase, at + 1)
    return count
