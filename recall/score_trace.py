"""How a recall came to its answer: what words and meaning made each score, what time and use did, why others fell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from core import words
from core.clock import DAY_MS
from core.records import CandidateSource, Hit
from recall import ranking
from recall.query import Query

FORMULA = (
    "score = min(1, ((1 - w) * fused * substance + w * evidence) * decay * project * boost) * known * echo,"
    " or that of what its turn came from"
)
_MOST_DROPPED, _SHOWN = 50, 220
_BESIDE = "a tool call or a session's work, scored by the names and words that it holds (recall.by_name)"


def explanation(
    found_in: CandidateSource, order: ranking.Ranking, query: Query, ranked: Sequence[ranking.Ranked],
    dropped: Sequence[tuple[ranking.Ranked, list[str]]], hits: Sequence[Hit],
) -> dict[str, Any]:  # fmt: skip
    """The explanation of one recall, JSON values only, from what the ranking keeps of the last search.

    `hits` has an account of each hit; `dropped` the first 50 candidates that are none, with reasons; `droppedCount` all
    of them, by reason. A candidate that shares too little with the query is not scored further: its score is 0.
    """
    entries = {entry[3]["rowid"]: entry for entry in ranked}
    scores = {row: entry[0] for row, entry in entries.items()}
    rows = list(order.candidates)
    documents = {document["rowid"]: document for document in found_in.documents(rows)} if rows else {}
    row_of = {document["id"]: row for row, document in documents.items()}
    by_trust = {entry[3]["rowid"]: reasons for entry, reasons in dropped}
    asked = words.split(query.text)

    def reasons(row: int) -> list[str]:
        """What the trust pass said; else what came before it, or after."""
        candidate, document = order.candidates[row], documents[row]
        if row in by_trust:
            return by_trust[row]
        if row not in entries:
            alike = ranking.fuse(candidate["bm25"], candidate["cosine"], order.lexical_half) >= ranking.LEAST
            return ["lacks_the_name" if alike else "too_little_in_common"]
        if order.scope.is_foreign(document["project"], document["session_id"]):
            return ["other_project"]
        late = scores[row] * ranking.echo(document, asked, order.scope) < query.min_score
        return ["below_min_score" if late else "beyond_limit"]

    shown_hits = {hit["id"] for hit in hits}
    fallen = {row: reasons(row) for row, document in documents.items() if document["id"] not in shown_hits}
    shown = sorted(fallen, key=lambda row: -scores.get(row, 0.0))[:_MOST_DROPPED]
    told = [row_of[hit["id"]] for hit in hits if hit["id"] in row_of] + shown
    weights = found_in.weights(told, order.terms)
    by_words = sorted(rows, key=lambda row: -order.candidates[row]["bm25"])
    by_meaning = sorted(rows, key=lambda row: -(order.candidates[row]["cosine"] or -1.0))

    def parts(row: int) -> dict[str, Any]:
        """What both searches said of a document; and what became of its score after them."""
        bm25, cosine = order.candidates[row]["bm25"], order.candidates[row]["cosine"]
        matched = sorted(((term, of[row]) for term, of in weights.items() if row in of), key=lambda one: -one[1])
        semantic: dict[str, Any] | None = None
        if cosine is not None:
            # both parts are a probabilistic sum: with no word, what is left is the meaning's
            most = [order.meant(entries[row][3])] if row in entries else []
            alone = ranking.fuse(0.0, cosine, order.lexical_half, *most)
            semantic = {"cosine": round(cosine, 4), "rank": by_meaning.index(row) + 1, "score": round(alone, 4)}
        return {
            "words": [{"term": term, "weight": round(weight, 4)} for term, weight in matched],
            "lexical": {
                "bm25": round(bm25, 4),
                "rank": by_words.index(row) + 1 if bm25 > 0 else None,
                "score": round(ranking.fuse(bm25, None, order.lexical_half), 4),
            },
            "semantic": semantic,
            **(_scored(order, entries[row]) if row in entries else {}),
        }

    accounts = []
    for rank, hit in enumerate(hits, 1):
        about, row = {"id": hit["id"], "rank": rank, "score": hit["score"]}, row_of.get(hit["id"], -1)
        if row in entries:
            accounts.append({**about, **parts(row), "echo": ranking.echo(documents[row], asked, order.scope)})
        else:
            accounts.append({**about, "beside": _BESIDE})
    return {
        "formula": FORMULA,
        "terms": list(order.terms),
        "lexicalHalf": round(order.lexical_half, 4),
        "hits": accounts,
        "dropped": [
            {
                "id": documents[row]["id"], "observation": documents[row]["text"][:_SHOWN],
                "score": round(scores.get(row, 0.0), 4), "reasons": fallen[row], **parts(row),
            }
            for row in shown
        ],
        "droppedCount": Counter(reason for listed in fallen.values() for reason in listed),
    }  # fmt: skip


def _scored(order: ranking.Ranking, entry: ranking.Ranked) -> dict[str, Any]:
    _, fused, boost, traits = entry
    aged, rule = order.aged(traits)
    around = order.around.get(traits["rowid"])
    days = round(max(order.now - traits["confirmed_at"], 0) / DAY_MS, 1)
    return {
        "fused": round(fused, 4),
        "substance": round(ranking.substance(traits["collection"], traits["chars"], traits["stage"]), 4),
        "stage": traits["stage"] or None,
        "segment": around and {
            "bm25": round(around[0], 4), "coverage": round(around[1], 4),
            "evidence": round(ranking.evidence(around, order.segment_half), 4),
            "w": round(order.weight_around(traits), 4),
        },
        "decay": {"factor": round(aged, 4), "days": days, "by": rule},
        "project": order.scope.factor(traits["project"], traits["session"]),
        "boost": {
            "factor": round(boost, 4), "priority": traits["retrieval_priority"],
            "recalls": traits["recall_count"] if traits["collection"] != "episodes" else 0,
        },
        "known": round(order.known, 4),
    }  # fmt: skip
