"""One document on one side, here or on the cluster, and the merge of two sides.

The newer write wins: of two contents that with the later `updated_at`, of equals that with the greater hash, so that
every machine decides alike. Recalls and feedback are no edits: of these the side that was used last wins. A forgotten
document is a tombstone without words on the cluster; a machine that has the words keeps them, for `--undo`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from core import ids, words
from core.redaction import redact
from core.store import documents
from core.store.replication import outbox
from core.store.typesense import mapping

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from core.records import Document
    from core.store.typesense.connection import Row

    Counters = tuple[int, int, float]
    """When it was used last, how often it was recalled, its priority."""
    Embed = Callable[[str, str, str], bytes]

GONE = "~gone"
"""Instead of a hash, where the row was deleted; greater than any."""
HEADERS = (
    "id,updated_at,forgotten_at,last_used_at,recall_count,retrieval_priority,sync_origin,sync_batch,sync_version,"
    "sync_content"
)
"""Fields of a row on the cluster that tell whether two sides differ."""
_NO_CONTENT = ("rowid", "recall_count", "retrieval_priority", "last_used_at", "updated_at")
_TEXTS = ("text", "context", "title", "path", "source", "session_id", "project", "write_reason")


@dataclass(frozen=True)
class Side:
    """A document here or on the cluster."""

    id: str
    collection: str
    document: Document | None
    version: int
    content: str
    counters: Counters = (0, 0, 0.0)
    forgotten_at: int | None = None

    @property
    def dead(self) -> bool:
        """Whether nothing of it may be found."""
        return self.content == GONE or self.forgotten_at is not None

    def same(self, other: Side) -> bool:
        """Whether both say the same, and count the same."""
        return self.same_content(other) and (self.dead or self.counters == other.counters)

    def same_content(self, other: Side) -> bool:
        """Whether both say the same."""
        return (self.version, self.content) == (other.version, other.content)


def content_hash(document: Document) -> str:
    """A hash of everything that is said of a document, without its counters; of a tombstone only that it is one."""
    if document["forgotten_at"] is not None:
        return ids.fingerprint(f"forgotten {document['id']} {document['forgotten_at']}")
    content = {name: value for name, value in document.items() if name not in _NO_CONTENT}
    return ids.fingerprint(orjson.dumps(_plain(content), option=orjson.OPT_SORT_KEYS).decode())


def _plain(value: Any) -> Any:
    """Numbers as both sides have them: 1 and 1.0 are the same on the cluster."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def here(db: apsw.Connection, identifier: str, collection: str) -> Side | None:
    """The local side; None where the document never was here."""
    document = documents.by_id(db, identifier)
    if document is not None:
        return of_document(document)
    version = outbox.deleted_at(db, identifier)
    return Side(identifier, collection, None, version, GONE) if version else None


def of_document(document: Document) -> Side:
    """The local side of a document that was read."""
    return Side(
        document["id"],
        document["collection"],
        document,
        document["updated_at"],
        content_hash(document),
        (document["last_used_at"] or 0, document["recall_count"], document["retrieval_priority"]),
        document["forgotten_at"],
    )


def of_headers(row: Row, collection: str) -> Side:
    """The side of a row without its content, as the row says of itself."""
    forgotten_at = row.get("forgotten_at")
    return Side(
        str(row["id"]),
        collection,
        None,
        max(int(row.get("updated_at") or 0), int(row.get("sync_version") or 0)),
        str(row.get("sync_content", "")),
        (
            int(row.get("last_used_at") or 0),
            int(row.get("recall_count") or 0),
            float(row.get("retrieval_priority") or 0.0),
        ),
        None if forgotten_at is None else int(forgotten_at),
    )


def of_row(row: Row, collection: str) -> Side:
    """The side of a whole row; its content is what is there, whatever the row says of it."""
    side = of_headers(row, collection)
    if side.content == GONE:
        return side
    document = mapping.from_remote(row, collection)
    document["updated_at"] = side.version
    return replace(side, document=document, content=content_hash(document))


def to_row(side: Side, vector: bytes, origin: str, batch: int) -> Row:
    """The row that carries a side to the cluster.

    A machine numbers its batches: who fetches keeps the last number that it saw of each machine, and needs no clock.
    """
    if side.document is not None and not side.dead:
        used_at, recalls, priority = side.counters
        document: Document = {
            **side.document,
            "last_used_at": used_at or None,
            "recall_count": recalls,
            "retrieval_priority": priority,
        }
    else:
        document = documents.blank(side.collection, side.id, "", side.version)
        document["forgotten_at"] = side.forgotten_at or side.version
    return {
        **mapping.to_remote(document, vector),
        "sync_origin": origin,
        "sync_batch": batch,
        "sync_content": side.content,
    }


def merged(db: apsw.Connection, ours: Side, theirs: Side) -> Side:
    """The merge of both sides. Where both were used at the same moment, what changed here and was not sent counts."""
    newer = ours if (ours.version, ours.content) >= (theirs.version, theirs.content) else theirs
    used, used_there = ours.counters[0], theirs.counters[0]
    mine = used > used_there or (used == used_there and outbox.holds(db, ours.id))
    return replace(newer, counters=ours.counters if mine else theirs.counters)


def apply(db: apsw.Connection, side: Side, ours: Side | None, *, embed: Embed, signatures: bool) -> bool:
    """Make the local side this one, inside the caller's `outbox.quiet` transaction; whether its words were changed
    by redaction, so that it must be sent back.
    """
    older = documents.by_id(db, side.id)
    if side.content == GONE:
        if older is not None:
            documents.remove(db, older["rowid"], signatures=signatures)
        outbox.set_deleted(db, side.id, side.version)
        return False
    changed = False
    if ours is None or not ours.same_content(side):
        if side.document is None or side.forgotten_at is not None:
            if older is None:  # a tombstone of what never was here
                return False
            one: Document = {**older, "forgotten_at": side.forgotten_at}
        else:
            one, changed = _clean({**side.document, "rowid": older["rowid"] if older is not None else 0})
        one["updated_at"] = side.version + changed
        vector = embed(one["text"], one["context"], one["title"]) if one["forgotten_at"] is None else b""
        if older is None:
            documents.insert(db, one, vector, signatures=signatures)
        else:
            documents.replace(db, one, vector, signatures=signatures)
    used_at, recalls, priority = side.counters
    documents.set_counters(db, side.id, recalls, priority, used_at or None)
    return changed


def _clean(document: Document) -> tuple[Document, bool]:
    """The document redacted, and whether that changed it: others may write to a cluster too."""
    one: dict[str, Any] = dict(document)
    for name in _TEXTS:
        one[name] = _clean_text(one[name])
    one["tags"] = [_clean_text(tag) for tag in one["tags"]]
    one["history"] = [
        {name: _clean_text(value) if isinstance(value, str) else value for name, value in was.items()}
        for was in one["history"]
    ]
    return one, one != document  # type: ignore[return-value]  # a Document with other texts


def _clean_text(text: str) -> str:
    return redact(words.clean(text).replace("\0", "\ufffd"))[0]
