"""Accounts for a recall: which words and what meaning made each score, what time and use did to it, why others fell.

The factors are computed anew with the functions of `recall.fusion`, `recall.trust` and `recall.reach` from what the
searches said, in the order in which `recall.ranking` applies them.
"""

from __future__ import annotations

from core.clock import DAY_MS
from recall import fusion, trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.store.interface import Traits
    from recall.contextual_vectors import Question
    from recall.dates import Span
    from recall.explain.witness import Witness
    from recall.ranking import Ranked
    from recall.reach import Reach
    from recall.result import Hit

FORMULA = "score = min(1, ((1 - w) * fused * substance + w * evidence) * decay * project * boost) * known * echo"
_MOST_DROPPED = 50
_SHOWN = 220
_BESIDE = "a tool call or a session's work, scored by the names and words that it holds (recall.by_name)"


def of(
    witness: Witness,
    ranked: Sequence[Ranked],
    dropped: Sequence[tuple[Ranked, list[str]]],
    hits: Sequence[Hit],
    *,
    now: int,
    episode_decay: float,
    asked_for: Span | None,
    reach: Reach,
    contextual: Question | None,
    min_score: float,
) -> dict[str, Any]:
    """The explanation of one recall, JSON values only.

    `hits` has an account of each hit, in their order; `dropped` the first 50 candidates that are none, the best first,
    each with its reasons; `droppedCount` all of them, by reason. A candidate that shares too little with the query is
    not scored further: its score is 0.

    Args:
        ranked, dropped, hits: of the recall.
        now: ms since the epoch; as the other arguments, what the recall was made with.
    """
    entries = {entry[3]["rowid"]: entry for entry in ranked}
    half = fusion.lexical_half(len(witness.terms), witness.size())
    fallen = _fallen(witness, entries, dropped, hits, reach, half, min_score)
    shown = sorted(fallen, key=lambda row: -_score(entries.get(row)))[:_MOST_DROPPED]
    missing = [row for row in shown if row not in witness.texts]
    if missing:
        witness.documents(missing)
    by_id = {document["id"]: row for row, document in witness.texts.items()}
    rows = {hit["id"]: by_id.get(hit["id"]) for hit in hits if hit["id"] in by_id}
    weights = witness.weights([row for row in (*rows.values(), *shown) if row is not None], witness.terms)
    near = contextual.cosines(list(entries)) if contextual is not None and entries else {}
    known = fusion.answerable(witness.absence, witness.size())

    def parts(row: int) -> dict[str, Any]:
        entry = entries[row]
        traits = entry[3]
        return {
            **_searched(witness, row, weights, half, near.get(row)),
            "fused": round(entry[1], 4),
            "substance": round(trust.substance(traits["collection"], traits["chars"]), 4),
            "segment": _segment(witness, row),
            "decay": _decay(traits, now, episode_decay, asked_for),
            "project": reach.factor(traits["project"], traits["session"]) if reach.prefer else 1.0,
            "boost": {
                "factor": round(entry[2], 4),
                "priority": traits["retrieval_priority"],
                "recalls": traits["recall_count"],
            },
            "known": round(known, 4),
        }

    told = []
    for rank, hit in enumerate(hits, 1):
        row = rows.get(hit["id"])
        about: dict[str, Any] = {"id": hit["id"], "rank": rank, "score": hit["score"]}
        if row is None or row not in entries:
            told.append({**about, "beside": _BESIDE})
            continue
        before = entries[row][0]
        echo = trust.ECHO if before and hit["score"] < before * (1 + trust.ECHO) / 2 else 1.0
        told.append({**about, **parts(row), "echo": echo})
    counted: dict[str, int] = {}
    for reasons in fallen.values():
        for reason in reasons:
            counted[reason] = counted.get(reason, 0) + 1
    return {
        "formula": FORMULA,
        "terms": list(witness.terms),
        "lexicalHalf": round(half, 4),
        "hits": told,
        "dropped": [
            {
                "id": witness.texts[row]["id"],
                "observation": witness.texts[row]["text"][:_SHOWN],
                "score": round(_score(entries.get(row)), 4),
                "reasons": fallen[row],
                **(parts(row) if row in entries else _searched(witness, row, weights, half, near.get(row))),
            }
            for row in shown
            if row in witness.texts
        ],
        "droppedCount": counted,
    }


def _score(entry: Ranked | None) -> float:
    return entry[0] if entry is not None else 0.0


def _fallen(
    witness: Witness,
    entries: dict[int, Ranked],
    dropped: Sequence[tuple[Ranked, list[str]]],
    hits: Sequence[Hit],
    reach: Reach,
    half: float,
    min_score: float,
) -> dict[int, list[str]]:
    """Why each candidate is no hit: what the trust pass said; else what came after it, or before."""
    shown = {hit["id"] for hit in hits}
    by_trust = {entry[3]["rowid"]: reasons for entry, reasons in dropped}
    fallen: dict[int, list[str]] = {}
    for row in witness.candidates_by_row:
        document = witness.texts.get(row)
        if document is not None and document["id"] in shown:
            continue
        if row in by_trust:
            fallen[row] = by_trust[row]
        elif row not in entries:
            candidate = witness.candidates_by_row[row]
            alike = fusion.fuse(candidate["bm25"], candidate["cosine"], half) >= fusion.LEAST
            fallen[row] = ["lacks_the_name" if alike else "too_little_in_common"]
        elif document is not None and reach.is_foreign(document["project"], document["session_id"]):
            fallen[row] = ["other_project"]
        elif document is not None and entries[row][0] * trust.ECHO < min_score:
            fallen[row] = ["below_min_score"]
        else:
            fallen[row] = ["beyond_limit"]
    return fallen


def _searched(
    witness: Witness, row: int, weights: dict[str, dict[int, float]], half: float, near: float | None
) -> dict[str, Any]:
    """What both searches said of a document: the words with their weights, and the meaning."""
    candidate = witness.candidates_by_row[row]
    bm25, cosine = candidate["bm25"], candidate["cosine"]
    matched = [(term, found[row]) for term, found in weights.items() if row in found]
    semantic: dict[str, Any] | None = None
    if cosine is not None:
        # both parts are a probabilistic sum: with no word, what is left is the meaning's
        alone = fusion.fuse(0.0, cosine, half) if near is None else fusion.fuse_contextual(0.0, cosine, near, half)
        semantic = {"cosine": round(cosine, 4), "rank": witness.semantic_rank.get(row), "score": round(alone, 4)}
        if near is not None:
            semantic["contextualCosine"] = round(near, 4)
    return {
        "words": [
            {"term": term, "weight": round(weight, 4)} for term, weight in sorted(matched, key=lambda one: -one[1])
        ],
        "lexical": {
            "bm25": round(bm25, 4),
            "rank": witness.lexical_rank.get(row),
            "score": round(fusion.fuse(bm25, None, half), 4),
        },
        "semantic": semantic,
    }


def _segment(witness: Witness, row: int) -> dict[str, float] | None:
    """What the turns around an episode say: their evidence and its weight w; None where there is no segment."""
    around = witness.segments_by_row.get(row)
    if around is None:
        return None
    segments = witness.segments()
    weight = fusion.segment_weight(segments)
    evidence = fusion.with_segment(0.0, around, fusion.segment_half(len(witness.terms), segments), 1.0)
    return {
        "bm25": round(around[0], 4),
        "coverage": round(around[1], 4),
        "evidence": round(evidence, 4),
        "w": round(weight, 4),
    }


def _decay(traits: Traits, now: int, episode_decay: float, asked_for: Span | None) -> dict[str, Any]:
    """What time leaves of the score, and by which rule: the time that the query names, a pin, or age."""
    days = round(max(now - traits["confirmed_at"], 0) / DAY_MS, 1)
    if asked_for is not None and traits["collection"] != "knowledge":
        return {"factor": round(asked_for.factor(traits["confirmed_at"]), 4), "days": days, "by": "time_named"}
    if traits["pinned"]:
        return {"factor": 1.0, "days": days, "by": "pinned"}
    aged = trust.age_factor(traits["collection"], now - traits["confirmed_at"], episode_decay)
    return {"factor": round(aged, 4), "days": days, "by": "age"}
