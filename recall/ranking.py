"""Gives each document of a recall its score, 0 to 1, on one scale for all queries. Hot path.

    raw   = words + meaning · (1 - words)                      .48 = .42 + .11 · .58
    text  = raw · stage · (1 - weight) + segment · weight      .53 = .48 · 1 · .58 + .60 · .42
    score = min(1, text · time · project · boost) · coverage   .39 = .53 · .97 · 1 · 1 · .77

| factor   | range      | example               | of a document | from |
|---|---|---|---|---|
| words    | 0 to 1     | 8 / (8 + 11.2)        | its BM25; .5 at `half_bm25` | `saturated` |
| meaning  | 0 to .7    | (.55 - .3) /.49 · .21 | its cosine, .3 to .8 or .6; least for work | `_meaning` |
| stage    | .66 to 1   | 1                     | less for prompts, steps and short texts of work | `_stage` |
| segment  | 0 to 1     | 6 / (6 + 4)           | the BM25 of the 4,000 characters around an episode | `_segments` |
| weight   | 0 to .65   | 300 / 325 · .45       | of the segment; less for work, and if there are few | `_segments` |
| time     | .4 to 1    | .97                   | less with age, or outside the period that the query names | `_time` |
| project  | .8 or 1    | 1                     | .8 for another project, if one is preferred | `Scope.factor` |
| boost    | .85 to 1.5 | 1                     | feedback on a memory, and how often it was recalled | `_boost` |
| coverage | 0 to 1     | 1 - 1/4 · .94         | less for each word of the query that no document has | `rank` |

The example is the last message of a turn of work, 30 days old, in a store of 3,000 documents and 300 segments. It has
the BM25 8 and the cosine .55, its segment has the BM25 6, and one of the query's four words is in no document.

What has a raw score below MIN_RAW is dropped. Then `raise_conclusions` may put the message that ends a turn before its
prompt and its steps, or a reply before its question, and `recall.engine` drops what `reasons_to_drop` names and halves
what `restates_question`.

An episode is a message of a transcript. In a session with tool calls it is part of work, in any other session part of
a conversation. Numbers without another reason were tuned on the first 84 questions of docs/figures.md, which also says
what recall loses without most of them, and how it does on two further sets.
"""

from __future__ import annotations

from math import exp, log

from core import TYPE_CHECKING, words
from core.clock import DAY_MS
from recall.times import period_named, words_of_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.records import Filters, Traits
    from core.store.search import Candidates
    from recall.query import Query, Scope


LEXICAL_SCALE = 0.7  # of the BM25 that scores .5: see `half_bm25`
MIN_RAW = 0.05  # what scores less shares only common words with the query
STALE_MS = 90 * DAY_MS  # the age at which an observation that was never recalled is left out (the mirrored CLI)
SMALL_STORE = 200  # documents: in a store of that size an absent word counts half, since it lacks most words anyway


class Ranked:
    """A document with its score, its raw score and its boost."""

    def __init__(self, score: float, raw: float, boost: float, traits: Traits) -> None:
        self.score = score
        self.raw = raw
        self.boost = boost
        self.traits = traits
        self.is_work = is_work(traits)


class Ranking:
    """Ranks documents for a query. `episode_decay`: the share of its score that an episode loses with age."""

    def __init__(self, text: str, scope: Scope, now: int, episode_decay: float) -> None:
        self._asked = words.query_terms(text)
        self._period = period_named(words_of_time(text), now)
        self._scope = scope
        self._now = now
        self._episode_decay = episode_decay

    def rank(
        self,
        source: Candidates,
        terms: Sequence[str],
        vector: bytes,
        filters: Filters,
        most_by_words: int,
        most_by_meaning: int,
    ) -> list[Ranked]:
        """The documents that may answer the query, best first.

        Args:
            terms: what the documents are searched for: the query's terms and their other forms (`db` for `database`),
                or only the names in the query. Coverage counts the terms of the query as it was asked.
            vector: of the query, b"" for a search by words only.
        """
        candidates = {
            row["rowid"]: row for row in source.candidates(terms, vector, filters, most_by_words, most_by_meaning)
        }
        size = source.size()  # a cluster knows it only after the search
        smallness = SMALL_STORE / (size + SMALL_STORE)
        half = half_bm25(len(terms), size)
        documents = []
        for traits in source.traits(list(candidates)) if candidates else ():
            candidate = candidates[traits["rowid"]]
            by_words = saturated(candidate["bm25"], half)
            raw = by_words + _meaning(candidate["cosine"], traits, smallness) * (1 - by_words)
            if raw >= MIN_RAW:
                documents.append((traits, raw))
        if not documents:
            return []
        missing = source.absent(self._asked)
        coverage = 1 - missing * (1 - smallness)
        if missing == 1 and max(raw for _, raw in documents) * coverage < MIN_RAW:
            return []  # no document has any of the words, nor is one near in meaning
        segments, trust = _segments(source, [traits["rowid"] for traits, _ in documents], terms)
        ranked = []
        for traits, raw in documents:
            text, segment = raw * _stage(traits), segments.get(traits["rowid"])
            if segment is not None:
                # A conversation spreads an answer over several messages. At work, a single message sums up the result.
                weight = trust * (0.45 if is_work(traits) else 0.65)
                text = text * (1 - weight) + segment * weight
            boost = _boost(traits)
            factors = self._time(traits) * self._scope.factor(traits["project"], traits["session"]) * boost
            ranked.append(Ranked(min(1.0, text * factors) * coverage, raw, boost, traits))
        return raise_conclusions(ranked)

    def newest(self, source: Candidates, filters: Filters) -> list[Ranked]:
        """The newest documents, for a query that only names a time: prompts and answers before the agent's steps."""
        rows = source.newest(filters, 500)
        traits_of = {traits["rowid"]: traits for traits in source.traits(rows)}
        ranked = []
        for traits in map(traits_of.__getitem__, rows):
            share = 0.5 if traits["stage"] == "under way" else 1.0
            ranked.append(Ranked(share * self._scope.factor(traits["project"], traits["session"]), 1.0, 1.0, traits))
        ranked.sort(key=lambda entry: -entry.score)  # stable: equal scores stay in the order of time
        return ranked

    def _time(self, traits: Traits) -> float:
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


def _meaning(cosine: float | None, traits: Traits, smallness: float) -> float:
    """A cosine as a score; None (no vectors) is 0. Even in a large store, words find more than static vectors do.

    In a small store most words are rare, so that a word in common says little, and the meaning more.
    """
    unrelated = 0.3  # the cosine below which texts have nothing in common
    # The cosine above which they say the same. In a large store, nonsense reaches .6 with some text.
    paraphrase = 0.8 - 0.2 * smallness
    similarity = min(max(((cosine or 0.0) - unrelated) / (paraphrase - unrelated), 0.0), 1.0)
    if traits["collection"] != "episodes":
        return similarity * (0.35 + 0.35 * smallness)
    # work is full of identifiers, which have no vectors
    return similarity * (0.2 + 0.15 * smallness if is_work(traits) else 0.35)


def _segments(source: Candidates, rows: list[int], terms: Sequence[str]) -> tuple[dict[int, float], float]:
    """The score of the 4,000 characters around each episode, by its row; and how much these scores can be trusted.

    The words of a question are spread over several messages. A cluster has no segments.
    """
    around = source.around(rows, terms)
    count = source.segments() if around else 0
    half = half_bm25(len(terms), count) / 2  # a segment is ten times as long, which lowers its BM25
    trust = count / (count + 25)  # BM25 needs many texts to know rare words from common ones
    return {row: saturated(bm25, half) for row, bm25 in around.items()}, trust


def _stage(traits: Traits) -> float:
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
    """The contract's boost: (1 + .15·priority) · (1 + min(.3, .06·ln(1 + recalls))), priority -1 to 1.

    The recalls of an episode do not count: it is recalled along with others of its session.
    """
    recalls = 0 if traits["collection"] == "episodes" else traits["recall_count"]
    priority = min(max(traits["retrieval_priority"], -1.0), 1.0)
    return (1 + 0.15 * priority) * (1 + min(0.3, 0.06 * log(1 + max(recalls, 0))))


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
    """The documents, best first; each conclusion gets the best score of the messages that it concludes.

    Of equal scores, the newest come first.
    """
    by_row = {entry.traits["rowid"]: entry for entry in ranked}
    for _, entry in sorted(by_row.items(), reverse=True):  # the last first: what is raised raises no other
        entry.score = max([entry.score, *(earlier.score for earlier in _concluded_by(entry, by_row))])
    return sorted(ranked, key=lambda entry: (-entry.score, -entry.traits["confirmed_at"], -entry.traits["rowid"]))


def _concluded_by(entry: Ranked, by_row: Mapping[int, Ranked]) -> list[Ranked]:
    """The earlier messages that a message concludes.

    The last message of a turn of work concludes the six before it in its session, and a reply in a conversation the
    question before it, if its own score is at least .8 of theirs: otherwise it is about something else.
    """
    row, session, stage = entry.traits["rowid"], entry.traits["session"], entry.traits["stage"]
    # The rows of a session follow each other, unless another session was archived in between.
    count = 6 if stage == "ended" else 0 if is_work(entry.traits) else 1
    before = [by_row[earlier] for earlier in range(row - count, row) if earlier in by_row]
    return [
        earlier for earlier in before
        if earlier.traits["session"] == session and earlier.traits["stage"] != "" and entry.score >= 0.8 * earlier.score
    ]  # fmt: skip


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
