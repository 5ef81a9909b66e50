"""Ranks the documents of a recall. Hot path.

1. candidates: the best by words (BM25) and by meaning (cosine of static vectors), from the store or the cluster
2. scores: both on an absolute scale, 0 to 1, so that a score means the same for every query and backend
3. segments: an archived turn also counts by the turns around it, since a question's words are spread over several
4. factors: stage and length of a turn, age or the time named, project, use, and words that no document has
5. conclusions: the message that ends a turn comes before the question that it answers and the steps to it

`recall.engine` then applies `distrust` and `echo_factor`. Constants without another reason were measured on 210
questions about real sessions (docs/recall.md): those whose removal cost less than one answer in a hundred are gone.
"""

from __future__ import annotations

from itertools import pairwise
from math import exp, log

from core import TYPE_CHECKING, words
from core.clock import DAY_MS
from recall import dates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Document, Filters, Traits
    from core.store.cluster.source import ClusterSource
    from core.store.search import LocalCandidates
    from recall.query import Query, Scope

    Source = LocalCandidates | ClusterSource

MIN_SCORE = 0.05  # of words and meaning; what scores less shares nothing with the query that matters

# Scores
LEXICAL_SCALE = 0.7  # of the BM25 that scores .5: see `half_score`
MAX_MEANING = 0.35  # the most that meaning scores by itself; words find more than static vectors do
UNRELATED_COSINE = 0.3  # unrelated texts are below it

# Factors
SMALL_STORE = 200  # documents: in a store of that size an absent word counts half, since it lacks most words anyway
ECHO = 0.5  # of the score of a memory that only repeats the question: its answer comes first


class Ranked:
    """A document with its score, its raw score (words and meaning) and its boost."""

    __slots__ = ("boost", "raw", "score", "traits")

    def __init__(self, score: float, raw: float, boost: float, traits: Traits) -> None:
        self.score = score
        self.raw = raw
        self.boost = boost
        self.traits = traits


class Ranking:
    """Ranks documents for a query. `episode_decay`: the share of its score that age takes of an archived turn."""

    def __init__(self, text: str, scope: Scope, now: int, episode_decay: float) -> None:
        self._query_terms = words.query_terms(text)
        self._span = dates.span_named(text, now)
        self._scope = scope
        self._now = now
        self._episode_decay = episode_decay

    def rank(
        self, source: Source, terms: Sequence[str], vector: bytes, filters: Filters, wide: int, near: int
    ) -> list[Ranked]:
        """The candidates that score MIN_SCORE or more, best first, the newest first among equals.

        Candidates are the best `wide` by the terms and the best `near` by the vector (b"" for none).
        """
        found = source.candidates(terms, vector, filters, wide, near)
        size = source.size()  # a cluster knows it only after the search
        half = half_score(LEXICAL_SCALE, len(terms), size)
        scores = {candidate["rowid"]: combined(candidate["bm25"], candidate["cosine"], half) for candidate in found}
        candidates = {c["rowid"]: c for c in found if scores[c["rowid"]] >= MIN_SCORE}
        if not candidates:
            return []
        absent = source.absent(self._query_terms)
        known = known_factor(absent, size)
        if absent == 1 and max(scores.values()) * known < MIN_SCORE:
            return []
        segments, segment_share = _segment_scores(source, list(candidates), terms)
        ranked = []
        for traits in source.traits(list(candidates)):
            candidate = candidates[traits["rowid"]]
            raw = combined(candidate["bm25"], candidate["cosine"], half, _max_meaning(traits, size))
            score = raw * stage_factor(traits)
            if traits["rowid"] in segments:
                # A conversation spreads an answer over several turns; turns with calls summarise the work.
                weight = segment_share * (0.45 if _is_work(traits) else 0.65)
                score = (1 - weight) * score + weight * segments[traits["rowid"]]
            boost = _boost(traits)
            score *= self._time_factor(traits) * self._scope.factor(traits["project"], traits["session"]) * boost
            ranked.append(Ranked(min(score, 1.0) * known, raw, boost, traits))
        ranked.sort(key=lambda entry: (-entry.score, -entry.traits["confirmed_at"], entry.traits["rowid"]))
        return concluded(ranked)

    def _time_factor(self, traits: Traits) -> float:
        if self._span is not None and traits["collection"] != "knowledge":
            return self._span.factor(traits["confirmed_at"])
        if traits["pinned"]:
            return 1.0
        return age_factor(traits["collection"], self._now - traits["confirmed_at"], self._episode_decay)


def half_score(scale: float, term_count: int, text_count: int) -> float:
    """The BM25 that scores .5. It grows with the query, and with the number of texts as an idf does."""
    return scale * float(max(term_count, 1) ** 0.5) * max(log(1.0 + text_count), 0.5)


def saturated(bm25: float, half: float) -> float:
    """A BM25 as a score, 0 to 1: .5 for `half`."""
    return bm25 / (bm25 + half) if bm25 > 0 else 0.0


def combined(bm25: float, cosine: float | None, half: float, max_meaning: float = MAX_MEANING) -> float:
    """The probabilistic sum of words and meaning, 0 to 1; `cosine` is None without vectors."""
    score = saturated(bm25, half)
    if cosine is not None and cosine > UNRELATED_COSINE:
        similarity = min(1.0, (cosine - UNRELATED_COSINE) / (0.8 - UNRELATED_COSINE))  # paraphrases are above .8
        score += max_meaning * similarity * (1 - score)
    return score


def known_factor(absent: float, size: int) -> float:
    """What remains of every score if a share `absent` of the query's words is in none of `size` documents.

    Such a query is about something else: some document always contains one of its words.
    """
    return 1 - absent * size / (size + SMALL_STORE)


def usage_boost(priority: float, recall_count: int) -> float:
    """The contract's boost: max(.35, (1 + .15·priority) · (1 + min(.3, .06·ln(1 + recalls)))), priority -1 to 1."""
    clamped = min(max(priority, -1.0), 1.0)
    return max(0.35, (1 + 0.15 * clamped) * (1 + min(0.3, 0.06 * log(1 + max(recall_count, 0)))))


def age_factor(collection: str, age_ms: int, episode_decay: float) -> float:
    """What age leaves of a score. Knowledge does not age."""
    days = max(age_ms, 0) / DAY_MS
    if collection == "observations":
        # The mirrored CLI's decay, but an old fact that matches well is still the answer.
        return max(exp(-0.01 * days), 0.4)
    if collection == "episodes":
        return 1 - episode_decay * (1 - exp(-days / 30))  # mostly within a month
    return 1.0


def stage_factor(traits: Traits) -> float:
    """What stage and length leave of the score of a turn in a session with calls."""
    if not _is_work(traits):
        return 1.0
    if traits["stage"] == "asked":
        return 0.9  # the end of a turn knows more
    # BM25 favours short texts, and "Good, go on." says nothing.
    length_factor = 1 - 0.3 * (1 - min(traits["chars"] / 300, 1.0))
    return (0.95 if traits["stage"] == "under way" else 1.0) * length_factor


def _is_work(traits: Traits) -> bool:
    """Whether a document is a turn of a session with tool calls; a conversation knows only "question" or ""."""
    return traits["stage"] not in ("", "question")


def _max_meaning(traits: Traits, size: int, max_at_work: float = 0.2) -> float:
    """The most that meaning can score for a document.

    It is less for turns with calls, the larger the store: identifiers have no vectors.
    """
    loss = (MAX_MEANING - max_at_work) * size / (size + SMALL_STORE)
    return MAX_MEANING - loss if _is_work(traits) else MAX_MEANING


def _segment_scores(source: Source, rowids: list[int], terms: Sequence[str]) -> tuple[dict[int, float], float]:
    """The scores of the segments around archived turns, by the turns' rows, and how far they can be trusted, 0 to 1.

    A cluster has no segments.
    """
    around = source.around(rowids, terms)
    count = source.segments() if around else 0
    half = half_score(LEXICAL_SCALE / 2, len(terms), count)  # a segment is ten times as long, which lowers its BM25
    scores = {rowid: saturated(bm25, half) for rowid, (bm25, _) in around.items()}
    return scores, count / (count + 25)  # BM25 needs many texts to know rare words from common ones


def _boost(traits: Traits) -> float:
    """The boost by use. A turn comes back because others of its session do, so its recalls do not count."""
    recalls = 0 if traits["collection"] == "episodes" else traits["recall_count"]
    return usage_boost(traits["retrieval_priority"], recalls)


def concluded(ranked: Sequence[Ranked], max_steps: int = 6, min_share: float = 0.8) -> list[Ranked]:
    """The documents with conclusions moved up to what they conclude, best first.

    In a session with calls the end of a turn gets the score of the prompt and the steps up to `max_steps` messages
    before it, unless its own is less than `min_share` of it. In a conversation
    that holds for the reply directly after a question.
    """
    by_place = {(r.traits["session"], r.traits["rowid"]): r for r in ranked}
    order: list[tuple[float, int, int, Ranked]] = []
    for position, own in enumerate(ranked):
        session, row, is_work = own.traits["session"], own.traits["rowid"], _is_work(own.traits)
        steps = max_steps if own.traits["stage"] == "ended" else 0 if is_work else 1
        before = (by_place.get((session, row - distance)) for distance in range(1, steps + 1))
        scores = [r.score for r in before if r is not None and (is_work or r.traits["stage"] == "question")]
        score = max([own.score, *(other for other in scores if own.score >= min_share * other)])
        order.append((-score, -row if is_work or score != own.score else position, position, own))
    order.sort(key=lambda entry: entry[:3])
    for negative, _, _, own in order:
        own.score = -negative
    return [own for *_, own in order]


def echo_factor(document: Document, asked: Sequence[str], scope: Scope) -> float:
    """ECHO for a memory that repeats the question (`asked`: its words), else 1.

    Another project's text is also halved if it contains the question word for word, or several sentences with most of
    its words: pages written to rank well look like this. 9 of 10 such pages do, and 3 of 420 real answers.
    """
    if _repeats_question(document["text"], frozenset(asked)):
        return ECHO
    asked_pairs, asked_words = set(pairwise(asked)), set(asked) - words.STOP_WORDS
    if len(asked_pairs) < 4 or scope.factor(document["project"], document["session_id"]) == 1:
        return 1.0
    pairs = pairwise(words.split(f"{document['text']}\n{document['context']}"))
    if len(asked_pairs.intersection(pairs)) >= 0.6 * len(asked_pairs):
        return ECHO
    sentences = document["text"].replace("? ", "\n").replace(". ", "\n").split("\n")
    count = sum(len(asked_words.intersection(words.split(text))) >= 0.6 * len(asked_words) for text in sentences)
    return ECHO if count >= 3 else 1.0


def _repeats_question(text: str, asked: frozenset[str]) -> bool:
    """Whether a user's turn adds hardly a word to the question, or a session's task contains most of it."""
    speaker, _, rest = text[:6].partition(":")
    if speaker not in ("user", "Task") or not rest:
        return False
    text_words = set(words.split(text[5:])) - words.STOP_WORDS
    if speaker == "user":
        return len(text_words - asked) <= 0.15 * len(text_words)
    wanted = asked - words.STOP_WORDS
    return bool(wanted) and len(wanted & text_words) >= 0.6 * len(wanted)


def distrust(traits: Traits, score: float, now: int, query: Query) -> list[str]:
    """The trust pass: the reasons to drop a candidate; empty if it may be shown. Names and bounds: the mirrored CLI."""
    is_observation = traits["collection"] == "observations"
    is_unused = traits["recall_count"] == 0 and not traits["pinned"]
    verdict = traits["write_verdict"]
    rules = {
        "too_short": traits["chars"] < 12 and is_observation and not traits["by_hand"],
        "stale_tagged": traits["stale"],
        "stale_age": is_observation and is_unused and now - traits["confirmed_at"] > 90 * DAY_MS,
        "invalid_score": not 0 <= score <= 1,
        "below_min_score": 0 <= score < query.min_score,
        "held_by_write_gate": verdict == "hold" and not query.include_hold,
        "discarded_by_write_gate": verdict == "discard" and not query.include_discard,
        "superseded": traits["superseded_by"] != "",
    }
    return [reason for reason, applies in rules.items() if applies]
