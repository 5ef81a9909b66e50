"""Recall's candidates from the cluster, and how a document becomes a row there and back. Hot path.

Server 0.24 ranks documents by how many of the query's words match, and does not stem. So a row carries its finished
terms, as FTS5 makes them, and the candidates are scored here with BM25, on the same scale as in the local file.
"""

from __future__ import annotations

from math import log

from core import TYPE_CHECKING, json_text, words
from core.store import cluster
from core.store import documents as stored_documents
from core.store.cluster import PAGE
from core.store.rows import BY_HAND, COLLECTION_SHIFT, SMALL_INDEX, small_idf
from core.store.rows import COLLECTIONS as CODES
from core.store.search import CONTEXT_WEIGHT
from core.store.sqlite import apsw

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.records import Candidate, Document, Filters, Traits
    from core.store.cluster import Row, SearchClient

COLLECTIONS = {"observations": "memory_observations", "episodes": "episodes", "knowledge": "system_knowledge"}
"""Our names, and those on the server without the prefix."""
TEXT_FIELD = {"observations": "observation", "episodes": "text", "knowledge": "text"}

_NULLABLE = ("last_used_at", "forgotten_at")
_COPIED = set(stored_documents.NAMES) - {"rowid", "text", "created_at", "history", *_NULLABLE}
_tokenizers: list[Any] = []


class Search:
    """A search in a collection: its terms (none for vectors), and the server's parameters."""

    __slots__ = ("collection", "parameters", "terms")

    def __init__(self, collection: str, terms: list[str], parameters: Row) -> None:
        self.collection = collection
        self.terms = terms
        self.parameters = parameters


class ClusterSource:
    """Candidates from the cluster, like `LocalCandidates`. `local` is the local file: it has the unpushed changes."""

    backend = "typesense"
    semantic = True

    def __init__(self, client: SearchClient, local: apsw.Connection) -> None:
        self._client = client
        self._local = local
        self._rows: dict[int, tuple[Row, Document]] = {}
        self._idf: dict[str, float] = {}
        self._document_counts: dict[str, int] = {}
        self._average_length = 1.0
        self._size = 0

    def candidates(
        self, terms: Sequence[str], vector: bytes, filters: Filters, lexical: int, semantic: int
    ) -> list[Candidate]:
        """The best `lexical` documents by the words they contain, and the `semantic` nearest to the vector."""
        keys = list(_terms_by_key(terms))
        searches = _searches(keys, vector, filters, min(semantic, PAGE))
        answers = self._client.multi_search(
            [{**search.parameters, "collection": COLLECTIONS[search.collection]} for search in searches]
        )
        self._count_documents(keys, searches, answers)
        chosen = self._choose(searches, answers, lexical, semantic)
        ours = {remote: name for name, remote in COLLECTIONS.items()}
        rows = {(ours[remote], str(row["id"])): row for remote, row in self._client.documents(chosen)}
        return self._scored(self._with_pending(rows, filters), vector)

    def absent(self, terms: Sequence[str]) -> float:
        """The share of single words that no document contains, 0 to 1; of the terms that were searched."""
        words = [key for key in _terms_by_key(terms) if key in self._document_counts and " " not in key]
        counts = [self._document_counts[word] for word in words]
        return sum(not count for count in counts) / len(counts) if counts else 0.0

    def around(self, *_: object) -> dict[int, float]:
        """Nothing: the cluster has no segments."""
        return {}

    def segments(self) -> int:
        """Zero: the cluster has no segments."""
        return 0

    def size(self) -> int:
        """How many documents the searched collections hold; known after `candidates`."""
        return self._size

    def documents(self, rowids: Sequence[int]) -> list[Document]:
        """The documents of these candidates, in this order."""
        return [self._rows[rowid][1] for rowid in rowids]

    def traits(self, rowids: Sequence[int]) -> list[Traits]:
        """What the ranking needs to know about these candidates."""
        return [_traits(self._rows[rowid][1]) for rowid in rowids]

    def _count_documents(self, keys: Sequence[str], searches: Sequence[Search], answers: Sequence[Row]) -> None:
        """Note how many documents there are, and how many contain each term."""
        sizes = {search.collection: int(answer["out_of"]) for search, answer in zip(searches, answers, strict=True)}
        self._size = sum(sizes.values())
        self._document_counts = dict.fromkeys(keys, 0)
        for search, answer in zip(searches, answers, strict=True):
            if len(search.terms) == 1 and "filter_by" not in search.parameters:
                self._document_counts[search.terms[0]] += int(answer["found"])
        self._idf = {key: _idf(count, self._size) for key, count in self._document_counts.items()}

    def _choose(
        self, searches: Sequence[Search], answers: Sequence[Row], lexical: int, semantic: int
    ) -> dict[str, list[str]]:
        """The ids of the documents to fetch, by the server's collection: the best by weight and the nearest."""
        weights: dict[tuple[str, str], float] = {}
        distances: dict[tuple[str, str], float] = {}
        for search, answer in zip(searches, answers, strict=True):
            weight = sum(map(self._idf.__getitem__, search.terms))
            for hit in answer.get("hits", ()):
                key = COLLECTIONS[search.collection], str(hit["document"]["id"])
                if "vector_distance" in hit:
                    distances[key] = float(hit["vector_distance"])
                elif len(search.terms) == 1:
                    weights[key] = weights.get(key, 0.0) + weight
                else:
                    share = int(hit["text_match_info"]["tokens_matched"]) / len(search.terms)
                    weights[key] = max(weights.get(key, 0.0), weight * share)
        best = sorted(weights, key=weights.__getitem__, reverse=True)[:lexical]
        nearest = sorted(distances, key=distances.__getitem__)[:semantic]
        chosen: dict[str, list[str]] = {}
        for collection, document_id in dict.fromkeys([*best, *nearest]):
            chosen.setdefault(collection, []).append(document_id)
        return chosen

    def _with_pending(self, rows: dict[tuple[str, str], Row], filters: Filters) -> dict[tuple[str, str], Row]:
        """The rows with unpushed changes applied: changed documents replaced, forgotten ones removed."""
        if not cluster.has_outbox(self._local):
            return rows
        rowids, outdated = cluster.unpushed(self._local, 100)  # the newest; a push moves 250 at a time
        pending = stored_documents.by_rowids(self._local, rowids)
        outdated |= {document["id"] for document in pending}
        rows = {key: row for key, row in rows.items() if key[1] not in outdated}
        if rowids and any(filters.get(name) for name in ("session", "category", "tags", "others", "between")):
            from core.store.search import RowFilter

            rowids = RowFilter(self._local, filters, 0).among(rowids)
        vectors = vectors_of(self._local, rowids)
        collections = filters.get("collections", ()) or CODES
        for document in pending:
            if document["rowid"] in rowids and document["collection"] in collections:
                key = document["collection"], document["id"]
                rows[key] = document_to_row(document, vectors.get(document["rowid"], b""))
        return rows

    def _scored(self, rows: dict[tuple[str, str], Row], vector: bytes) -> list[Candidate]:
        """Number the rows, oldest first in each collection, and score them."""
        ordered = sorted(rows.items(), key=lambda entry: (CODES[entry[0][0]], int(entry[1]["timestamp"]), entry[0][1]))
        lengths = [int(row.get("terms", 0)) for row in rows.values()]
        self._average_length = sum(lengths) / len(lengths) if any(lengths) else 1.0
        query_vector = vector_numbers(vector)
        candidates: list[Candidate] = []
        for number, ((name, _), row) in enumerate(ordered, 1):
            rowid = (CODES[name] << COLLECTION_SHIFT) + number
            document = document_from_row(row, name)
            document["rowid"] = rowid
            self._rows[rowid] = row, document
            bm25 = sum(self._bm25(key, row) for key in self._idf)
            candidates.append({"rowid": rowid, "bm25": bm25, "cosine": _cosine(query_vector, row.get("embedding"))})
        return candidates

    def _bm25(self, key: str, row: Row) -> float:
        own, context = (f" {row.get(field, '')} ".count(f" {key} ") for field in ("lexicon", "lexicon_context"))
        if self._size <= SMALL_INDEX:
            return self._idf[key] * (1.0 if own else CONTEXT_WEIGHT if context else 0.0)
        count = own + CONTEXT_WEIGHT * context
        k1, b = 1.2, 0.75  # FTS5's values
        length = k1 * (1 - b + b * int(row.get("terms", 0)) / self._average_length)
        return self._idf[key] * count * (k1 + 1) / (count + length)


def document_to_row(document: Document, vector: bytes = b"") -> Row:
    """A document in the form of its collection on the server."""
    values: dict[str, Any] = document  # type: ignore[assignment]  # read by computed names
    text = f"{document['title']}\n{document['text']}" if document["title"] else document["text"]
    own, context = stems(f"{text} {words.parts(text)}"), stems(document["context"])
    row: Row = {name: values[name] for name in _COPIED}
    row |= {name: values[name] for name in _NULLABLE if values[name] is not None}
    row |= {
        "timestamp": document["created_at"],
        TEXT_FIELD[document["collection"]]: document["text"],
        "history": json_text.dumps(document["history"]),
        "lexicon": " ".join(own),
        "lexicon_context": " ".join(context),
        "terms": len(own) + len(context),
    }
    if vector:
        row["embedding"] = vector_numbers(vector)
    return row


def document_from_row(row: Row, collection: str) -> Document:
    """The document of a row, with rowid 0."""
    document = stored_documents.blank(
        collection, str(row["id"]), str(row.get(TEXT_FIELD[collection], "")), row["timestamp"]
    )
    values: dict[str, Any] = document  # type: ignore[assignment]  # written by computed names
    for name in _COPIED:
        if name in row:  # in the type of the default: the server returns 1 for 1.0
            values[name] = row[name] if isinstance(values[name], (bool, list)) else type(values[name])(row[name])
    for name in _NULLABLE:
        if row.get(name) is not None:
            values[name] = int(row[name])
    document["history"] = json_text.loads(row["history"]) if row.get("history") else []
    return document


def vectors_of(db: apsw.Connection, rowids: Sequence[int]) -> dict[int, bytes]:
    """The static vectors of these documents in the local file."""
    rows = db.execute(
        "SELECT document, value FROM vector WHERE space = ? AND document IN (SELECT value FROM json_each(?))",
        (stored_documents.STATIC_SPACE, json_text.dumps(list(rowids))),
    )
    return {int(rowid): bytes(value) for rowid, value in rows}


def vector_numbers(vector: bytes) -> list[int]:
    """The int8 values of a vector. The server computes cosines, so their scale does not matter."""
    return memoryview(vector).cast("b").tolist()


def stems(text: str) -> list[str]:
    """The terms of a text in order, as FTS5's `porter unicode61 remove_diacritics 2` makes them, in ASCII."""
    if not _tokenizers:
        tokenizer = apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
        _tokenizers.append(tokenizer)
    data = text.encode("utf-8", "replace")
    terms = _tokenizers[0](data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
    return [_coded(term) for term in terms]


def _coded(term: str) -> str:
    """A term; if the server would split or cut it, its hexadecimal digits or, if it is long, its hash."""
    longest = 60  # the server cuts longer tokens
    if term.isascii() and len(term) <= longest:
        return term
    data = term.encode("utf-8", "replace")
    if 2 * len(data) <= longest:
        return "0x" + data.hex()
    from core.words import fingerprint

    return "0x" + fingerprint(term)


def _terms_by_key(terms: Sequence[str]) -> dict[str, str]:
    """The terms to search, by their stems; of many the first and the last."""
    half = 12  # each term is a search of its own
    searched = terms if len(terms) <= 2 * half else [*terms[:half], *terms[-half:]]
    return {key: term for term in searched if (key := " ".join(stems(term)))}


def _searches(keys: list[str], vector: bytes, filters: Filters, near: int) -> list[Search]:
    """In each collection, a search for each term, for all terms together, and for the nearest vectors.

    A term needs a search of its own, since the server drops terms from the end of a query that has too few hits.
    """
    text_search = {
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
    queries = [[key] for key in keys] + ([keys] if len(keys) > 1 else [])
    narrowed = _filter(filters)
    searches: list[Search] = []
    for name in filters.get("collections", ()) or CODES:
        for some in queries:
            parameters = {**text_search, "q": " ".join(f'"{key}"' if " " in key else key for key in some)}
            if narrowed and len(some) == 1:  # count the documents without the filter: it must not change the score
                searches.append(Search(name, some, {**parameters, "per_page": 0}))
            searches.append(Search(name, some, {**parameters, "per_page": 100, **narrowed}))
        if vector:
            nearest = f"embedding:({vector_numbers(vector)}, k:{near})"
            parameters = {"q": "*", "vector_query": nearest, "per_page": near, "include_fields": "id"}
            searches.append(Search(name, [], {**parameters, **narrowed}))
    return searches


def _filter(filters: Filters) -> Row:
    named = {"session_id": filters.get("session"), "category_id": filters.get("category")}
    parts = [f"{field}:={_quoted(value)}" for field, value in named.items() if value]
    if between := filters.get("between"):
        parts.append(f"timestamp:[{between[0]}..{between[1]}]")
    parts += [f"tags:={_quoted(tag)}" for tag in filters.get("tags", ())]
    if filters.get("projects") and "" not in filters["projects"]:
        parts.append(f"project:=[{','.join(map(_quoted, filters['projects']))}]")
    elif filters.get("others"):  # a filter cannot match documents without a project, so exclude the other projects
        parts.append(f"project:!=[{','.join(map(_quoted, filters['others'][:50]))}]")
    return {"filter_by": " && ".join(parts)} if parts else {}


def _quoted(value: str) -> str:
    # A backtick ends the value and cannot be escaped. Without it the value matches nothing else.
    return "`" + value.replace("`", "") + "`"


def _idf(count: int, size: int) -> float:
    if size <= SMALL_INDEX:
        return small_idf(count, size)
    return max(log((max(size - count, 0) + 0.5) / (count + 0.5)), 1e-6)  # FTS5's lower bound


def _cosine(query: Sequence[int], embedding: Sequence[float] | None) -> float | None:
    if not query or not embedding:
        return None
    lengths = (sum(number * number for number in query) * sum(number * number for number in embedding)) ** 0.5
    return sum(a * b for a, b in zip(query, embedding, strict=True)) / lengths if lengths else None


def _traits(document: Document) -> Traits:
    text = document["text"]
    return {
        "rowid": document["rowid"],
        "collection": document["collection"],
        "recall_count": document["recall_count"],
        "retrieval_priority": document["retrieval_priority"],
        "write_verdict": document["write_verdict"],
        "superseded_by": document["superseded_by"],
        "project": document["project"],
        "chars": (len(text) + len(text.encode("utf-8", "surrogatepass"))) // 2,  # as in the local file
        "confirmed_at": max(document["created_at"], document["updated_at"]),
        "stale": document["stale"] or "stale" in document["tags"],
        "pinned": "pinned" in document["tags"],
        "by_hand": document["write_reason"] == BY_HAND,
        "session": document["session_id"],
        "stage": "",
    }
