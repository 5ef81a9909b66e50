"""How a recall came to its answer: what words and meaning made each score, what time and use did, why others fell.

`ScoreTrace` stands between a recall and its store where an explanation is asked for, and remembers what the searches
said. The factors are computed anew from that, in the order in which `recall.ranking` applies them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from core.clock import DAY_MS
from recall import fusion, trust

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Candidate, CandidateSource, Document, Filters, Hit
    from recall.ranking import Ranked, Ranking

FORMULA = "score = min(1, ((1 - w) * fused * substance + w * evidence) * decay * project * boost) * known * echo"
_MOST_DROPPED = 50
_SHOWN = 220
_BESIDE = "a tool call or a session's work, scored by the names and words that it holds (recall.by_name)"


class ScoreTrace:
    """A source of candidates, and what it said of the last search; `source` is this, as a recall takes it."""

    def __init__(self, inner: CandidateSource) -> None:
        self._inner = inner
        self.source = cast("CandidateSource", self)
        self._terms: Sequence[str] = ()
        self._candidates: dict[int, Candidate] = {}
        self._lexical_rank: dict[int, int] = {}
        self._semantic_rank: dict[int, int] = {}
        self._around: dict[int, tuple[float, float]] = {}
        self._absent = 0.0
        self._texts: dict[int, Document] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def candidates(
        self, terms: Sequence[str], vector: bytes, filters: Filters, lexical: int, semantic: int
    ) -> list[Candidate]:
        """See `core.records.CandidateSource`."""
        found = self._inner.candidates(terms, vector, filters, lexical, semantic)
        self._terms = terms
        self._candidates = {candidate["rowid"]: candidate for candidate in found}
        words = sorted((one for one in found if one["bm25"] > 0), key=lambda one: -one["bm25"])
        near = sorted((one for one in found if one["cosine"] is not None), key=lambda one: -(one["cosine"] or 0.0))
        self._lexical_rank = {one["rowid"]: rank for rank, one in enumerate(words, 1)}
        self._semantic_rank = {one["rowid"]: rank for rank, one in enumerate(near, 1)}
        return found

    def documents(self, rowids: Sequence[int]) -> list[Document]:
        """See `core.records.CandidateSource`."""
        found = self._inner.documents(rowids)
        self._texts |= {document["rowid"]: document for document in found}
        return found

    def around(self, rowids: Sequence[int], terms: Sequence[str]) -> dict[int, tuple[float, float]]:
        """See `core.records.CandidateSource`."""
        self._around = self._inner.around(rowids, terms)
        return self._around

    def absent(self, terms: Sequence[str]) -> float:
        """See `core.records.CandidateSource`."""
        self._absent = self._inner.absent(terms)
        return self._absent

    def explanation(
        self,
        ranking: Ranking,
        ranked: Sequence[Ranked],
        dropped: Sequence[tuple[Ranked, list[str]]],
        hits: Sequence[Hit],
        min_score: float,
    ) -> dict[str, Any]:
        """The explanation of one recall, JSON values only.

        `hits` has an account of each hit, in their order; `dropped` the first 50 candidates that are none, the best
        first, each with its reasons; `droppedCount` all of them, by reason. A candidate that shares too little with the
        query is not scored further: its score is 0.
        """
        entries = {entry[3]["rowid"]: entry for entry in ranked}
        half = fusion.lexical_half(len(self._terms), self._inner.size())
        by_trust = {entry[3]["rowid"]: reasons for entry, reasons in dropped}
        by_id = {hit["id"]: hit for hit in hits}

        def score_of(row: int) -> float:
            return entries[row][0] if row in entries else 0.0

        def reasons(row: int) -> list[str]:
            """What the trust pass said; else what came after it, or before."""
            candidate, document = self._candidates[row], self._texts.get(row)
            if row in by_trust:
                return by_trust[row]
            if row not in entries:
                alike = fusion.fuse(candidate["bm25"], candidate["cosine"], half) >= fusion.LEAST
                return ["lacks_the_name" if alike else "too_little_in_common"]
            if document is not None and ranking.scope.is_foreign(document["project"], document["session_id"]):
                return ["other_project"]
            late = document is not None and score_of(row) * trust.ECHO < min_score
            return ["below_min_score" if late else "beyond_limit"]

        fallen = {
            row: reasons(row)
            for row in self._candidates
            if row not in self._texts or self._texts[row]["id"] not in by_id
        }
        shown = sorted(fallen, key=lambda row: -score_of(row))[:_MOST_DROPPED]
        missing = [row for row in shown if row not in self._texts]
        if missing:
            self.documents(missing)
        row_of = {document["id"]: row for row, document in self._texts.items()}
        rows = [row_of[identifier] for identifier in by_id if identifier in row_of]
        weights = self._inner.weights([*rows, *shown], self._terms)
        near = ranking.contextual.cosines(list(entries)) if ranking.contextual is not None and entries else {}

        def parts(row: int) -> dict[str, Any]:
            searched = self._searched(row, weights, half, near.get(row))
            return {**searched, **self._scored(ranking, entries[row])} if row in entries else searched

        told = []
        for rank, hit in enumerate(hits, 1):
            row, about = row_of.get(hit["id"], -1), {"id": hit["id"], "rank": rank, "score": hit["score"]}
            if row in entries:
                echo = score_of(row) and hit["score"] < score_of(row) * (1 + trust.ECHO) / 2
                told.append({**about, **parts(row), "echo": trust.ECHO if echo else 1.0})
            else:
                told.append({**about, "beside": _BESIDE})
        left = [(row, self._texts[row]) for row in shown if row in self._texts]
        return {
            "formula": FORMULA,
            "terms": list(self._terms),
            "lexicalHalf": round(half, 4),
            "hits": told,
            "dropped": [
                {
                    "id": document["id"],
                    "observation": document["text"][:_SHOWN],
                    "score": round(score_of(row), 4),
                    "reasons": fallen[row],
                    **parts(row),
                }
                for row, document in left
            ],
            "droppedCount": Counter(reason for listed in fallen.values() for reason in listed),
        }

    def _searched(
        self, row: int, weights: dict[str, dict[int, float]], half: float, near: float | None
    ) -> dict[str, Any]:
        """What both searches said of a document: the words with their weights, and the meaning."""
        bm25, cosine = self._candidates[row]["bm25"], self._candidates[row]["cosine"]
        matched = [(term, found[row]) for term, found in weights.items() if row in found]
        semantic: dict[str, Any] | None = None
        if cosine is not None:
            # both parts are a probabilistic sum: with no word, what is left is the meaning's
            alone = fusion.fuse(0.0, cosine, half, near)
            semantic = {"cosine": round(cosine, 4), "rank": self._semantic_rank.get(row), "score": round(alone, 4)}
            if near is not None:
                semantic["contextualCosine"] = round(near, 4)
        return {
            "words": [
                {"term": term, "weight": round(weight, 4)} for term, weight in sorted(matched, key=lambda one: -one[1])
            ],
            "lexical": {
                "bm25": round(bm25, 4),
                "rank": self._lexical_rank.get(row),
                "score": round(fusion.fuse(bm25, None, half), 4),
            },
            "semantic": semantic,
        }

    def _scored(self, ranking: Ranking, entry: Ranked) -> dict[str, Any]:
        """What became of a document's score after the searches."""
        _, fused, boost, traits = entry
        aged, rule = ranking.aged(traits)
        segment = None
        if traits["rowid"] in self._around:
            around, segments = self._around[traits["rowid"]], self._inner.segments()
            evidence = fusion.with_segment(0.0, around, fusion.segment_half(len(self._terms), segments), 1.0)
            segment = {
                "bm25": round(around[0], 4),
                "coverage": round(around[1], 4),
                "evidence": round(evidence, 4),
                "w": round(fusion.segment_weight(segments), 4),
            }
        days = round(max(ranking.now - traits["confirmed_at"], 0) / DAY_MS, 1)
        return {
            "fused": round(fused, 4),
            "substance": round(trust.substance(traits["collection"], traits["chars"]), 4),
            "segment": segment,
            "decay": {"factor": round(aged, 4), "days": days, "by": rule},
            "project": ranking.scope.factor(traits["project"], traits["session"]),
            "boost": {
                "factor": round(boost, 4),
                "priority": traits["retrieval_priority"],
                "recalls": traits["recall_count"],
            },
            "known": round(fusion.answerable(self._absent, self._inner.size()), 4),
        }
