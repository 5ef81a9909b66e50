"""A Typesense cluster as a copy of the store: its nodes and key, a client, and recall's candidates from it. Hot path.

Server 0.24 ranks documents by how many of the query's words match, and does not stem. So a row carries its finished
terms, as FTS5 makes them. The server chooses documents; they are copied to a store in memory, and scored there with
the BM25 of the local file and the cluster's counts. `core.store.cluster_sync` fills the cluster.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from math import log
from urllib.parse import urlsplit

from core import TYPE_CHECKING, json_text, words
from core.errors import Failure
from core.store import documents as stored_documents
from core.store import sqlite
from core.store.search import Candidates, RowFilter, cosines
from core.store.sqlite import COLLECTIONS, apsw, quoted, small_idf

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from core.config import Config
    from core.records import Candidate, Document, Filters

    Row = dict[str, Any]
    """A document as the server has it."""
    Search = tuple[str, Row]
    """The term whose documents are counted ("" for none), and the server's parameters."""

NOT_INITIALISED = "TYPESENSE_NOT_INITIALISED"
REFUSED = "TYPESENSE_REFUSED"
PAGE = 250  # documents in an answer, the server's maximum, and in a push

_NULLABLE = ("last_used_at", "forgotten_at")
_COPIED = set(stored_documents.NAMES) - {"rowid", "text", "created_at", "history", *_NULLABLE}
_tokenizers: list[Any] = []


def nodes(config: Config) -> list[str]:
    """The node URLs of JOELCLAW_STORE_URLS, TYPESENSE_URL, config.toml or the default. See `parse_nodes`."""
    outside = os.environ.get("JOELCLAW_STORE_URLS") or os.environ.get("TYPESENSE_URL")
    return parse_nodes(outside or config.get_str("store.urls"))


def parse_nodes(text: str) -> list[str]:
    """Return comma-separated URLs in the form `http://host:port/path`. Raises Failure: CONFIG_INVALID."""
    urls = []
    for url in (part.strip().rstrip("/") for part in text.strip(" ,").split(",")):
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            parts, port = urlsplit(""), 0
        if parts.scheme not in ("http", "https") or not parts.hostname or any(sign in url for sign in "@?# "):
            shown = url.rpartition("@")[2][:100]  # a URL may contain a user name and a password
            message = f"store.urls (TYPESENSE_URL) contains {shown!r}, which is not the URL of a node"
            fix = "set it to http://host:8108, several nodes comma-separated; the key goes into TYPESENSE_API_KEY"
            raise Failure("CONFIG_INVALID", message, fix)
        urls.append(f"{parts.scheme}://{parts.netloc.removesuffix(f':{port}')}:{port}{parts.path}")
    return urls


def api_key(config: Config) -> str:
    """The key from the environment or from `store.key_command`. Raises Failure: TYPESENSE_API_KEY_MISSING."""
    key = os.environ.get("TYPESENSE_API_KEY", "").strip()
    command = config.get_str("store.key_command").strip()
    message = "the cluster's key is not set"
    if not key and command:
        from core.command import run_command, split_command

        message = "store.key_command does not print a key"  # quotes neither it nor its output: both may hold the key
        try:
            ended = run_command(split_command(command, {}), 10.0)
            key = ended.output.decode("utf-8", "replace").strip() if ended.status == 0 else ""
        except ValueError:  # a quotation mark is missing
            pass
    if not key or not key.isascii() or not key.isprintable():
        fix = "set TYPESENSE_API_KEY, or set store.key_command in config.toml to a command that prints it"
        raise Failure("TYPESENSE_API_KEY_MISSING", message, fix)
    return key


def unreachable(nodes: Sequence[str], reason: str) -> Failure:
    """The failure to raise when no node answers."""
    return Failure(
        "TYPESENSE_UNREACHABLE",
        f"the Typesense cluster ({', '.join(node.partition('://')[2] for node in nodes)}) cannot be reached: {reason}",
        "check that it runs, and store.urls (TYPESENSE_URL); recall uses the local file meanwhile",
    )


def refusal(nodes: Sequence[str], status: int, message: str) -> Failure:
    """The failure for an HTTP status of the server."""
    message = " ".join(message.split())[:200]
    if status in (401, 403):
        return Failure("TYPESENSE_UNAUTHORIZED", "the Typesense cluster refuses the key", "check TYPESENSE_API_KEY")
    if status == 404:
        return Failure(NOT_INITIALISED, f"the Typesense cluster reports: {message}", "run `joelclaw store init`")
    if status >= 500 or status == 0:
        return unreachable(nodes, message or f"status {status}")
    fix = "run `joelclaw store init`; if that does not help, report this"
    return Failure(REFUSED, f"the Typesense cluster refuses the request ({status}): {message}", fix)


class SearchClient:
    """Searches the first node that answers, within `limit_s` seconds for all requests together."""

    def __init__(self, nodes: Sequence[str], key: str, *, prefix: str = "", limit_s: float) -> None:
        self.nodes = list(nodes)
        self.prefix = prefix
        self._headers = {"X-TYPESENSE-API-KEY": key, "Content-Type": "application/json"}
        self._deadline = time.monotonic() + limit_s

    def multi_search(self, searches: Sequence[Mapping[str, Any]]) -> list[Row]:
        """Run several searches in a single request. Each names its `collection` without the prefix."""
        if not searches:
            return []
        prefixed = [{**search, "collection": self.prefix + search["collection"]} for search in searches]
        body = json_text.dumps({"searches": prefixed}).encode()
        status, data = self._post(f"/multi_search?limit_multi_searches={len(prefixed)}", body)
        try:
            answer = json_text.loads(data)
        except json_text.InvalidJSON:
            raise unreachable(self.nodes, "the server there is not Typesense") from None
        if not 200 <= status < 300:
            raise refusal(self.nodes, status, str(answer.get("message", "")))
        results: list[Row] = answer["results"]
        for result in results:
            if "error" in result:
                raise refusal(self.nodes, int(result["code"]), str(result["error"]))
        return results

    def _post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the first answer without a server error."""
        import http.client

        reason = ""
        for number, node in enumerate(list(self.nodes)):
            parts = urlsplit(node)
            # Share the time that is left, so that a silent node does not use up that of the others.
            seconds = max(self._deadline - time.monotonic(), 0.001) / (len(self.nodes) - number)
            scheme = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            connection = scheme(parts.netloc, timeout=seconds)
            try:
                connection.request("POST", parts.path + path, body, self._headers)
                response = connection.getresponse()
                data = response.read()
                if response.status < 500:
                    self.nodes.insert(0, self.nodes.pop(number))  # begin the next request with this node
                    return response.status, data
                reason = f"{parts.netloc}: status {response.status}"
            except (OSError, http.client.HTTPException) as error:
                reason = f"{parts.netloc}: {error}"
            finally:
                connection.close()
        raise unreachable(self.nodes, reason)


class ClusterSource(Candidates):
    """Candidates from the cluster, copied to a store in memory.

    `local` is the local file: it has the changes that were not pushed yet.
    """

    backend = "typesense"

    def __init__(self, config: Config, local: apsw.Connection, *, limit_s: float) -> None:
        super().__init__(sqlite.open_in_memory(), compounds=True)
        self.semantic = sqlite.has_vectors(self._db)
        prefix = config.get_str("store.prefix")
        self._client = SearchClient(nodes(config), api_key(config), prefix=prefix, limit_s=limit_s)
        self._local = local
        self._counts: dict[str, int] = {}  # of the documents in the cluster with a term
        self._size = 0  # known after `candidates`

    def candidates(
        self, terms: Sequence[str], vector: bytes, filters: Filters, lexical: int, semantic: int
    ) -> list[Candidate]:
        """The best `lexical` documents by the words they contain, and the `semantic` nearest to the vector."""
        by_key = _terms_by_key(terms)
        searches = _searches(list(by_key), vector, filters, min(semantic, PAGE))
        answers = self._client.multi_search([search for _, search in searches])
        ours = {collection.remote: name for name, collection in COLLECTIONS.items()}
        sizes: dict[str, int] = {}
        rows: dict[tuple[str, str], Row] = {}
        times: Counter[tuple[str, str]] = Counter()  # how often a document was found: the more terms, the better
        for (counted, search), answer in zip(searches, answers, strict=True):
            sizes[search["collection"]] = int(answer["out_of"])
            if counted:
                self._counts[counted] = self._counts.get(counted, 0) + int(answer["found"])
            for hit in answer["hits"]:
                place = ours[search["collection"]], str(hit["document"]["id"])
                rows[place] = hit["document"]
                times[place] += 1
        self._size = sum(sizes.values())
        chosen = [(name, rows[name, identifier]) for (name, identifier), _ in times.most_common(lexical + semantic)]
        self._copy([(document_from_row(row, name), vector_of(row)) for name, row in chosen], filters)
        scores = {int(rowid): 0.0 for (rowid,) in self._db.execute("SELECT rowid FROM document")}
        for key, term in by_key.items():
            found = self._scored("", quoted(term), -1)
            count = len(found)
            own_idf = max(log((max(len(scores) - count, 0) + 0.5) / (count + 0.5)), 1e-6)  # FTS5's, of the copies
            idf = small_idf(self._counts.get(key, 0), self._size)
            for rowid, score in found.items():
                scores[rowid] += score / own_idf * idf
        near = cosines(self._db, list(scores), vector)
        return [{"rowid": rowid, "bm25": score, "cosine": near.get(rowid)} for rowid, score in scores.items()]

    def absent(self, terms: Sequence[str]) -> float:
        """The share of single words that no document contains, 0 to 1; of the terms that were searched."""
        counts = [self._counts[key] for key in _terms_by_key(terms) if key in self._counts and " " not in key]
        return sum(not count for count in counts) / len(counts) if counts else 0.0

    def _copy(self, found: Sequence[tuple[Document, bytes]], filters: Filters) -> None:
        """Copy documents and their vectors, in the order of time, with the unpushed changes applied."""
        documents = {document["id"]: (document, vector) for document, vector in found}
        query = "SELECT outbox.id, document.rowid FROM outbox LEFT JOIN document USING (id) ORDER BY seq DESC"
        unpushed: list[Any] = self._local.execute(query).fetchall()
        for identifier, _ in unpushed:
            documents.pop(identifier, None)
        rowids = [rowid for _, rowid in unpushed if rowid is not None][:100]  # the newest; a push moves 250 at a time
        rowids = RowFilter(self._local, filters, len(rowids)).among(rowids) if rowids else []
        vectors = vectors_of(self._local, rowids)
        for document in stored_documents.by_rowids(self._local, rowids):
            is_asked_for = document["collection"] in (filters.get("collections") or COLLECTIONS)
            if document["forgotten_at"] is None and is_asked_for:
                documents[document["id"]] = document, vectors.get(document["rowid"], b"")
        for document, vector in sorted(documents.values(), key=lambda copy: (copy[0]["created_at"], copy[0]["id"])):
            stored_documents.insert(self._db, document, vector, signature=False)


def document_to_row(document: Document, vector: bytes = b"") -> Row:
    """A document in the form of its collection on the server."""
    values: dict[str, Any] = document  # type: ignore[assignment]  # read by computed names
    text = f"{document['title']}\n{document['text']}" if document["title"] else document["text"]
    own, context = stems(f"{text} {words.parts(text)}"), stems(document["context"])
    row: Row = {name: values[name] for name in _COPIED}
    row |= {name: values[name] for name in _NULLABLE if values[name] is not None}
    row |= {
        "timestamp": document["created_at"],
        COLLECTIONS[document["collection"]].text_field: document["text"],
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
    text = str(row.get(COLLECTIONS[collection].text_field, ""))
    document = stored_documents.blank(collection, str(row["id"]), text, row["timestamp"])
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
    return "0x" + (data.hex() if 2 * len(data) <= longest else words.fingerprint(term))


def _terms_by_key(terms: Sequence[str]) -> dict[str, str]:
    """The terms to search, by their stems; of many the first and the last."""
    half = 12  # each term is a search of its own
    searched = terms if len(terms) <= 2 * half else [*terms[:half], *terms[-half:]]
    return {key: term for term in searched if (key := " ".join(stems(term)))}


def _searches(keys: list[str], vector: bytes, filters: Filters, near: int) -> list[Search]:
    """In each collection, a search for the nearest vectors, for all terms together, and for each term.

    A term needs a search of its own, since the server drops terms from the end of a query that has too few hits.
    """
    text_search = {
        "query_by": "lexicon,lexicon_context", "num_typos": 0, "prefix": False, "typo_tokens_threshold": 0,
        "split_join_tokens": "off", "prioritize_exact_match": False, "enable_overrides": False,
        "highlight_fields": "none", "highlight_full_fields": "none", "enable_highlight_v1": False,
        "sort_by": "_text_match:desc,terms:asc", "drop_tokens_threshold": PAGE, "per_page": 50,
    }  # fmt: skip
    narrowed = _filter(filters)
    searches: list[Search] = []
    for name in filters.get("collections") or COLLECTIONS:
        remote = {"collection": COLLECTIONS[name].remote, "exclude_fields": "lexicon,lexicon_context"}
        of_collection = {**text_search, **remote}
        if vector:
            nearest = {"q": "*", "vector_query": f"embedding:({vector_numbers(vector)}, k:{near})", "per_page": near}
            searches.append(("", {**remote, **nearest, **narrowed}))
        texts = {key: f'"{key}"' if " " in key else key for key in keys}
        if texts:
            searches.append(("", {**of_collection, "q": " ".join(texts.values()), **narrowed}))
        for key, text in texts.items():
            searches.append(("" if narrowed else key, {**of_collection, "q": text, **narrowed}))
            if narrowed:  # count the documents without the filter: it must not change the score
                searches.append((key, {**of_collection, "q": text, "per_page": 0}))
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
