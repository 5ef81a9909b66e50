"""Ranks the documents of a recall. Hot path.

An episode is an archived message: a prompt, or a text of the agent. In a session with tool calls it is part of work,
in any other session part of a conversation.

1. candidates: the best by words (BM25) and by meaning (cosine of static vectors), from the store or the cluster
2. a score of each, 0 to 1, so that it means the same for every query and backend:
   raw = words + meaning · (1 - words)
   score = min(1, (raw · stage, averaged with the words of the segment around it) · time · project · boost) · coverage
3. conclusions: the message that ends a turn comes before its prompt and the steps to it

`recall.engine` then applies `reasons_to_drop` and `restates_question`. Numbers without another reason were tuned on
the first 84 questions of docs/figures.md, which reports two further sets of questions about sessions. A number was
removed if recall without it lost less than 1 % of the answers on those.
"""

from __future__ import annotations

from math import exp, log

from core import TYPE_CHECKING, words
from core.clock import DAY_MS
from recall.times import period_named, words_of_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Filters, Traits
    from core.store.search import LocalCandidates
    from recall.query import Query, Scope


LEXICAL_SCALE = 0.7  # of the BM25 that scores .5: see `half_bm25`
MAX_MEANING = 0.35  # the most that meaning scores in a large store; words find more than static vectors do
STALE_MS = 90 * DAY_MS  # the age at which an observation that was never recalled is left out (the mirrored CLI)
SMALL_STORE = 200  # documents: in a store of that size an absent word counts half, since it lacks most words anyway


class Ranked:
    """A document with its score, its raw score (words and meaning) and its boost."""

    __slots__ = ("boost", "raw", "score", "traits")

    def __init__(self, score: float, raw: float, boost: float, traits: Traits) -> None:
        self.score = score
        self.raw = raw
        self.boost = boost
        self.traits = traits


class Ranking:
    """Ranks documents for a query. `episode_decay`: the share of its score that an episode loses with age."""

    def __init__(self, text: str, scope: Scope, now: int, episode_decay: float) -> None:
        self._query_terms = words.query_terms(text)
        self._period = period_named(words_of_time(text), now)
        self._scope = scope
        self._now = now
        self._episode_decay = episode_decay

    def rank(
        self,
        source: LocalCandidates,
        terms: Sequence[str],
        vector: bytes,
        filters: Filters,
        most_by_words: int,
        most_by_meaning: int,
    ) -> list[Ranked]:
        """The documents that may answer the query, best first.

        `vector` is b"" for a search by words only.
        """
        found = source.candidates(terms, vector, filters, most_by_words, most_by_meaning)
        candidates = {row["rowid"]: row for row in found}
        size = source.size()  # a cluster knows it only after the search
        smallness = SMALL_STORE / (size + SMALL_STORE)
        half = half_bm25(len(terms), size)

        def raw_score(rowid: int, max_meaning: float) -> float:
            by_words, cosine = saturated(candidates[rowid]["bm25"], half), candidates[rowid]["cosine"]
            return by_words + max_meaning * _similarity(cosine, smallness) * (1 - by_words)

        min_score = 0.05  # what scores less shares only common words with the query
        scores = {rowid: raw_score(rowid, MAX_MEANING) for rowid in candidates}  # before the kind of document is known
        rowids = [rowid for rowid, score in scores.items() if score >= min_score]
        # Some document always contains one of the query's words. If the others are in none, it is about something else.
        missing = source.absent(self._query_terms) if rowids else 1.0
        coverage = 1 - missing * (1 - smallness)
        if not rowids or (missing == 1 and max(scores.values()) * coverage < min_score):
            return []
        segments = _segment_scores(source, rowids, terms)
        ranked = []
        for traits in source.traits(rowids):
            raw = raw_score(traits["rowid"], _max_meaning(traits, smallness))
            score, boost = raw * _stage_factor(traits), _boost(traits)
            if traits["rowid"] in segments:
                segment_score, trust = segments[traits["rowid"]]
                # A conversation spreads an answer over several messages. At work, a single message sums up the result.
                weight = trust * (0.45 if is_work(traits) else 0.65)
                score = (1 - weight) * score + weight * segment_score
            score *= self._time_factor(traits) * self._scope.factor(traits["project"], traits["session"]) * boost
            ranked.append(Ranked(min(score, 1.0) * coverage, raw, boost, traits))
        ranked.sort(key=lambda entry: (-entry.score, -entry.traits["confirmed_at"], entry.traits["rowid"]))
        return raise_conclusions(ranked)

    def newest(self, source: LocalCandidates, filters: Filters) -> list[Ranked]:
        """The newest documents, for a query without words to look for: prompts and answers before the agent's steps."""
        rows = source.newest(filters, 500)
        traits_of = {traits["rowid"]: traits for traits in source.traits(rows)}
        ranked = []
        for traits in map(traits_of.__getitem__, rows):
            share = 0.5 if traits["stage"] == "under way" else 1.0
            ranked.append(Ranked(share * self._scope.factor(traits["project"], traits["session"]), 1.0, 1.0, traits))
        ranked.sort(key=lambda entry: -entry.score)  # stable: equal scores stay in the order of time
        return ranked

    def _time_factor(self, traits: Traits) -> float:
        at, collection = traits["confirmed_at"], traits["collection"]
        if self._period is not None and collection != "knowledge":
            return 1.0 if self._period[0] <= at < self._period[1] else 0.7
        return 1.0 if traits["pinned"] else age_factor(collection, self._now - at, self._episode_decay)


def half_bm25(term_count: int, text_count: int) -> float:
    """The BM25 that scores .5. It grows with the query, and with the number of texts as an idf does."""
    return LEXICAL_SCALE * float(max(term_count, 1) ** 0.5) * max(log(1.0 + text_count), 0.5)


def saturated(bm25: float, half: float) -> float:
    """A BM25 as a score, 0 to 1: .5 for `half`."""
    return bm25 / (bm25 + half) if bm25 > 0 else 0.0


def _similarity(cosine: float | None, smallness: float) -> float:
    """A cosine as a score, 0 to 1; None (no vectors) is 0."""
    unrelated = 0.3  # the cosine below which texts have nothing in common
    # The cosine above which they say the same. In a large store, nonsense reaches .6 with some text.
    paraphrase = 0.8 - 0.2 * smallness
    return min(max(((cosine or 0.0) - unrelated) / (paraphrase - unrelated), 0.0), 1.0)


def _max_meaning(traits: Traits, smallness: float) -> float:
    """The most that meaning can score for a document; for memories and work it falls as the store grows.

    In a small store most words are rare, so that a word in common says little. Work is full of identifiers, which have
    no vectors.
    """
    if traits["collection"] != "episodes":
        return MAX_MEANING * (1 + smallness)
    max_in_large_store = 0.2 if is_work(traits) else MAX_MEANING
    return max_in_large_store + (MAX_MEANING - max_in_large_store) * smallness


def _segment_scores(source: LocalCandidates, rowids: list[int], terms: Sequence[str]) -> dict[int, tuple[float, float]]:
    """The score of the 4,000 characters around each episode, and how far to trust it, 0 to 1, by the episode's row.

    The words of a question are spread over several messages. A cluster has no segments.
    """
    around = source.around(rowids, terms)
    count = source.segments() if around else 0
    half = half_bm25(len(terms), count) / 2  # a segment is ten times as long, which lowers its BM25
    trust = count / (count + 25)  # BM25 needs many texts to know rare words from common ones
    return {rowid: (saturated(bm25, half), trust) for rowid, bm25 in around.items()}


def _stage_factor(traits: Traits) -> float:
    """The share of its score that a message of work keeps: less for prompts, steps and short texts."""
    if not is_work(traits):
        return 1.0
    if traits["stage"] == "asked":
        return 0.9  # a prompt asks what the end of its turn answers
    # BM25 favours short texts, and "Good, go on." says nothing.
    length_factor = 1 - 0.3 * (1 - min(traits["chars"] / 300, 1.0))
    return (0.95 if traits["stage"] == "under way" else 1.0) * length_factor


def is_work(traits: Traits) -> bool:
    """Whether a document is a message of a session with tool calls; other documents have the stage "question" or ""."""
    return traits["stage"] not in ("", "question")


def _boost(traits: Traits) -> float:
    """The contract's boost: max(.35, (1 + .15·priority) · (1 + min(.3, .06·ln(1 + recalls)))), priority -1 to 1.

    The recalls of an episode do not count: it is recalled along with others of its session.
    """
    recalls = 0 if traits["collection"] == "episodes" else traits["recall_count"]
    priority = min(max(traits["retrieval_priority"], -1.0), 1.0)
    return max(0.35, (1 + 0.15 * priority) * (1 + min(0.3, 0.06 * log(1 + max(recalls, 0)))))


def age_factor(collection: str, age_ms: int, episode_decay: float) -> float:
    """The share of a score that age leaves. Knowledge does not age."""
    days = max(age_ms, 0) / DAY_MS
    if collection == "observations":
        # The mirrored CLI's decay, but an old fact that matches well is still the answer.
        return max(exp(-0.01 * days), 0.4)
    if collection == "episodes":
        return 1 - episode_decay * (1 - exp(-days / 30))  # mostly within a month
    return 1.0


def raise_conclusions(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The documents, best first, with each conclusion raised to the best score of the messages that it concludes.

    The last message of a turn of work concludes the six messages before it. In a conversation, a reply concludes the
    question before it. A conclusion must have .8 of a message's own score: otherwise it is about something else. Of
    equal scores, work and conclusions come first, those archived last first.
    """
    by_row = {(entry.traits["session"], entry.traits["rowid"]): entry for entry in ranked}
    raised: list[tuple[float, int, Ranked]] = []
    for own in ranked:
        session, row, of_work = own.traits["session"], own.traits["rowid"], is_work(own.traits)
        # The rows of a session follow each other, unless another session was archived in between.
        row_count = 6 if own.traits["stage"] == "ended" else 0 if of_work else 1
        before = [by_row.get((session, earlier)) for earlier in range(row - row_count, row)]
        concluded = [
            earlier.score for earlier in before
            if earlier and (of_work or earlier.traits["stage"] == "question") and own.score >= 0.8 * earlier.score
        ]  # fmt: skip
        best = max([own.score, *concluded])
        tie_break = row if of_work or best > own.score else 0  # 0: it keeps its place among equals
        raised.append((best, tie_break, own))
    raised.sort(key=lambda entry: (-entry[0], -entry[1]))
    for score, _, own in raised:
        own.score = score
    return [own for _, _, own in raised]


def restates_question(text: str, asked: frozenset[str]) -> bool:
    """Whether a text only restates the question: a prompt that adds hardly a word, or a task with most of its words."""
    text_words = set(words.split(text[len("user:") :])) - words.STOP_WORDS  # or "Task:"
    if text.startswith("user:"):
        return len(text_words - asked) <= 0.15 * len(text_words)
    wanted = asked - words.STOP_WORDS
    return text.startswith("Task:") and len(wanted) > 0 and len(wanted & text_words) >= 0.6 * len(wanted)


def reasons_to_drop(traits: Traits, score: float, now: int, query: Query) -> list[str]:
    """The trust pass: why a document may not be shown; empty if it may. Names and bounds are the mirrored CLI's."""
    is_observation = traits["collection"] == "observations"
    is_unused = traits["recall_count"] == 0 and not traits["pinned"]
    verdict = traits["write_verdict"]
    rules = {
        "too_short": traits["chars"] < 12 and is_observation and not traits["by_hand"],
        "stale_tagged": traits["stale"],
        "stale_age": is_observation and is_unused and now - traits["confirmed_at"] > STALE_MS,
        "invalid_score": not 0 <= score <= 1,
        "below_min_score": 0 <= score < query.min_score,
        "held_by_write_gate": verdict == "hold" and not query.include_hold,
        "discarded_by_write_gate": verdict == "discard" and not query.include_discard,
        "superseded": traits["superseded_by"] != "" and not query.include_superseded,
    }
    return [reason for reason, applies in rules.items() if applies]
