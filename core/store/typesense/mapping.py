"""Converts documents and events to the cluster's form and back. Ids are ours.

A document is sent with what recall needs: its finished terms (`lexicon`), how many, and its vector of the static
space, twice: as numbers for the server's search (the int8 themselves, since a cosine is free of scale) and as base64
for ours, which is shorter to send back. A forgotten document goes as a tombstone: id, times, and nothing of its text.
"""

from __future__ import annotations

from core import json_text
from core.store import documents
from core.store.typesense import lexicon
from core.store.typesense.schema import TEXT_FIELD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.records import Document, Event
    from core.store.typesense.connection import Row

# The same name and the same value on both sides.
_SAME = (
    "id", "title", "path", "context", "category_id", "category_confidence", "category_source", "taxonomy_version",
    "tags", "source", "session_id", "project", "observation_type", "privacy", "updated_at", "write_verdict",
    "write_confidence", "write_reason", "write_gate_version", "write_gate_fallback", "merged_count", "recall_count",
    "retrieval_priority", "superseded_by", "supersedes", "stale", "fingerprint",
)  # fmt: skip
_NULLABLE = ("last_used_at", "forgotten_at")
EXCLUDED = "embedding,lexicon,lexicon_context,terms,chars"
"""Fields of a document that its reader does without."""


def vectors(db: apsw.Connection, rowids: Sequence[int]) -> dict[int, bytes]:
    """The static vectors that the local file has of these rows."""
    if not rowids:
        return {}
    marks = ", ".join("?" * len(rowids))
    rows = db.execute(
        f"SELECT document, value FROM vector WHERE space = {documents.STATIC_SPACE} AND document IN ({marks})",
        tuple(rowids),
    )
    return {int(rowid): bytes(value) for rowid, value in rows}


def to_remote(document: Document, vector: bytes = b"") -> Row:
    """The document as the cluster's collection of that kind holds it.

    Args:
        vector: int8[256] of the static space (`vectors`), empty where the text has none.
    """
    values: dict[str, Any] = document  # type: ignore[assignment]
    text_field = TEXT_FIELD[document["collection"]]
    if document["forgotten_at"] is not None:
        return {
            "id": document["id"],
            "timestamp": document["created_at"],
            "updated_at": document["updated_at"],
            "forgotten_at": document["forgotten_at"],
        }
    row: Row = {name: values[name] for name in _SAME}
    row |= {name: values[name] for name in _NULLABLE if values[name] is not None}
    row["timestamp"] = document["created_at"]
    row[text_field] = document["text"]
    row["history"] = json_text.dumps(document["history"])
    own = f"{document['title']}\n{document['text']}" if document["title"] else document["text"]
    row["lexicon"] = lexicon.of_text(own)
    row["lexicon_context"] = lexicon.of_context(document["context"])
    # As `core.store.documents.traits` counts them.
    row["chars"] = (len(document["text"]) + len(document["text"].encode("utf-8", "surrogatepass"))) // 2
    row["terms"] = lexicon.length(row["lexicon"], row["lexicon_context"])
    if vector:
        import binascii

        row["embedding"] = memoryview(vector).cast("b").tolist()
        row["vector"] = binascii.b2a_base64(vector, newline=False).decode()
    return row


def from_remote(row: Row, collection: str) -> Document:
    """The document of a row; its `rowid` is 0. A tombstone has no text, and `forgotten_at`."""
    document = documents.blank(collection, str(row["id"]), str(row.get(TEXT_FIELD[collection], "")), 0)
    values: dict[str, Any] = document  # type: ignore[assignment]
    for name in _SAME:
        if name in row:
            values[name] = _like(values[name], row[name])
    for name in _NULLABLE:
        if row.get(name) is not None:
            values[name] = int(row[name])
    document["created_at"] = int(row["timestamp"])
    document["history"] = json_text.loads(row["history"]) if row.get("history") else []
    return document


def _like(default: Any, value: Any) -> Any:
    """The value in the type of the field's default: the server gives 1 for 1.0."""
    return value if isinstance(default, (bool, list)) else type(default)(value)


def vector_of(row: Row) -> bytes:
    """The static vector that a row brings, b"" where it has none."""
    if not row.get("vector"):
        return b""
    import binascii

    return binascii.a2b_base64(row["vector"])


def event_to_remote(event: Event, search_text: str) -> Row:
    """An event as the cluster holds it.

    Args:
        search_text: the words by which it is found, as the local file has them.
    """
    row: Row = {**event, "metadata": json_text.dumps(event["metadata"]), "search_text": search_text}
    return row


def event_from_remote(row: Row) -> Event:
    """The event of a row."""
    event: Event = {
        "id": row["id"],
        "timestamp": int(row["timestamp"]),
        "sessionId": row.get("sessionId", ""),
        "systemId": row.get("systemId", ""),
        "level": row.get("level", "info"),
        "source": row.get("source", ""),
        "component": row.get("component", ""),
        "action": row.get("action", ""),
        "success": bool(row.get("success", True)),
        "metadata": json_text.loads(row["metadata"]) if row.get("metadata") else {},
    }
    duration = row.get("duration_ms")
    if duration is not None:
        event["duration_ms"] = int(duration) if duration == int(duration) else float(duration)
    if row.get("error") is not None:
        event["error"] = row["error"]
    return event
