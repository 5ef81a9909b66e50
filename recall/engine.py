"""Recalls memories: budget, query expansion, both searches, fusion, use and age, the trust pass."""

from __future__ import annotations

from core import clock, words
from core.store.migrations import COLLECTIONS
from recall import backend, origin, rewrite, trust
from recall import budget as budgets
from recall.ranking import rank, time_named
from recall.reach import Reach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    import apsw

    from core.config import Config
    from core.store.interface import CandidateSource, Document, Filters
    from recall.by_name.search import ByName
    from recall.contextual_vectors import Question
    from recall.explain.witness import Witness
    from recall.ranking import Ranked
    from recall.result import Hit as Hit
    from recall.result import RecallResult as RecallResult


CANDIDATES = 50
"""Of each search; more than 50 changes nothing at 10 (docs/recall.md)."""
_WIDER = 2
_DIAGNOSTICS = 10
_ECHOES = 5
"""How many more than asked for are looked at, since the question itself may be among the first."""
_QUERY_CHARS = 4_000
"""A longer query is one that was pasted: its first and last part stand for it."""


def recall(
    db: apsw.Connection | None,
    query: str,
    *,
    limit: int | None = None,
    min_score: float = 0.0,
    budget: str = "auto",
    category: str = "",
    collections: Sequence[str] = (),
    session: str = "",
    project: str = "",
    strictly: bool = False,
    apart: bool = False,
    prefer: str = "",
    include_hold: bool = False,
    include_discard: bool = False,
    now: int,
    vectors: bool,
    config: Config,
    patience_ms: float | None = None,
    by_name: bool = False,
    near: str = "",
    own: str = "",
    raw: bool = False,
    tags: Sequence[str] = (),
    explain: bool = False,
) -> RecallResult:
    """The memories that bear on a query, best first.

    From the cluster where `store.backend` says so; where that fails, from the local file, and `fallback` says why.

    Args:
        db: the store, None where there is none yet.
        limit: most hits, 1 to 100; by default `recall.limit`.
        min_score: 0 to 1; lower hits are dropped.
        budget: lean, balanced, deep or auto.
        category: an alias or id, "" for any.
        collections: names of collections, empty for all; with `by_name` also `calls`.
        project, strictly, apart, prefer: whose memories, and whose go first: see `recall.reach`.
        now: ms since the epoch, for the decay.
        vectors: whether sqlite-vec is loaded into `db`.
        patience_ms: the longest to wait for a cluster, where that is less than `store.timeout_ms`.
        by_name: tool calls of the sessions in the local file are hits too, a query that is one name gets only what
            holds it, and texts are cut as the budget says. Not for injections: there, traces of tools are noise.
        near: with `by_name`, the project whose calls go before those of others, "" for none.
        own: with `by_name`, the session that asks: its work in a place goes before that of others; "" for none.
        raw: with `by_name`, nothing but the texts will be shown.
        tags: only what has all of them.
        explain: say in `explanation` how each score came about, and why each candidate was dropped.

    Raises:
        apsw.Error: the store cannot be read (`core.store.sqlite.as_failure` says what it means).
    """

    def answer(found_in: CandidateSource) -> RecallResult:
        return _answer(
            found_in,
            db,
            query,
            most=limit if limit is not None else config.whole("recall.limit"),
            min_score=min_score,
            budget=budget,
            category=category,
            collections=collections,
            session=session,
            reach=Reach(db, project, strictly=strictly, apart=apart, prefer=prefer),
            include_hold=include_hold,
            include_discard=include_discard,
            now=now,
            episode_decay=config.number("recall.episode_decay"),
            by_name=by_name,
            near=near,
            own=own,
            raw=raw,
            tags=tags,
            explain=explain,
        )

    if config.text("store.backend") == "sqlite":
        return answer(backend.local(db, vectors=vectors))
    try:
        return backend.ask_cluster(config, patience_ms, answer, db)
    except Exception as error:
        fallback = backend.fallback(config, error)
    return {**answer(backend.local(db, vectors=vectors)), "fallback": fallback}


def _answer(
    found_in: CandidateSource,
    db: apsw.Connection | None,
    query: str,
    *,
    most: int,
    min_score: float,
    budget: str,
    category: str,
    collections: Sequence[str],
    session: str,
    reach: Reach,
    include_hold: bool,
    include_discard: bool,
    now: int,
    episode_decay: float,
    by_name: bool,
    near: str,
    own: str,
    raw: bool,
    tags: Sequence[str],
    explain: bool,
) -> RecallResult:
    profile = budgets.choose(budget, query)
    shortened = query if len(query) <= _QUERY_CHARS else query[: _QUERY_CHARS // 2] + " " + query[-_QUERY_CHARS // 2 :]
    expanded, rewritten = rewrite.expand(shortened, enabled=profile["rewriteEnabled"])
    resolved = _resolved(category) if category else ""
    filters: Filters = {
        "collections": tuple(collections), "session": session, "projects": reach.names, "others": reach.others,
        "category": resolved, "verdicts": (), "apart": reach.apart,
    }  # fmt: skip
    if tags:
        filters["tags"] = tuple(tags)
    witness: Witness | None = None
    if explain:
        from recall.explain.witness import Witness

        found_in = witness = Witness(found_in)
    wide = max(int(most * profile["fetchMultiplier"]) + 1, CANDIDATES)
    contextual: Question | None = None
    if profile["applied"] == "deep":
        wide *= _WIDER
        contextual = _contextual(db, found_in, shortened)
    asked: ByName | None = None
    if by_name:
        from recall.by_name.search import ByName

        asked = ByName(
            db, shortened, filters, profile["applied"], reach, near=near, own=own, most=most, min_score=min_score
        )
        filters["collections"] = [name for name in collections if name in COLLECTIONS]
    asked_for = time_named(shortened, now)
    said = words.query_terms(shortened)
    ranked: list[Ranked] = []
    dropped: list[tuple[Ranked, list[str]]] = []
    documents: list[Hit] = []
    for terms, vector, holds in _searches(found_in, expanded, asked):
        ranked = rank(
            found_in, terms, vector, filters, wide, now,
            episode_decay=episode_decay, said=said, asked_for=asked_for, contextual=contextual, reach=reach,
        )  # fmt: skip
        if holds is not None:
            ranked = _holding(found_in, ranked, holds)
        kept: list[Ranked] = []
        for entry in ranked:
            why = trust.reasons(
                entry[3],
                entry[0],
                now,
                min_score=min_score,
                include_hold=include_hold,
                include_discard=include_discard,
            )
            if why:
                dropped.append((entry, why))
            else:
                kept.append(entry)
        documents = _hits(found_in, kept, most, query, min_score, reach)
        if ranked:
            break
    nearer = contextual.found if contextual else 0
    hits = documents if asked is None else asked.hits(documents, profile, raw=raw)
    result: RecallResult = {
        "query": query,
        "rewrittenQuery": expanded,
        "rewrite": rewritten,
        "filtersApplied": _filters_applied(
            filters, collections, reach.project, min_score, include_hold, include_discard
        ),
        "includeHold": include_hold,
        "includeDiscard": include_discard,
        "categoryFilter": {
            "input": category or None,
            "resolved": resolved or None,
            "applied": bool(resolved),
            "reason": "category.resolved" if resolved else "category.none",
        },
        "budget": profile,
        "semantic": "contextual" if nearer else "static" if found_in.semantic else "none",
        "contextualCandidates": nearer,
        "droppedByTrustPass": len(dropped),
        "droppedDiagnostics": _diagnostics(found_in, dropped[:_DIAGNOSTICS]),
        "hits": hits,
        "count": len(hits),
        "found": len(ranked) + (len(asked.beside) + len(asked.cards) if asked else 0),
        "backend": found_in.backend,
        "preferredProject": reach.prefer or None,
    }
    if witness is not None:
        from recall.explain import account

        result["explanation"] = account.of(
            witness, ranked, dropped, hits, now=now, episode_decay=episode_decay, asked_for=asked_for, reach=reach,
            contextual=contextual, min_score=min_score,
        )  # fmt: skip
    return result


def _searches(
    found_in: CandidateSource, query: str, asked: ByName | None
) -> Iterable[tuple[list[str], bytes, Callable[[str], bool] | None]]:
    """Terms, vector and condition of the searches for documents; the first that finds any counts."""
    terms = words.query_terms(query)

    def vector() -> bytes:
        return _vector(query) if found_in.semantic else b""

    return [(terms, vector(), None)] if asked is None else asked.searches(terms, vector)


def _holding(found_in: CandidateSource, ranked: list[Ranked], holds: Callable[[str], bool]) -> list[Ranked]:
    from recall.by_name.search import holding

    return holding(found_in, ranked, holds)


def _resolved(category: str) -> str:
    from recall import categories

    return categories.resolve(category)


def _vector(text: str) -> bytes:
    from recall.static_vectors import document_vector

    return document_vector(text)


def _contextual(db: apsw.Connection | None, found_in: CandidateSource, query: str) -> Question | None:
    """The tier above the static vectors; a cluster's row numbers are not those of the file."""
    if db is None or not found_in.semantic or found_in.backend != "sqlite":
        return None
    from recall.contextual_vectors import Question

    return Question.of(db, query)


def _hits(
    found_in: CandidateSource,
    ranked: Sequence[Ranked],
    most: int,
    query: str,
    min_score: float,
    reach: Reach,
) -> list[Hit]:
    """The best `most` of at least `min_score`, after what only asks the same has lost half of its score."""
    asked = frozenset(words.split(query))
    scored: list[tuple[float, Document, Ranked]] = []
    considered = {entry[3]["rowid"]: entry for entry in ranked[: most + _ECHOES]}
    for document in found_in.documents(list(considered)) if considered else ():
        entry = considered[document["rowid"]]
        echo = trust.echoes(document["text"], asked)
        score = entry[0] * trust.ECHO if echo else entry[0]
        if score >= min_score and not reach.is_foreign(document["project"], document["session_id"]):
            scored.append((score, document, entry))
    scored.sort(key=lambda one: -one[0])  # stable: equal scores stay as ranked
    return [_hit(document, score, *entry[1:3]) for score, document, entry in scored[:most]]


def _hit(document: Document, score: float, raw: float, boost: float) -> Hit:
    return {
        "id": document["id"],
        "score": round(score, 4),
        "rawScore": round(raw, 4),
        "usageBoost": round(boost, 4),
        "observation": document["text"],
        "type": document["observation_type"] or document["collection"],
        "source": document["source"],
        "collection": document["collection"],
        "writeVerdict": document["write_verdict"],
        "categoryId": document["category_id"],
        "categoryConfidence": document["category_confidence"],
        "session": document["session_id"],
        "timestamp": clock.iso(document["created_at"]),
        "recallCount": document["recall_count"],
        "retrievalPriority": document["retrieval_priority"],
        "privacy": document["privacy"],
        "path": document["path"],
        "title": document["title"],
        "tags": document["tags"],
        "project": document["project"],
        "context": document["context"],
        "origin": origin.of_document(document),
    }


def _diagnostics(found_in: CandidateSource, dropped: Sequence[tuple[Ranked, list[str]]]) -> list[dict[str, Any]]:
    if not dropped:
        return []
    why = {entry[3]["rowid"]: reasons for entry, reasons in dropped}
    return [
        {"id": document["id"], "observation": document["text"][:220], "reasons": why[document["rowid"]]}
        for document in found_in.documents(list(why))
    ]


def _filters_applied(
    filters: Filters,
    collections: Sequence[str],
    project: str,
    min_score: float,
    include_hold: bool,
    include_discard: bool,
) -> list[str]:
    applied = []
    if collections and not set(collections).issuperset(COLLECTIONS):
        applied.append("collection:" + ",".join(collections))
    for name, value in (("session", filters["session"]), ("project", project), ("category", filters["category"])):
        if value:
            applied.append(f"{name}:{value}")
    applied += [f"tag:{tag}" for tag in filters.get("tags", ())]
    if min_score > 0:
        applied.append(f"min_score:{min_score:g}")
    if not include_hold:
        applied.append("write_verdict:!=hold")
    if not include_discard:
        applied.append("write_verdict:!=discard")
    return applied
