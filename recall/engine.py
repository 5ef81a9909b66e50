"""Recalls memories: budget, query expansion, both searches, fusion, use and age, the trust pass. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, clock, words
from core.store.rows import COLLECTIONS
from core.store.search import LocalCandidates
from recall import hit, ranking
from recall.query import Scope, expand
from recall.vectors import document_vector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.config import Config
    from core.records import CandidateSource, Document, Filters, Hit, RecallResult
    from recall.query import Query
    from recall.ranking import Ranked

CANDIDATES = 50  # by words: more than 50 changes nothing at 10 (docs/recall.md)
_SHARE_BY_MEANING = 0.4  # of so many: sqlite-vec takes longer the more it is asked for, and 30 more found no more
_WIDER, _DIAGNOSTICS = 2, 10
_FAR = 0.25  # of the best score: what has less shares a common word (docs/recall.md)
_ECHOES = 5  # how many more than asked for are looked at, since the question itself may be among the first
_ALIKE, _LEAST_ALIKE = 0.75, 8  # the share of their words, or of so many, that texts which say the same have in common
_QUERY_CHARS = 4_000  # a longer query is one that was pasted: its first and last part stand for it


def recall(
    db: apsw.Connection | None, query: Query, *, now: int, vectors: bool, config: Config,
    patience_ms: float | None = None,
) -> RecallResult:  # fmt: skip
    """The memories that bear on a query, best first.

    From the cluster where `store.backend` says so, waiting `patience_ms` at most; where that fails, from the local
    file, and `fallback` says why. `db` is None where there is no store yet, `vectors` whether sqlite-vec is loaded into
    it. Raises apsw.Error where the store cannot be read (`core.store.sqlite.as_failure` says what it means).
    """
    if db is None:
        from core.store import sqlite

        db, vectors = sqlite.open_in_memory(), False
    local = LocalCandidates(db, vectors=vectors)
    if config.get_str("store.backend") == "sqlite":
        return _answer(local, db, query, now, config)
    from core.errors import Failure
    from core.store.cluster import client
    from core.store.cluster.source import ClusterSource

    try:
        if (known := client.recent_fault(config)) is not None:
            raise known
        limit_ms = config.get_float("store.timeout_ms")
        limit_s = (limit_ms if patience_ms is None else min(limit_ms, patience_ms)) / 1000
        link = client.connect(config, limit_s=limit_s)
        try:
            return _answer(ClusterSource(link, db), db, query, now, config)
        finally:
            link.close()
    except Exception as error:  # anything may come out of a server that is not ours
        if isinstance(error, Failure):
            code, message = error.code, error.message
        else:
            code, message = type(error).__name__, f"{type(error).__name__}: {error}"
        client.note_fault(config, code, message)  # left alone for some time
    fallback: dict[str, str] = {"from": "typesense", "to": "sqlite", "reason": message, "code": code}
    return {**_answer(local, db, query, now, config), "fallback": fallback}


def _answer(found_in: CandidateSource, db: apsw.Connection, query: Query, now: int, config: Config) -> RecallResult:
    budget = query.profile()
    text = query.text
    if len(text) > _QUERY_CHARS:
        text = text[: _QUERY_CHARS // 2] + " " + text[-_QUERY_CHARS // 2 :]
    expanded, rewritten = expand(text, enabled=budget["rewriteEnabled"])
    most = query.limit if query.limit is not None else config.get_int("recall.limit")
    scope = Scope(db, query)
    category = query.category
    if category:
        from recall import categories

        category = categories.resolve(category)
    filters: Filters = {
        "collections": [name for name in query.collections if name in COLLECTIONS], "session": query.session,
        "projects": scope.names, "others": scope.others, "category": category, "apart": query.apart,
        "tags": query.tags, "between": query.between,
    }  # fmt: skip
    wide = max(int(most * budget["fetchMultiplier"]) + 1, CANDIDATES)
    if budget["applied"] == "deep":
        wide *= _WIDER
    order = ranking.Ranking(text, scope, now, config.get_float("recall.episode_decay"))
    terms = words.query_terms(expanded)
    asked = None
    searches: Any = [(terms, True, None)]
    if query.by_name:
        from recall.by_name.search import ByName

        asked = ByName(db, text, query, budget, filters, scope, most)
        searches = asked.searches(terms)
    ranked: list[Ranked] = []
    dropped: list[tuple[Ranked, list[str]]] = []
    found: list[Hit] = []
    for searched, by_meaning, holds in searches:
        vector = b""
        if by_meaning and found_in.semantic:
            vector = document_vector(expanded)
        ranked = order.rank(found_in, searched, vector, filters, wide, max(int(wide * _SHARE_BY_MEANING), most))
        if asked is not None and holds is not None:
            ranked = asked.holding(found_in, ranked, holds)
        reasons = [(entry, ranking.distrust(entry[3], entry[0], now, query)) for entry in ranked]
        dropped += [(entry, why) for entry, why in reasons if why]
        found = _hits(found_in, [entry for entry, why in reasons if not why], most, query, scope)
        if ranked:
            break
    hits = found if asked is None else asked.hits(found, order.known, budget, raw=query.raw)
    why = {entry[3]["rowid"]: reasons for entry, reasons in dropped[:_DIAGNOSTICS]}
    result: RecallResult = {
        "query": query.text, "rewrittenQuery": expanded, "rewrite": rewritten,
        "filtersApplied": _filters_applied(query, category),
        "includeHold": query.include_hold, "includeDiscard": query.include_discard,
        "categoryFilter": {
            "input": query.category or None, "resolved": category or None, "applied": bool(category),
            "reason": "category.resolved" if category else "category.none",
        },
        "budget": budget, "semantic": "static" if found_in.semantic else "none", "droppedByTrustPass": len(dropped),
        "droppedDiagnostics": [
            {"id": document["id"], "observation": document["text"][:220], "reasons": why[document["rowid"]]}
            for document in (found_in.documents(list(why)) if why else ())
        ],
        "hits": hits, "count": len(hits),
        "found": len(ranked) + (len(asked.beside) + len(asked.places) if asked else 0),
        "backend": found_in.backend, "preferredProject": query.prefer or None,
    }  # fmt: skip
    return result


def _hits(found_in: CandidateSource, ranked: Sequence[Ranked], most: int, query: Query, scope: Scope) -> list[Hit]:
    """The best `most` that score enough; what only asks the same lost half, what repeats its session is counted."""
    asked = words.split(query.text)
    scored: list[tuple[float, Document, Ranked]] = []
    considered = {entry[3]["rowid"]: entry for entry in ranked[: 2 * most + _ECHOES]}
    said_in = {traits["session"] for *_, traits in considered.values() if traits["collection"] == "episodes"}
    for document in found_in.documents(list(considered)) if considered else ():
        entry = considered[document["rowid"]]
        if document["session_id"] in said_in and "session-task" in document["tags"]:
            continue  # prompts of which the session's own turns are here
        score = entry[0] * ranking.echo(document, asked, scope)
        if score >= query.min_score and not scope.is_foreign(document["project"], document["session_id"]):
            scored.append((score, document, entry))
    scored.sort(key=lambda one: -one[0])  # stable: equal scores stay as ranked
    told: list[tuple[set[str], Hit]] = []
    for score, document, entry in scored:
        if score < _FAR * scored[0][0]:
            break
        said = set(words.split(document["text"]))
        for others, better in told:
            same = better["session"] == document["session_id"] != "" and better["project"] == document["project"]
            if same and len(said & others) >= _ALIKE * max(len(said), len(others), _LEAST_ALIKE):
                better["more"] += 1
                break
        else:
            told += [(said, hit.of_document(document, score, *entry[1:3]))] if len(told) < most else []
    return [one for _, one in told]


def _filters_applied(query: Query, category: str) -> list[str]:
    some = query.collections and not set(query.collections).issuperset(COLLECTIONS)
    named = {"session": query.session, "project": query.project, "category": category}
    return [
        *(["collection:" + ",".join(query.collections)] if some else ()),
        *(f"{name}:{value}" for name, value in named.items() if value),
        *(f"tag:{tag}" for tag in query.tags),
        *(["between:" + "..".join(map(clock.iso, query.between))] if query.between else ()),
        *([f"min_score:{query.min_score:g}"] if query.min_score > 0 else ()),
        *(() if query.include_hold else ["write_verdict:!=hold"]),
        *(() if query.include_discard else ["write_verdict:!=discard"]),
    ]
