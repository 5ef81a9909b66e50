"""Recall's candidates from the cluster, with scores on the local file's scale. Hot path.

Server 0.24 ranks by how many of a query's words match, and has vectors only for queries without words. So one
`multi_search` asks for each word, for all of them, and for the nearest vectors. How many documents hold a word weighs
it, as in the local file; a second request brings the documents with the most weight.
"""

from __future__ import annotations

from math import log

from core.store import BY_HAND, COLLECTION_SHIFT, document_rows
from core.store import COLLECTIONS as CODES
from core.store.cluster import mapping, outbox
from core.store.cluster.client import PAGE
from core.store.cluster.mapping import COLLECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import apsw

    from core.records import Candidate, Document, Filters, Traits
    from core.store.cluster.client import SearchClient
    from core.store.cluster.mapping import Row

    Found = tuple[str, str]
    """Collection and id."""

_MOST_TERMS = 24
"""Each word is a search of its own in every collection; of a longer query the first and the last words."""
_LISTED = 100
"""Documents that each word's search returns."""
_SMALL = 64
_LEAST_IDF = 1e-6
_K1, _B, _CONTEXT_WEIGHT = 1.2, 0.75, 0.5
_MOST_OTHERS = 50
_TRAITS = ("rowid", "collection", "recall_count", "retrieval_priority", "write_verdict", "superseded_by", "project")
_MOST_PENDING = 100
"""Newest changes that are laid over: after a long outage the local file is asked instead."""
_WORDS = {
    "query_by": "lexicon,lexicon_context",
    "num_typos": 0,
    "prefix": False,
    "typo_tokens_threshold": 0,
    "split_join_tokens": "off",
    "prioritize_exact_match": False,
    "enable_overrides": False,
    "highlight_fields": "none",
    "highlight_full_fields": "none",
    "enable_highlight_v1": False,
    "include_fields": "id",
    "sort_by": "_text_match:desc,terms:asc",
    "drop_tokens_threshold": PAGE,
}
"""Documents with all of the words, or most of them; those with more come first."""


class ClusterSource:
    """Candidates from a cluster, for one recall; `local` has what the cluster has not got yet."""

    backend = "typesense"
    semantic = True

    def __init__(self, client: SearchClient, local: apsw.Connection) -> None:
        self._client = client
        self._local = local
        self._rows: dict[int, tuple[Row, Document]] = {}
        self._idf: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._average = 1.0
        self._size = -1

    def candidates(
        self, terms: Sequence[str], vector: bytes, filters: Filters, lexical: int, semantic: int
    ) -> list[Candidate]:
        """See `core.records.CandidateSource`."""
        keys = list(_keys(terms))
        asked = _searches(keys, vector, filters, min(semantic, PAGE))
        answers = self._client.multi_search([{**search, "collection": COLLECTIONS[name]} for name, _, search in asked])
        self._size = 0
        self._counts = dict.fromkeys(keys, 0)
        for (_, some, search), answer in zip(asked, answers, strict=True):
            if search["q"] == "*" and not search["per_page"]:
                self._size += int(answer["out_of"])
            elif len(some) == 1 and "filter_by" not in search:
                self._counts[some[0]] += int(answer["found"])
        self._idf = {key: _idf(count, self._size) for key, count in self._counts.items()}
        weights: dict[Found, float] = {}
        near: list[tuple[float, Found]] = []
        for (name, some, _), answer in zip(asked, answers, strict=True):
            weight = sum(map(self._idf.__getitem__, some))
            for hit in answer.get("hits", ()):
                one = name, str(hit["document"]["id"])
                if "vector_distance" in hit:
                    near.append((float(hit["vector_distance"]), one))
                elif len(some) == 1:
                    weights[one] = weights.get(one, 0.0) + weight
                else:
                    part = int(hit["text_match_info"]["tokens_matched"]) / len(some)
                    weights[one] = max(weights.get(one, 0.0), weight * part)
        chosen = dict.fromkeys(sorted(weights, key=weights.__getitem__, reverse=True)[:lexical])
        chosen |= dict.fromkeys(one for _, one in sorted(near)[:semantic])
        return self._scored(self._with_pending(self._client.documents(list(chosen)), filters), vector)

    def _with_pending(self, rows: dict[Found, Row], filters: Filters) -> dict[Found, Row]:
        """What the cluster lacks in place of its own version, without what was forgotten."""
        db = self._local
        kept = {found: row for found, row in rows.items() if row.get("forgotten_at") is None}
        if not outbox.enabled(db):
            return kept
        rowids, gone = outbox.pending(db, _MOST_PENDING)
        waiting = document_rows.by_rowids(db, rowids)
        gone |= {document["id"] for document in waiting}
        kept = {found: row for found, row in kept.items() if found[1] not in gone}
        if rowids and any(filters.get(name) for name in ("session", "category", "tags", "others", "between")):
            from core.store.row_filter import RowFilter

            rowids = RowFilter(db, filters, 0).among(rowids)
        vectors = mapping.vectors(db, rowids)
        wanted = filters.get("collections", ()) or CODES
        for document in waiting:
            if document["rowid"] in rowids and document["collection"] in wanted:
                row = mapping.to_remote(document, vectors.get(document["rowid"], b""))
                kept[document["collection"], document["id"]] = row
        return kept

    def _scored(self, rows: Mapping[Found, Row], vector: bytes) -> list[Candidate]:
        ordered = sorted(rows, key=lambda found: (CODES[found[0]], int(rows[found]["timestamp"]), found[1]))
        lengths = [int(row.get("terms", 0)) for row in rows.values()]
        self._average = sum(lengths) / len(lengths) if any(lengths) else 1.0
        asked = mapping.numbers(vector)
        candidates: list[Candidate] = []
        for number, found in enumerate(ordered, 1):
            row = rows[found]
            rowid = (CODES[found[0]] << COLLECTION_SHIFT) + number
            document = mapping.from_remote(row, found[0])
            document["rowid"] = rowid
            self._rows[rowid] = row, document
            score = sum(self._weight(key, row) for key in self._idf)
            candidates.append({"rowid": rowid, "bm25": score, "cosine": _cosine(asked, row.get("embedding"))})
        return candidates

    def _weight(self, key: str, row: Row) -> float:
        """What a word adds to a document's score: BM25, as in the local file."""
        own, context = (f" {row.get(field, '')} ".count(f" {key} ") for field in ("lexicon", "lexicon_context"))
        if self._size <= _SMALL:
            return self._idf[key] * (1.0 if own else _CONTEXT_WEIGHT if context else 0.0)
        count = own + _CONTEXT_WEIGHT * context
        length = _K1 * (1 - _B + _B * int(row.get("terms", 0)) / self._average)
        return self._idf[key] * count * (_K1 + 1) / (count + length)

    def absent(self, terms: Sequence[str]) -> float:
        """See `core.records.CandidateSource`; for the terms that were searched."""
        counts = [self._counts[key] for key in _keys(terms) if key in self._counts and " " not in key]
        return sum(not count for count in counts) / len(counts) if counts else 0.0

    def around(self, *_: object) -> dict[int, tuple[float, float]]:
        """None: a cluster has no segments."""
        return {}

    def segments(self) -> int:
        """None."""
        return 0

    def size(self) -> int:
        """See `core.records.CandidateSource`; asked after `candidates`."""
        return self._size

    def documents(self, rowids: Sequence[int]) -> list[Document]:
        """See `core.records.CandidateSource`."""
        return [self._rows[rowid][1] for rowid in rowids]

    def traits(self, rowids: Sequence[int]) -> list[Traits]:
        """See `core.records.CandidateSource`."""
        return [_traits(self._rows[rowid][1]) for rowid in rowids]


def _keys(terms: Sequence[str]) -> dict[str, str]:
    half = _MOST_TERMS // 2
    few = terms if len(terms) <= _MOST_TERMS else [*terms[:half], *terms[-half:]]
    return {key: term for term in few if (key := " ".join(mapping.stems(term)))}


def _searches(keys: list[str], vector: bytes, filters: Filters, near: int) -> list[tuple[str, list[str], Row]]:
    wanted = list(filters.get("collections", ())) or list(CODES)
    narrowed = _filtered(filters)
    asked: list[tuple[str, list[str], Row]] = []
    for name in CODES:
        asked.append((name, [], {"q": "*", "per_page": 0}))
        if narrowed or name not in wanted:  # a word weighs what it does in the whole memory, whatever the filter
            asked += [(name, [key], {**_WORDS, "q": _said([key]), "per_page": 0}) for key in keys]
    for name in wanted:
        # Of common words a list has but a few: those that hold most of the words go first.
        for some in [*([key] for key in keys), *([keys] if len(keys) > 1 else ())]:
            asked.append((name, some, {**_WORDS, "q": _said(some), "per_page": _LISTED, **narrowed}))
        if vector:
            query = f"embedding:({mapping.numbers(vector)}, k:{near})"
            nearest = {"q": "*", "vector_query": query, "per_page": near, "include_fields": "id"}
            asked.append((name, [], {**nearest, **narrowed}))
    return asked


def _said(keys: Sequence[str]) -> str:
    return " ".join(f'"{key}"' if " " in key else key for key in keys)


def _idf(count: int, documents: int) -> float:
    ratio = (max(documents - count, 0) + 0.5) / (count + 0.5)
    return log(1 + ratio) if documents <= _SMALL else max(log(ratio), _LEAST_IDF)


def _cosine(one: Sequence[int], other: Sequence[float] | None) -> float | None:
    if not one or not other:
        return None
    lengths = (sum(map(int.__mul__, one, one)) * sum(number * number for number in other)) ** 0.5
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else None


def _filtered(filters: Filters) -> Row:
    named = {"session_id": filters.get("session"), "category_id": filters.get("category")}
    parts = [f"{field}:={_value(value)}" for field, value in named.items() if value]
    if between := filters.get("between"):
        parts.append(f"timestamp:[{between[0]}..{between[1]}]")
    parts += [f"tags:={_value(tag)}" for tag in filters.get("tags", ())]
    if filters.get("projects") and "" not in filters["projects"]:
        parts.append(f"project:=[{','.join(map(_value, filters['projects']))}]")
    elif filters.get("others"):  # the server cannot ask for an empty field, and what is of no project has one
        parts.append(f"project:!=[{','.join(map(_value, filters['others'][:_MOST_OTHERS]))}]")
    return {"filter_by": " && ".join(parts)} if parts else {}


def _value(value: str) -> str:
    # A backtick ends the value, and has no escape: such a value is compared without it, which finds nothing else.
    return "`" + value.replace("`", "") + "`"


def _traits(document: Document) -> Traits:
    text = document["text"]
    return {
        **{name: document[name] for name in _TRAITS},  # type: ignore[typeddict-item, literal-required]
        "chars": (len(text) + len(text.encode("utf-8", "surrogatepass"))) // 2,  # as `candidates.traits`
        "confirmed_at": max(document["created_at"], document["updated_at"]),
        "stale": document["stale"] or "stale" in document["tags"],
        "pinned": "pinned" in document["tags"],
        "by_hand": document["write_reason"] == BY_HAND,
        "session": document["session_id"],
        "stage": "",
    }
