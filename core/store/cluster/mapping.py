"""Converts documents and events to the cluster's form and back. Ids are ours. Hot path.

Server 0.24 does not stem: a document goes with its finished terms, and a forgotten one as id and times alone.
"""

from __future__ import annotations

from core import TYPE_CHECKING, json_text, words
from core.store import apsw, document_rows, documents

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from core.records import Document, Event

    Row = dict[str, Any]

COLLECTIONS = {"observations": "memory_observations", "episodes": "episodes", "knowledge": "system_knowledge"}
"""Our names → the server's, without prefix."""
EVENTS = "otel_events"
TEXT_FIELD = {"observations": "observation", "episodes": "text", "knowledge": "text"}
"""The field of a document's text."""
SEARCHED = "embedding,lexicon,lexicon_context,terms"
"""Fields of a document that only the search needs."""
_NULLABLE = ("last_used_at", "forgotten_at")
_OTHERWISE = ("rowid", "text", "created_at", "history", *_NULLABLE)
_SAME = tuple(name for name in document_rows.NAMES if name not in _OTHERWISE)
"""The same name and the same value on both sides."""
_EVENT_DEFAULTS = {
    **dict.fromkeys(("sessionId", "systemId", "source", "component", "action"), ""),
    "level": "info",
    "success": True,
}
_LONGEST_TERM = 60
_tokenizers: list[Any] = []


def stems(text: str) -> list[str]:
    """The terms of a text, in order, as FTS5's `porter unicode61 remove_diacritics 2` makes them."""
    if not _tokenizers:
        _tokenizers.append(
            apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
        )
    data = text.encode("utf-8", "replace")
    found = _tokenizers[0](data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
    return [term if term.isascii() and len(term) <= _LONGEST_TERM else _coded(term) for term in found]


def _coded(term: str) -> str:
    data = term.encode("utf-8", "replace")
    if 2 * len(data) <= _LONGEST_TERM:
        return "0x" + data.hex()
    from core.ids import fingerprint

    return "0x" + fingerprint(term)


def vectors(db: apsw.Connection, rowids: Sequence[int]) -> dict[int, bytes]:
    """The static vectors of these rows in the local file."""
    marks = ", ".join("?" * len(rowids))
    rows = db.execute(
        f"SELECT document, value FROM vector WHERE space = {document_rows.STATIC_SPACE} AND document IN ({marks})",
        tuple(rowids),
    )
    return {int(rowid): bytes(value) for rowid, value in rows}


def numbers(vector: bytes) -> list[int]:
    """A vector in the server's form: cosine ignores scale, so the int8 values themselves."""
    return memoryview(vector).cast("b").tolist()


def to_remote(document: Document, vector: bytes = b"") -> Row:
    """The document in its cluster collection's form."""
    values: dict[str, Any] = document  # type: ignore[assignment]
    if document["forgotten_at"] is not None:
        kept = {name: values[name] for name in ("id", "updated_at", "forgotten_at")}
        return {**kept, "timestamp": document["created_at"]}
    text = f"{document['title']}\n{document['text']}" if document["title"] else document["text"]
    own, context = stems(f"{text} {words.parts(text)}"), stems(document["context"])
    row: Row = {name: values[name] for name in _SAME}
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
        row["embedding"] = numbers(vector)
    return row


def from_remote(row: Row, collection: str) -> Document:
    """The document of a row; its `rowid` is 0. A tombstone has `forgotten_at` and no text."""
    text = str(row.get(TEXT_FIELD[collection], ""))
    document = documents.blank(collection, str(row["id"]), text, int(row["timestamp"]))
    values: dict[str, Any] = document  # type: ignore[assignment]
    for name in _SAME:
        if name in row:  # in the type of the field's default: the server gives 1 for 1.0
            values[name] = row[name] if isinstance(values[name], (bool, list)) else type(values[name])(row[name])
    for name in _NULLABLE:
        if row.get(name) is not None:
            values[name] = int(row[name])
    document["history"] = json_text.loads(row["history"]) if row.get("history") else []
    return document


def event_to_remote(event: Event, search_text: str) -> Row:
    """An event in the cluster's form."""
    return {**event, "metadata": json_text.dumps(event["metadata"]), "search_text": search_text}


def event_from_remote(row: Row) -> Event:
    """The event of a row."""
    event: Any = {name: row.get(name, default) for name, default in _EVENT_DEFAULTS.items()}
    event |= {"id": row["id"], "timestamp": int(row["timestamp"])}
    event["metadata"] = json_text.loads(row["metadata"]) if row.get("metadata") else {}
    duration = row.get("duration_ms")
    if duration is not None:
        event["duration_ms"] = int(duration) if duration == int(duration) else float(duration)
    if row.get("error") is not None:
        event["error"] = row["error"]
    made: Event = event
    return made
