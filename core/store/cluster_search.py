"""Recall's candidates from the cluster, and how a document becomes a row there and back. Hot path.

Server 0.24 ranks documents by how many of the query's words match, and does not stem. So a row carries its finished
terms, as FTS5 makes them. What it finds is scored here with the BM25 of the local file and the cluster's counts.
"""

from __future__ import annotations

from math import log

from core import TYPE_CHECKING, json_text, words
from core.store import cluster, sqlite
from core.store import documents as stored_documents
from core.store.cluster import PAGE
from core.store.search import LocalCandidates, RowFilter, cosines
from core.store.sqlite import COLLECTIONS as CODES
from core.store.sqlite import SMALL_INDEX, apsw, quoted, small_idf

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.records import Candidate, Document, Filters
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


class ClusterSource(LocalCandidates):
    """Candidates from the cluster, which chooses documents: they are copied to a store in memory, and scored there.

    `local` is the local file: it has the changes that were not pushed yet.
    """

    backend = "typesense"

    def __init__(self, client: SearchClient, local: apsw.Connection) -> None:
        super().__init__(sqlite.open_in_memory(), vectors=False, compounds=True)
        self.semantic = sqlite.load_vectors(self._db)
        self._client = client
        self._local = local
        self._counts: dict[str, int] = {}  # of the documents in the cluster with a term
        self._size = 0

    def candidates(
        self, terms: Sequence[str], vector: bytes, filters: Filters, lexical: int, semantic: int
    ) -> list[Candidate]:
        """The best `lexical` documents by the words they contain, and the `semantic` nearest to the vector."""
        by_key = _terms_by_key(terms)
        searches = _searches(list(by_key), vector, filters, min(semantic, PAGE))
        answers = self._client.multi_search(
            [{**search.parameters, "collection": COLLECTIONS[search.collection]} for search in searches]
        )
        self._count_documents(searches, answers)
        ours = {remote: name for name, remote in COLLECTIONS.items()}
        rows = self._client.documents(self._choose(searches, answers, lexical, semantic))
        self._copy([(document_from_row(row, ours[remote]), vector_of(row)) for remote, row in rows], filters)
        scores = {int(rowid): 0.0 for (rowid,) in self._db.execute("SELECT rowid FROM document")}
        for key, term in by_key.items():
            for rowid, weight in self._weights(term).items():
                scores[rowid] += self._idf(key) * weight
        near = cosines(self._db, stored_documents.STATIC_SPACE, list(scores), vector)
        return [{"rowid": rowid, "bm25": score, "cosine": near.get(rowid)} for rowid, score in scores.items()]

    def absent(self, terms: Sequence[str]) -> float:
        """The share of single words that no document contains, 0 to 1; of the terms that were searched."""
        counts = [self._counts[key] for key in _terms_by_key(terms) if key in self._counts and " " not in key]
        return sum(not count for count in counts) / len(counts) if counts else 0.0

    def size(self) -> int:
        """How many documents the searched collections hold; known after `candidates`."""
        return self._size

    def _count_documents(self, searches: Sequence[Search], answers: Sequence[Row]) -> None:
        """Note how many documents there are, and how many contain each term."""
        sizes = {search.collection: int(answer["out_of"]) for search, answer in zip(searches, answers, strict=True)}
        self._size = sum(sizes.values())
        for search, answer in zip(searches, answers, strict=True):
            if len(search.terms) == 1 and "filter_by" not in search.parameters:
                key = search.terms[0]
                self._counts[key] = self._counts.get(key, 0) + int(answer["found"])

    def _choose(
        self, searches: Sequence[Search], answers: Sequence[Row], lexical: int, semantic: int
    ) -> dict[str, list[str]]:
        """The ids of the documents to fetch, by the server's collection: the best by weight and the nearest."""
        weights: dict[tuple[str, str], float] = {}
        distances: dict[tuple[str, str], float] = {}
        for search, answer in zip(searches, answers, strict=True):
            weight = sum(map(self._idf, search.terms))
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

    def _copy(self, found: Sequence[tuple[Document, bytes]], filters: Filters) -> None:
        """Copy documents and their vectors, in the order of time, with the unpushed changes applied."""
        documents = {document["id"]: (document, vector) for document, vector in found}
        if cluster.has_outbox(self._local):
            rowids, gone = cluster.unpushed(self._local, 100)  # the newest; a push moves 250 at a time
            pending = stored_documents.by_rowids(self._local, rowids)
            if rowids and any(filters.get(name) for name in ("session", "category", "tags", "others", "between")):
                rowids = RowFilter(self._local, filters, 0).among(rowids)
            vectors = vectors_of(self._local, rowids)
            for identifier in (*gone, *(document["id"] for document in pending)):
                documents.pop(identifier, None)
            for document in pending:
                if document["rowid"] in rowids and document["collection"] in (filters.get("collections") or CODES):
                    documents[document["id"]] = document, vectors.get(document["rowid"], b"")
        for document, vector in sorted(documents.values(), key=lambda copy: (copy[0]["created_at"], copy[0]["id"])):
            stored_documents.insert(self._db, document, vector, signatures=False)

    def _weights(self, term: str) -> dict[int, float]:
        """By row, how much a term counts there: BM25 without its idf, which is that of the copied documents only."""
        if self._size <= SMALL_INDEX:
            return self.rows_with(quoted(term))
        found = self._scored("", (), quoted(term), -1)
        copied = int(self._db.execute("SELECT count(*) FROM document").get)
        return {rowid: score / _idf(len(found), copied) for rowid, score in found.items()}

    def _idf(self, key: str) -> float:
        count = self._counts.get(key, 0)
        return small_idf(count, self._size) if self._size <= SMALL_INDEX else _idf(count, self._size)


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


def vector_of(row: Row) -> bytes:
    """The vector of a row; the scale of its numbers is ours."""
    return bytes(int(number) & 0xFF for number in row.get("embedding", ()))


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
    """A term's weight in FTS5's BM25."""
    return max(log((max(size - count, 0) + 0.5) / (count + 0.5)), 1e-6)
