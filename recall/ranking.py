"""Scores and ranks candidates: words and meaning, the session around, when it was, use; and the trust pass. Hot path.

Words and meaning are brought to an absolute scale before they are added, so that a score means the same for every query
and on every backend. The constants were measured (docs/recall.md).
"""

from __future__ import annotations

from itertools import pairwise
from math import exp, log

from core import TYPE_CHECKING, words
from core.clock import DAY_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Candidate, CandidateSource, Document, Filters, Traits
    from recall.query import Query, Scope

    Ranked = tuple[float, float, float, Traits]
    """Score, raw score, boost, traits."""

LEAST = 0.05  # what scores less shares nothing with the query that would matter, and is not found
DOUBTED, BELIEVED = 0.6, 0.22
"""Half of a query's words stand nowhere in a large store: a common one among the rest scores less than the second."""
_MEANT = 0.1  # of a query of which no word stands anywhere: what nonsense does not reach where there is much
LEXICAL_SCALE = 0.7
_SEMANTIC_WEIGHT, _SEMANTIC_AT_WORK = 0.35, 0.2
"""The most that meaning alone can score; and where an agent made calls, in a large store: names have no vectors."""
_COSINE_LOW, _COSINE_HIGH = 0.3, 0.8
"""Unrelated texts of the static space lie below the first."""
_SEGMENT_SCALE = 0.35
_SEGMENT_WEIGHT, _SEGMENTS_HALF = 0.6, 25
"""Of so many segments they count for half of that."""
_COVERAGE_SHARE = 0.5  # of a segment's evidence that it loses where it holds but the words that say least
_ABSENT_HALF = 200
"""Documents at which a word that none of them has counts for half: a small store lacks most words."""
_MIN_CHARS = 12
_STAGES = {"asked": 0.8, "under way": 0.85}
"""What is left of the score of what was no turn's end, in a session that made calls."""
_TALK = ("", "question")
"""Stages of what was said in a session without calls: nothing of that holds there."""
_TALKED, _WORKED = (0.15, 150), (0.3, 300)
"""What a turn loses at most that has fewer characters; and what an agent says beside its calls."""
_WORKED_AROUND = 0.7  # what the turns around count there, of what they do elsewhere
_CONCLUDES, _ON_THE_WAY, _LOOKED_AT = 0.8, 6, 50
"""What ends a turn knows more than what the agent said so many messages before, if it has so much of its score."""
_ANSWERS, _ANSWER = 3, 1.2
"""What ends a turn at most so many messages behind what was asked answers that, and has so much of its score."""
_REPLY = 0.75  # what the question directly before it counts of a reply's score, in a talk
_STALE_DAYS = 90
_OBSERVATION_DECAY, _OLD_OBSERVATION = 0.01, 0.4
_EPISODE_DAYS = 30
ECHO = 0.5  # what is left of the score of the question itself: an answer goes before it, and it stays findable
_NEW_SHARE = 0.15
_REPEATED, _LEAST_PAIRS = 0.6, 4  # the share of a question's pairs of words, and of how many, that say it word for word
_RESTATED = 3
"""Sentences with that share of a question's words, as 9 of 10 pages made to be found have, and 3 of 420 true hits."""
_HELD_SHARE = 0.6
_RECENT = frozenset(("latest", "newest", "recent", "recently"))
_OUTSIDE, _NEAR, _OLDEST_DAYS = 0.7, 0.85, 3650.0
"""What is left of the score of a memory of another time than the query names, and of one close to it."""
_TIME_WORDS = frozenset(
    "ago today yesterday week month year days weeks months years monday tuesday wednesday"
    " thursday friday saturday sunday january february march april may june july august september october"
    " november december feb apr jun jul aug sep oct nov dec".split()
)


def half(scale: float, terms: int, texts: int) -> float:
    """The BM25 that scores one half: it grows with the query and, as an idf does, with the number of texts."""
    return scale * float(max(terms, 1) ** 0.5) * max(log(1.0 + texts), 0.5)


def fuse(
    bm25: float, cosine: float | None, lexical_half: float, weight: float = _SEMANTIC_WEIGHT
) -> float:  # fmt: skip
    """The score of a candidate, 0 to 1: the probabilistic sum of its parts; without vectors of the words."""
    score = bm25 / (bm25 + lexical_half) if bm25 > 0 else 0.0
    if cosine is not None and cosine > _COSINE_LOW:
        score += weight * min(1.0, (cosine - _COSINE_LOW) / (_COSINE_HIGH - _COSINE_LOW)) * (1 - score)
    return score


def evidence(around: tuple[float, float], segment_half: float) -> float:
    """What the turns around an episode say, 0 to 1, of their BM25 and the share of the query's weight they cover."""
    bm25, coverage = around
    return bm25 / (bm25 + segment_half) * (1 - _COVERAGE_SHARE * (1 - coverage)) if bm25 > 0 else 0.0


def answerable(absent: float, documents: int) -> float:
    """What is left of every score where a share `absent` of a query's words stands nowhere: some turn has some word."""
    return 1 - absent * documents / (documents + _ABSENT_HALF)


def usage_boost(priority: float, recall_count: int) -> float:
    """max(.35, (1 + .15·priority) · (1 + min(.3, .06·ln(1 + recalls)))), the priority held to -1..1."""
    held = min(max(priority, -1.0), 1.0)
    return max(0.35, (1 + 0.15 * held) * (1 + min(0.3, 0.06 * log(1 + max(recall_count, 0)))))


def age_factor(collection: str, age_ms: int, episode_decay: float) -> float:
    """What age leaves of a score: of observations exp(-.01·days) as in the mirrored CLI, and .4 at least.

    Of episodes at most `episode_decay` goes, most of it in the first months. Knowledge does not age.
    """
    days = max(age_ms, 0) / DAY_MS
    if collection == "observations":
        return max(exp(-_OBSERVATION_DECAY * days), _OLD_OBSERVATION)
    if collection == "episodes":
        return 1 - episode_decay * (1 - exp(-days / _EPISODE_DAYS))
    return 1.0


def substance(collection: str, chars: int, stage: str = "") -> float:
    """What a short turn loses: "Good, go on." matches well, since BM25 favours short texts, and says nothing; and what
    was asked, or said on the way: the message that a turn ends with knows more.
    """
    if collection != "episodes":
        return 1.0
    share, enough = _WORKED if stage in ("under way", "ended") else _TALKED
    return (1 - share * (1 - min(chars / enough, 1.0))) * _STAGES.get(stage, 1.0)


class Span:
    """From `start` to `end` (ms), and days of `slack` around; with no `start` what is recent is asked for."""

    def __init__(self, start: int | None, end: int, now: int, slack: tuple[int, int] = (0, 0)) -> None:
        self.start, self.end, self.now, self.slack = start, end, now, slack

    def factor(self, at: int) -> float:
        """What is left of the score of a memory of `at`: .7 to 1, of an old one .5 to 1."""
        if self.start is None:
            days = max(self.now - at, 0) / DAY_MS
            return 1 - 0.5 * min(log(1 + days) / log(1 + _OLDEST_DAYS), 1.0)
        if self.start <= at < self.end:
            return 1.0
        before, after = self.slack
        return _NEAR if self.start - before * DAY_MS <= at < self.end + after * DAY_MS else _OUTSIDE


def time_named(query: str, now: int) -> Span | None:
    """The time that a query names; what reads a calendar is imported where a word may name one."""
    said = words.split(query)
    for at, word in enumerate(said):
        if word in _RECENT or said[at : at + 2] == ["last", "time"]:
            return Span(None, now, now)
        if word in _TIME_WORDS or (len(word) == 4 and word[:2] in ("19", "20")):
            from recall import dates

            found = dates.named(said, now)
            if found is not None:
                start, end, slack = found
                return Span(start, end, now, slack)
    return None


class Ranking:
    """What the scores of one recall depend on, besides the documents; and what the last search gave, to explain it."""

    def __init__(self, text: str, scope: Scope, now: int, episode_decay: float) -> None:
        self._said = words.query_terms(text)
        self._episode_decay = episode_decay
        self._asked_for = time_named(text, now)
        self.scope, self.now = scope, now
        self.terms: Sequence[str] = ()
        self.candidates: dict[int, Candidate] = {}
        self.around: dict[int, tuple[float, float]] = {}
        self.lexical_half = self.segment_half = self.segment_weight = 0.0
        self.known, self.size = 1.0, 0

    def rank(
        self, found_in: CandidateSource, terms: Sequence[str], vector: bytes, filters: Filters, wide: int, near: int
    ) -> list[Ranked]:
        """Every candidate, best first; ties go to the newer. `wide`: how many by words; `near`: by meaning."""
        self.terms = terms
        candidates = found_in.candidates(terms, vector, filters, wide, near)
        self.candidates = {candidate["rowid"]: candidate for candidate in candidates}
        self.size = found_in.size()  # a cluster knows it only now
        self.lexical_half = half(LEXICAL_SCALE, len(terms), self.size)
        raw = {}
        for rowid, candidate in self.candidates.items():
            score = fuse(candidate["bm25"], candidate["cosine"], self.lexical_half)
            if score >= LEAST:
                raw[rowid] = score
        if not raw:
            return []
        self.around = around = found_in.around(list(raw), terms)
        segments = found_in.segments() if around else 0
        self.segment_half = half(_SEGMENT_SCALE, len(terms), segments)
        self.segment_weight = _SEGMENT_WEIGHT * segments / (segments + _SEGMENTS_HALF)
        absent = found_in.absent(self._said)
        self.known = answerable(absent, self.size)
        if absent == 1 and max(raw.values()) * self.known < _MEANT:
            return []
        ranked: list[Ranked] = []
        for traits in found_in.traits(list(raw)):
            rowid = traits["rowid"]
            if traits["stage"] not in _TALK:
                bm25, cosine = self.candidates[rowid]["bm25"], self.candidates[rowid]["cosine"]
                raw[rowid] = fuse(bm25, cosine, self.lexical_half, self.meant(traits))
            score = raw[rowid] * substance(traits["collection"], traits["chars"], traits["stage"])
            if rowid in around:
                weight = self.weight_around(traits)
                score = (1 - weight) * score + weight * evidence(around[rowid], self.segment_half)
            score *= self.aged(traits)[0] * self.scope.factor(traits["project"], traits["session"])
            used = 0 if traits["collection"] == "episodes" else traits["recall_count"]  # a turn comes back for others
            boost = usage_boost(traits["retrieval_priority"], used)
            ranked.append((min(score * boost, 1.0) * self.known, raw[rowid], boost, traits))
        if self.known < DOUBTED:  # of a talk people ask in other words than were said there
            ranked = [one for one in ranked if one[0] >= BELIEVED or (one[3]["collection"] == "episodes"
                      and one[3]["stage"] in _TALK)]  # fmt: skip
        ranked.sort(key=lambda entry: (-entry[0], -entry[3]["confirmed_at"], entry[3]["rowid"]))
        return concluded(ranked[:_LOOKED_AT]) + ranked[_LOOKED_AT:]

    def meant(self, traits: Traits) -> float:
        """The most that meaning alone can score of a document."""
        less = 0.0 if traits["stage"] in _TALK else _SEMANTIC_WEIGHT - _SEMANTIC_AT_WORK
        return _SEMANTIC_WEIGHT - less * self.size / (self.size + _ABSENT_HALF)

    def weight_around(self, traits: Traits) -> float:
        """What the turns around a document weigh beside its own words."""
        return self.segment_weight * (1.0 if traits["stage"] in _TALK else _WORKED_AROUND)

    def aged(self, traits: Traits) -> tuple[float, str]:
        """What time leaves of a score, and by which rule: the time that the query names, a pin, or age."""
        if self._asked_for is not None and traits["collection"] != "knowledge":
            return self._asked_for.factor(traits["confirmed_at"]), "time_named"
        if traits["pinned"]:
            return 1.0, "pinned"
        return age_factor(traits["collection"], self.now - traits["confirmed_at"], self._episode_decay), "age"


def concluded(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The same; what ends a turn, if it scores but little less, before what it answers and what led to it.

    In a talk what was said directly after a question has most of its score; all of it, if its own is nearly as high.
    """
    said = [(traits["session"], traits["rowid"], traits["stage"], score) for score, _, _, traits in ranked]
    questions = {(session, at): score for session, at, stage, score in said if stage == "question"}
    order: list[tuple[float, int, Ranked]] = []
    for place, (own, raw, boost, traits) in enumerate(ranked):
        row, score = traits["rowid"], own
        asked = questions.get((traits["session"], row - 1), 0.0) if traits["stage"] in _TALK else 0.0
        if asked > own:
            score = asked if own >= _CONCLUDES * asked else (1 - _REPLY) * own + _REPLY * asked
        for session, at, stage, other in said if traits["stage"] == "ended" else ():
            most = _ANSWERS if stage == "asked" else _ON_THE_WAY
            if session == traits["session"] and 0 < row - at <= most and own >= _CONCLUDES * other:
                score = max(score, min(other * _ANSWER, 1.0) if stage == "asked" else other)
        tied = place if traits["stage"] in _TALK and score == own else -row
        order.append((-score, tied, (score, raw, boost, traits)))
    return [entry for *_, entry in sorted(order, key=lambda one: one[:2])]


def echo(document: Document, asked: Sequence[str], scope: Scope) -> float:
    """What is left of the score of a memory that is the question, or repeats it in another project.

    A page there that wants to be found says what is likely to be asked, word for word or in several sentences that have
    most of its words; `asked` are the words of the query.
    """
    if echoes(document["text"], frozenset(asked)):
        return ECHO
    pairs, wanted = set(pairwise(asked)), set(asked) - words.STOP_WORDS
    if len(pairs) < _LEAST_PAIRS or scope.factor(document["project"], document["session_id"]) == 1:
        return 1.0
    said = pairwise(words.split(f"{document['text']}\n{document['context']}"))
    if len(pairs.intersection(said)) >= _REPEATED * len(pairs):
        return ECHO
    sentences = document["text"].replace("? ", "\n").replace(". ", "\n").split("\n")
    times = sum(len(wanted.intersection(words.split(one))) >= _REPEATED * len(wanted) for one in sentences)
    return ECHO if times >= _RESTATED else 1.0


def echoes(text: str, asked: frozenset[str]) -> bool:
    """Whether a memory is the question (its words: `asked`) put before, and no answer to it.

    That is a user's turn that says nothing more than the question, and the memory of a session's task that holds most.
    """
    speaker, _, rest = text[:6].partition(":")
    if speaker not in ("user", "Task") or not rest:
        return False
    said = {word for word in words.split(text[5:]) if word not in words.STOP_WORDS}
    if speaker == "user":
        return len(said - asked) <= _NEW_SHARE * len(said)
    wanted = {word for word in asked if word not in words.STOP_WORDS}
    return bool(wanted) and len(wanted & said) >= _HELD_SHARE * len(wanted)


def distrust(traits: Traits, score: float, now: int, query: Query) -> list[str]:
    """The trust pass: why a candidate is dropped; empty when it may be shown. When all drop, nothing is returned."""
    is_observation = traits["collection"] == "observations"
    unused = traits["recall_count"] == 0 and not traits["pinned"]
    verdict = traits["write_verdict"]
    rules = {
        "too_short": traits["chars"] < _MIN_CHARS and is_observation and not traits["by_hand"],
        "stale_tagged": traits["stale"],
        "stale_age": is_observation and unused and now - traits["confirmed_at"] > _STALE_DAYS * DAY_MS,
        "invalid_score": not 0 <= score <= 1,
        "below_min_score": 0 <= score < query.min_score,
        "held_by_write_gate": verdict == "hold" and not query.include_hold,
        "discarded_by_write_gate": verdict == "discard" and not query.include_discard,
        "superseded": traits["superseded_by"] != "",
    }
    return [reason for reason, holds in rules.items() if holds]
