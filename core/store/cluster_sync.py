"""Keeps a Typesense cluster in step: the outbox, and `store init`, `push` and `pull`.

The outbox is the queue of documents to push. Triggers fill it in the transaction of each write. An entry says only that
a document changed; the push sends the current document. The last push of a document wins; other machines read it from
the cluster.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from math import inf
from typing import Any
from urllib.parse import quote

import apsw

from core import background, clock, files, json_text, words
from core.config import Config
from core.errors import Failure
from core.records import Document
from core.redaction import redact, redact_value
from core.store import cluster as stored_cluster
from core.store import documents as stored_documents
from core.store import sqlite
from core.store.cluster import NOT_INITIALISED, PAGE, REFUSED
from core.store.sqlite import COLLECTION_SHIFT, COLLECTIONS, NAME_OF

MAX_ERROR_CHARS = 300

Row = dict[str, Any]
Progress = Callable[[int], None]
"""Called with the number of documents moved since the last call."""


def initialise(config: Config) -> dict[str, Any]:
    """Create the collections, and queue all writes from now on; all documents for a new collection."""
    with _connected(config) as (db, cluster):
        collections = cluster.create_collections()
        create_outbox(db, everything=any(collection["created"] for collection in collections))
    return {
        "nodes": cluster.nodes,
        "prefix": cluster.prefix,
        "changed": any(collection["created"] for collection in collections),
        "collections": collections,
        "backend": config.get_str("store.backend"),
    }


def push(config: Config, progress: Progress) -> dict[str, Any]:
    """Push everything that waits. Raises Failure: STORE_SYNC_BUSY, or what the cluster reports."""
    try:
        with _connected(config) as (db, cluster), files.FileLock(background.outbox_lock(), wait_s=60.0):
            return {"sent": _push(db, cluster, progress), "waiting": outbox_status(db)}
    except files.LockTimeout:
        fix = "wait for it, or look at `joelclaw status`"
        raise Failure("STORE_SYNC_BUSY", "another process is pushing to the cluster", fix) from None


def push_in_background(config: Config) -> None:
    """Push until the time of a background job is over. A fault is left to `status`. The job holds the lock."""
    deadline = time.monotonic() + 10  # after these seconds, no further batch is sent
    try:
        with _connected(config, timeout_s=10.0) as (db, cluster):
            _push(db, cluster, lambda _: None, deadline=deadline)
    except (Failure, sqlite.StoreError):
        pass


def pull(config: Config, progress: Progress) -> dict[str, Any]:
    """Copy the cluster's documents into a home that has none, in a single transaction.

    Raises Failure: STORE_NOT_EMPTY.
    """
    pulled = {"documents": 0}
    with _connected(config) as (db, cluster):
        with sqlite.transaction(db):
            if db.execute("SELECT EXISTS (SELECT 1 FROM document)").get:
                fix = "set JOELCLAW_HOME to a new folder; recall reads the cluster without a pull"
                raise Failure("STORE_NOT_EMPTY", "this home already has memories", fix)
            _note(db, "quiet", 1)  # the cluster has these documents
            for name, collection in COLLECTIONS.items():
                for row in cluster.export(collection.remote):
                    if row.get("forgotten_at") is not None:  # a tombstone of version 0.2
                        continue
                    document = _redacted(stored_cluster.document_from_row(row, name))
                    stored_documents.insert(db, document, stored_cluster.vector_of(row))
                    pulled["documents"] += 1
                    progress(1)
            _note(db, "quiet", None)
        stored_documents.renew_due_segments(db)
    return pulled


def has_outbox(db: apsw.Connection) -> bool:
    """Whether writes are queued for a cluster."""
    return bool(db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'outbox_updated'").get)


def create_outbox(db: apsw.Connection, *, everything: bool = True) -> None:
    """Queue every write from now on. The first time, or for a cluster that has lost them, queue all documents."""
    files.touch_private(background.outbox_lock())
    everything = everything or not has_outbox(db)
    now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
    with sqlite.transaction(db):
        for event, row in (("insert", "NEW"), ("update", "NEW"), ("delete", "OLD")):
            name = f"outbox_{event.removesuffix('e')}ed"
            db.execute(f"DROP TRIGGER IF EXISTS {name}")  # an earlier version may have created another
            db.execute(
                f"CREATE TRIGGER {name} AFTER {event} ON document"
                " WHEN (SELECT value FROM outbox_state WHERE name = 'quiet') IS NULL BEGIN"
                f" INSERT OR REPLACE INTO outbox (id, collection, queued_at) SELECT {row}.id, {row}.rowid >>"
                f" {COLLECTION_SHIFT}, coalesce(min(queued_at), {now}) FROM outbox WHERE id = {row}.id; END"
            )
        if everything:
            db.execute(
                "INSERT INTO outbox (id, collection, queued_at)"
                f" SELECT id, rowid >> {COLLECTION_SHIFT}, {now} FROM document WHERE forgotten_at IS NULL"
                " ORDER BY rowid ON CONFLICT (id) DO UPDATE SET not_before = 0, refusal = ''"
            )


def outbox_status(db: apsw.Connection) -> dict[str, Any]:
    """Pending and refused documents, and the result of the last push, as `status` prints them."""
    ((documents, oldest),) = db.execute(
        "SELECT count(*), min(queued_at) FROM outbox WHERE not_before <= ?", (clock.now_ms(),)
    )
    ((refused, refusal),) = db.execute("SELECT count(*), max(refusal) FROM outbox WHERE refusal <> ''")
    noted = dict(db.execute("SELECT name, value FROM outbox_state"))
    return {
        "documents": documents,
        "refused": refused,
        "refusal": refusal or "",
        "error": str(noted.get("error", "")),
        "oldest": clock.iso(oldest) if oldest else None,
        "syncedAt": clock.iso(noted["synced_at"]) if "synced_at" in noted else None,
    }


def outbox_problems(outbox: dict[str, Any] | None, backend: str) -> list[dict[str, str]]:
    """Code, message and fix of each problem. `outbox`: `outbox_status`, or None if this home has no cluster."""
    if outbox is None:
        message = 'store.backend is "typesense", but nothing is sent to a cluster yet'
        problem = {"code": NOT_INITIALISED, "message": message, "fix": "run `joelclaw store init`"}
        return [problem] if backend == "typesense" else []
    problems = []
    if outbox["error"]:
        code, _, message = outbox["error"].partition(": ")
        fix = "check the cluster, then run `joelclaw store push`; nothing is lost meanwhile"
        problems.append({"code": code, "message": message, "fix": fix})
    if outbox["refused"]:
        message = f"the cluster refuses {outbox['refused']} documents: {outbox['refusal']}"
        fix = "run `joelclaw store init`, then `joelclaw store push`"
        problems.append({"code": REFUSED, "message": message, "fix": fix})
    return problems


def _note(db: apsw.Connection, name: str, value: str | int | None) -> None:
    """Store a value with the outbox, in the caller's transaction; None removes it."""
    db.execute("DELETE FROM outbox_state WHERE name = ?", (name,))
    if value is not None:
        db.execute("INSERT INTO outbox_state VALUES (?, ?)", (name, value))


@contextmanager
def _connected(config: Config, *, timeout_s: float = 0.0) -> Iterator[tuple[apsw.Connection, "Cluster"]]:
    """The store and the cluster."""
    # The setting is for a recall. A request that writes a batch may take twenty times as long.
    timeout_s = timeout_s or config.get_float("store.timeout_ms") / 1000 * 20
    cluster = Cluster(
        stored_cluster.nodes(config), stored_cluster.api_key(config), config.get_str("store.prefix"), timeout_s
    )
    with closing(cluster), closing(sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=True)) as db:
        yield db, cluster


def _push(db: apsw.Connection, cluster: "Cluster", progress: Progress, *, deadline: float = inf) -> dict[str, int]:
    """Push what waits, or what is sent by `deadline`; returns how many were sent, deleted there, and refused.

    A fault of the cluster is recorded for `status`.
    """
    if not has_outbox(db):
        raise Failure(NOT_INITIALISED, "nothing is queued for a cluster", "run `joelclaw store init`")
    sent = {"documents": 0, "deleted": 0, "refused": 0}
    try:
        query = "SELECT seq, id, collection FROM outbox WHERE not_before <= ? ORDER BY seq LIMIT ?"
        while time.monotonic() < deadline:
            entries: list[Any] = db.execute(query, (clock.now_ms(), PAGE)).fetchall()
            if not entries:
                break
            for code, name in NAME_OF.items():
                changed = [(number, document_id) for number, document_id, collection in entries if collection == code]
                _push_documents(db, cluster, name, changed, sent)
            progress(len(entries))
    except Failure as failure:
        if failure.code.startswith("TYPESENSE"):
            with sqlite.transaction(db):
                _note(db, "error", f"{failure.code}: {failure.message}"[:MAX_ERROR_CHARS])
        raise
    with sqlite.transaction(db):
        _note(db, "error", None)
        _note(db, "synced_at", clock.now_ms())
    return sent


def _push_documents(
    db: apsw.Connection, cluster: "Cluster", name: str, changed: Sequence[tuple[int, str]], sent: dict[str, int]
) -> None:
    """Send the documents of a collection; those that are gone are deleted in the cluster.

    An entry is removed once the cluster has the document. A document that changed meanwhile has a new entry.
    """
    pushed: list[int] = []
    current: list[tuple[int, Document]] = []
    for number, document_id in changed:
        document = stored_documents.by_id(db, document_id)
        if document is not None and document["forgotten_at"] is None:
            current.append((number, document))
        else:
            cluster.delete(COLLECTIONS[name].remote, document_id)
            pushed.append(number)
            sent["deleted"] += 1
    vectors = stored_cluster.vectors_of(db, [document["rowid"] for _, document in current])
    rows = [stored_cluster.document_to_row(document, vectors.get(document["rowid"], b"")) for _, document in current]
    refused: list[tuple[str, int, int]] = []
    failed = ""
    for (number, _), result in zip(current, cluster.write(COLLECTIONS[name].remote, rows), strict=True):
        code, reason = int(result.get("code", 500)), str(result.get("error", "")) or "no reason given"
        if result.get("success") is True:
            pushed.append(number)
            sent["documents"] += 1
        elif 400 <= code < 500 and code not in (401, 403, 408, 422, 429):  # 422: its disk or memory is full
            refused.append((reason[:MAX_ERROR_CHARS], clock.now_ms() + clock.DAY_MS, number))
            sent["refused"] += 1
        else:
            failed = failed or " ".join(reason.split())[:200]
    with sqlite.transaction(db):
        db.executemany("DELETE FROM outbox WHERE seq = ?", [(number,) for number in pushed])
        db.executemany("UPDATE outbox SET refusal = ?, not_before = ? WHERE seq = ?", refused)
    if failed:
        fix = "check its disk and memory; what it did not accept is sent again"
        raise Failure(REFUSED, f"the cluster did not accept everything: {failed}", fix)


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
        import typesense  # `status` and `store prune` import this module, and need no client

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
        """Create missing collections; returns the created collections. Raises Failure: TYPESENSE_SCHEMA_FOREIGN."""
        with self._failures():
            present = {row["name"]: row for row in self._client.collections.retrieve()}
        wanted = {self.prefix + schema["name"]: schema for schema in schemas()}
        for name, schema in wanted.items():  # all are checked before the first is created
            types = {entry["name"]: entry["type"] for entry in present[name]["fields"]} if name in present else None
            if types is not None and any(types.get(field["name"]) != field["type"] for field in schema["fields"]):
                message = f"the cluster's collection {name} has other fields"
                fix = "it is another program's: set store.prefix in config.toml, and run `joelclaw store init` again"
                raise Failure("TYPESENSE_SCHEMA_FOREIGN", message, fix)
        for name, schema in wanted.items():
            if name not in present:
                with self._failures():
                    self._client.collections.create({**schema, "name": name})
        return [{"collection": name, "created": name not in present} for name in wanted]

    def write(self, collection: str, rows: Sequence[Row]) -> list[Row]:
        """Write whole documents; returns the server's result for each."""
        if not rows:
            return []
        body = "\n".join(json_text.dumps(row) for row in rows)
        with self._failures():
            answer = self._client.collections[self.prefix + collection].documents.import_(
                body, {"action": "upsert", "dirty_values": "coerce_or_reject", "batch_size": 200}
            )
            # Not `splitlines`: the server quotes a document that it refuses, which may contain U+2028.
            results: list[Row] = [json_text.loads(line) for line in answer.split("\n") if line.strip()]
            if len(results) != len(rows):
                raise ValueError
        return results

    def delete(self, collection: str, document_id: str) -> None:
        """Delete a document, if it is there."""
        from typesense.exceptions import ObjectNotFound

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
        import httpx
        from typesense.exceptions import TypesenseClientError

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
    """The schema of every collection, with names without the prefix. Fields without an index need no memory there."""
    facets = ("session_id", "project", "source", "observation_type", "category_id", "write_verdict")
    unindexed = ("context", "history", "privacy", "taxonomy_version", "supersedes", "category_source", "write_reason")
    shares = ("category_confidence", "write_confidence", "retrieval_priority")
    common = [
        {"name": "timestamp", "type": "int64"},
        *(_field(name) for name in ("lexicon", "lexicon_context", "path", "fingerprint", "superseded_by")),
        *(_field(name, facet=True) for name in facets),
        *(_field(name, "int64") for name in ("updated_at", "forgotten_at")),
        _field("terms", "int32"),
        _field("stale", "bool"),
        _field("embedding", "float[]", num_dim=256),
        _field("tags", "string[]", facet=True),
        *(_field(name, index=False) for name in (*unindexed, "write_gate_version")),
        *(_field(name, "float", index=False) for name in shares),
        *(_field(name, "int64", index=False) for name in ("recall_count", "merged_count", "last_used_at")),
        _field("write_gate_fallback", "bool", index=False),
    ]
    schemas = []
    for name, collection in COLLECTIONS.items():
        texts = [_field(text, index=name != "episodes") for text in (collection.text_field, "title")]
        schemas.append({"name": collection.remote, "default_sorting_field": "timestamp", "fields": [*common, *texts]})
    return schemas


def _field(name: str, kind: str = "string", **more: Any) -> Row:
    return {"name": name, "type": kind, "optional": True, **more}
