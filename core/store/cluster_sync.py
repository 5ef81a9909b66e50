"""The work of `store init`, `push` and `pull`: create the collections, push the outbox, fill a new home.

One machine pushes a document: the last push wins. Other machines read it from the cluster.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any
from urllib.parse import quote

import apsw
import httpx
import typesense
from typesense.exceptions import ObjectNotFound, TypesenseClientError

from core import background, clock, files, json_text, words
from core.config import Config
from core.errors import Failure
from core.records import Document
from core.redaction import redact, redact_value
from core.store import cluster as stored_cluster
from core.store import cluster_search, sqlite
from core.store import documents as stored_documents
from core.store.cluster_search import COLLECTIONS, TEXT_FIELD

SCHEMA_VERSION = 1

Row = dict[str, Any]
Progress = Callable[[int], None]
"""Called with the number of documents moved since the last call."""


@dataclass
class Pushed:
    """How many documents a push sent, deleted in the cluster, or had refused."""

    documents: int = 0
    deleted: int = 0
    refused: int = 0


@dataclass
class Written:
    """The rows of a request that the cluster accepted, by position, and those it refused, with its reason.

    All other rows must be sent again; `failure` says why.
    """

    accepted: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    failure: Failure | None = None


def initialise(config: Config) -> dict[str, Any]:
    """Create or upgrade the collections, and queue all writes from now on; all documents for a new collection."""
    with _connected(config) as (db, cluster):
        collections = cluster.create_collections()
        stored_cluster.create_outbox(db)
        if any(collection["created"] for collection in collections):
            stored_cluster.queue_everything(db)
    return {
        "nodes": cluster.nodes,
        "prefix": cluster.prefix,
        "schema": SCHEMA_VERSION,
        "changed": any(collection["created"] or collection["addedFields"] for collection in collections),
        "collections": collections,
        "backend": config.get_str("store.backend"),
    }


def push(config: Config, progress: Progress) -> dict[str, Any]:
    """Push everything that waits. Raises Failure: STORE_SYNC_BUSY, or what the cluster reports."""
    pushed = Pushed()
    try:
        with _connected(config) as (db, cluster), files.FileLock(background.outbox_lock(), wait_s=60.0):
            stored_cluster.create_outbox(db)
            _push(db, cluster, pushed, progress)
            return {"sent": asdict(pushed), "waiting": stored_cluster.outbox_status(db)}
    except files.LockTimeout:
        fix = "wait for it, or look at `joelclaw status`"
        raise Failure("STORE_SYNC_BUSY", "another process is pushing to the cluster", fix) from None


def push_in_background(config: Config) -> None:
    """Push until the time of a background job is over. A fault is left to `status`. The job holds the lock."""
    deadline = time.monotonic() + 10  # after these seconds, no further batch is sent
    try:
        with _connected(config, timeout_s=10.0) as (db, cluster):
            retry_at = stored_cluster.outbox_state(db, "next_try")
            if retry_at > clock.now_ms():
                background.postpone(background.PUSH, retry_at)
            else:
                stored_cluster.create_outbox(db)
                _push(db, cluster, Pushed(), lambda _: None, deadline=deadline)
    except (Failure, sqlite.StoreError):
        pass


def pull(config: Config, progress: Progress) -> dict[str, Any]:
    """Copy the cluster's documents into a home that has none, in a single transaction.

    Raises Failure: STORE_NOT_EMPTY.
    """
    with _connected(config) as (db, cluster):
        pulled = _pull(db, cluster, progress)
        stored_documents.renew_due_segments(db)
    return pulled


def _pull(db: apsw.Connection, cluster: "Cluster", progress: Progress) -> dict[str, Any]:
    pulled = {"documents": 0}
    with sqlite.transaction(db), stored_cluster.without_outbox(db):
        if db.execute("SELECT EXISTS (SELECT 1 FROM document)").get:
            fix = "set JOELCLAW_HOME to a new folder; recall reads the cluster without a pull"
            raise Failure("STORE_NOT_EMPTY", "this home already has memories", fix)
        signatures = sqlite.load_vectors(db)
        if signatures:
            stored_documents.ensure_signatures(db)
        for name, collection in COLLECTIONS.items():
            for row in cluster.export(collection):
                if row.get("forgotten_at") is not None:  # a tombstone of version 0.2
                    continue
                document, vector = cluster_search.document_from_row(row, name), cluster_search.vector_of(row)
                stored_documents.insert(db, _redacted(document), vector, signatures=signatures)
                pulled["documents"] += 1
                progress(1)
    return pulled


@contextmanager
def _connected(config: Config, *, timeout_s: float = 0.0) -> Iterator[tuple[apsw.Connection, "Cluster"]]:
    """The store and the cluster. A fault of the cluster is recorded for `status` and for the background."""
    # The setting is for a recall. A request that writes a batch may take twenty times as long.
    timeout_s = timeout_s or config.get_float("store.timeout_ms") / 1000 * 20
    cluster = Cluster(
        stored_cluster.nodes(config), stored_cluster.api_key(config), config.get_str("store.prefix"), timeout_s
    )
    with closing(cluster), closing(sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=True)) as db:
        yield db, cluster


def _push(
    db: apsw.Connection, cluster: "Cluster", pushed: Pushed, progress: Progress, *, deadline: float = inf
) -> None:
    try:
        while time.monotonic() < deadline and (entries := stored_cluster.next_entries(db, stored_cluster.PAGE)):
            _push_documents(db, cluster, entries, pushed)
            progress(len(entries))
    except Failure as failure:
        if failure.code.startswith("TYPESENSE"):
            retry_at = stored_cluster.record_failure(db, f"{failure.code}: {failure.message}")
            background.postpone(background.PUSH, retry_at)
        raise
    stored_cluster.record_success(db)


def _push_documents(
    db: apsw.Connection, cluster: "Cluster", entries: "Sequence[stored_cluster.Entry]", pushed: Pushed
) -> None:
    for name, collection in COLLECTIONS.items():
        deleted: list[int] = []
        current: list[tuple[int, Document]] = []
        for number, document_id, _ in (entry for entry in entries if entry[2] == name):
            document = stored_documents.by_id(db, document_id)
            if document is not None and document["forgotten_at"] is None:
                current.append((number, document))
            else:
                cluster.delete(collection, document_id)
                deleted.append(number)
        vectors = cluster_search.vectors_of(db, [document["rowid"] for _, document in current])
        rows = [
            cluster_search.document_to_row(document, vectors.get(document["rowid"], b"")) for _, document in current
        ]
        written = cluster.write(collection, rows)
        with sqlite.transaction(db):
            stored_cluster.confirm(db, [*deleted, *(current[position][0] for position in written.accepted)])
            for position, reason in written.refused.items():
                stored_cluster.set_aside(db, current[position][0], reason)
        pushed.deleted += len(deleted)
        pushed.documents += len(written.accepted)
        pushed.refused += len(written.refused)
        if written.failure:
            raise written.failure


def _redacted(document: Document) -> Document:
    """Other programs may have written to the cluster: redact its texts again."""
    values: dict[str, Any] = dict(document)
    for name in ("text", "context", "title", "path", "source", "session_id", "project", "write_reason"):
        values[name] = redact(words.clean(values[name]).replace("\0", "\ufffd"))[0]
    values["tags"] = redact_value(values["tags"])
    values["history"] = redact_value(values["history"])
    return values  # type: ignore[return-value]  # a Document's fields


class Cluster:
    """The collections and documents of a cluster, through the official client."""

    def __init__(self, nodes: Sequence[str], key: str, prefix: str, timeout_s: float) -> None:
        self.nodes = list(nodes)
        self.prefix = prefix
        settings: Any = {
            "nodes": self.nodes,
            "api_key": key,
            "connection_timeout_seconds": timeout_s / len(self.nodes),
            "num_retries": len(self.nodes) - 1,
            "retry_interval_seconds": 0,
            "suppress_deprecation_warnings": True,
        }
        with self._failures():
            self._client: Any = typesense.Client(settings)

    def create_collections(self) -> list[dict[str, Any]]:
        """Create missing collections and fields; returns the changes. Raises Failure: TYPESENSE_SCHEMA_FOREIGN."""
        with self._failures():
            present = {row["name"]: row for row in self._client.collections.retrieve()}
        done = []
        plan = [(schema, present.get(self.prefix + schema["name"])) for schema in schemas()]
        missing = [_missing_fields(schema, row) if row else [] for schema, row in plan]  # all before the first change
        for (schema, row), fields in zip(plan, missing, strict=True):
            name = self.prefix + schema["name"]
            with self._failures():
                if row is None:
                    self._client.collections.create({**schema, "name": name})
                elif fields:
                    self._client.collections[name].update({"fields": fields})
            done.append(
                {
                    "collection": name,
                    "created": row is None,
                    "addedFields": [field["name"] for field in fields],
                    "documents": int(row["num_documents"]) if row else 0,
                }
            )
        return done

    def write(self, collection: str, rows: Sequence[Row]) -> Written:
        """Write whole documents."""
        written = Written()
        if not rows:
            return written
        body = "\n".join(json_text.dumps(row) for row in rows)
        with self._failures():
            answer = self._client.collections[self.prefix + collection].documents.import_(
                body, {"action": "upsert", "dirty_values": "coerce_or_reject", "batch_size": 200}
            )
            # Not `splitlines`: the server quotes a document that it refuses, which may contain U+2028.
            results = [json_text.loads(line) for line in answer.split("\n") if line.strip()]
        if len(results) != len(rows):
            reason = f"{len(rows)} documents were sent, but the answer has {len(results)} results"
            raise stored_cluster.unreachable(self.nodes, reason)
        for position, result in enumerate(results):
            code, message = int(result.get("code", 500)), str(result.get("error", "")) or "no reason given"
            if result.get("success") is True:
                written.accepted.append(position)
            elif 400 <= code < 500 and code not in (401, 403, 408, 422, 429):  # 422: its disk or memory is full
                written.refused[position] = message
            else:
                message = f"the cluster did not accept everything: {' '.join(message.split())[:200]}"
                fix = "check its disk and memory; what it did not accept is sent again"
                written.failure = written.failure or Failure(stored_cluster.REFUSED, message, fix)
        return written

    def delete(self, collection: str, document_id: str) -> None:
        """Delete a document, if it is there."""
        with self._failures():
            try:
                self._client.collections[self.prefix + collection].documents[quote(document_id, safe="")].delete()
            except ObjectNotFound as error:
                if "Could not find a document" not in str(error):
                    raise

    def export(self, collection: str) -> Iterator[Row]:
        """Every document of a collection."""
        with self._failures():
            documents = self._client.collections[self.prefix + collection].documents
            lines = documents.export({"exclude_fields": "lexicon,lexicon_context"}).split("\n")
            yield from map(json_text.loads, filter(None, lines))

    def close(self) -> None:
        """Close the connections."""
        self._client.api_call.close()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # about parts of the client that we do not use
                yield
        except TypesenseClientError as error:
            status = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            raise stored_cluster.refusal(self.nodes, status, str(error.args[-1]) if error.args else "") from None
        except httpx.HTTPError as error:
            raise stored_cluster.unreachable(self.nodes, str(error) or type(error).__name__) from None
        except ValueError:
            raise stored_cluster.unreachable(self.nodes, "the server there is not Typesense") from None


def schemas() -> list[Row]:
    """The schema of every collection, with names without the prefix."""
    time = {"name": "timestamp", "type": "int64"}
    return [
        {"name": remote, "default_sorting_field": "timestamp", "fields": [time, *_document_fields(name)]}
        for name, remote in COLLECTIONS.items()
    ]


def _document_fields(collection: str) -> list[Row]:
    """The fields of a document. Those without an index need no memory on the server."""
    is_searchable = collection != "episodes"
    facets = ("session_id", "project", "source", "observation_type", "category_id", "write_verdict")
    unindexed = ("context", "history", "privacy", "taxonomy_version", "supersedes", "category_source")
    return [
        *(_field(name, index=is_searchable) for name in (TEXT_FIELD[collection], "title")),
        *(_field(name) for name in ("lexicon", "lexicon_context", "path", "fingerprint", "superseded_by")),
        *(_field(name, facet=True) for name in facets),
        *(_field(name, "int64") for name in ("updated_at", "forgotten_at")),
        _field("terms", "int32"),
        _field("stale", "bool"),
        _field("embedding", "float[]", num_dim=256),
        _field("tags", "string[]", facet=True),
        *(_field(name, index=False) for name in (*unindexed, "write_reason", "write_gate_version")),
        *(
            _field(name, "float", index=False)
            for name in ("category_confidence", "write_confidence", "retrieval_priority")
        ),
        *(_field(name, "int64", index=False) for name in ("recall_count", "merged_count", "last_used_at")),
        _field("write_gate_fallback", "bool", index=False),
    ]


def _field(name: str, kind: str = "string", **more: Any) -> Row:
    return {"name": name, "type": kind, "optional": True, **more}


def _missing_fields(schema: Row, row: Row) -> list[Row]:
    present = {entry["name"]: entry for entry in row["fields"]}
    for wanted in schema["fields"]:
        other = present.get(wanted["name"])
        if other is not None and (other["type"] != wanted["type"] or other.get("num_dim") != wanted.get("num_dim")):
            raise Failure(
                "TYPESENSE_SCHEMA_FOREIGN",
                f"the cluster's collection {row['name']} has a field {wanted['name']} of type {other['type']},"
                f" not {wanted['type']}",
                "another program uses it: set store.prefix in config.toml, and run `joelclaw store init` again",
            )
    return [wanted for wanted in schema["fields"] if wanted["name"] not in present]
