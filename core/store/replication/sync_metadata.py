"""What a document on the cluster holds for synchronising: which machine sent it, in which batch and version.

`sync_origin` and `sync_batch` order the changes without a clock: a machine numbers its batches, and whoever fetches
keeps the last number that it saw of each machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core import json_text
from core.store import documents
from core.store.replication.replica import GONE, Side, content_hash
from core.store.typesense import mapping

if TYPE_CHECKING:
    from core.records import Document
    from core.store.typesense.connection import Row

HEADERS = "id,updated_at,forgotten_at,last_used_at,sync_origin,sync_batch,sync_version,sync_content,sync_shares"
"""Enough to tell whether two sides differ."""


def row_of(side: Side, vector: bytes, origin: str, batch: int) -> Row:
    """The row that carries a side to the cluster.

    Args:
        vector: of the static space, b"" where there is none.
    """
    if side.document is not None and side.forgotten_at is None:
        document: Document = {
            **side.document,
            "recall_count": side.recalls,
            "retrieval_priority": side.priority,
            "last_used_at": side.last_used_at,
        }
    else:
        at = side.forgotten_at or side.version
        document = documents.blank(side.collection, side.id, "", at)
        document["forgotten_at"] = at
    row = mapping.to_remote(document, vector)
    if side.last_used_at is not None:
        row["last_used_at"] = side.last_used_at  # of a tombstone too: it may come back
    row["sync_origin"] = origin
    row["sync_batch"] = batch
    row["sync_version"] = side.version
    row["sync_content"] = side.content
    row["sync_shares"] = json_text.dumps({name: list(share) for name, share in side.shares.items()})
    return row


def headers_of(row: Row, collection: str) -> Side:
    """The side of a row without its content, as the row says of itself."""
    shares = json_text.loads(row.get("sync_shares") or "{}")
    content = str(row.get("sync_content", ""))
    forgotten_at = row.get("forgotten_at")
    used = row.get("last_used_at")
    return Side(
        str(row["id"]),
        collection,
        None,
        int(row.get("sync_version") or row.get("updated_at") or 0),
        content,
        {name: (int(number), int(recalls), float(priority)) for name, (number, recalls, priority) in shares.items()},
        None if used is None else int(used),
        None if forgotten_at is None else int(forgotten_at),
    )


def side_of(row: Row, collection: str) -> Side:
    """The side of a whole row; its content is what is there, whatever the row says of it."""
    side = headers_of(row, collection)
    if side.content == GONE:
        return side
    document = mapping.from_remote(row, collection)
    shares = side.shares
    if "sync_shares" not in row and (document["recall_count"] or document["retrieval_priority"]):
        shares = {"": (0, document["recall_count"], document["retrieval_priority"])}  # written by another program
    return Side(
        side.id, collection, document, side.version, content_hash(document), shares, side.last_used_at,
        side.forgotten_at,
    )  # fmt: skip
