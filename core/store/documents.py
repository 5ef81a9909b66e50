"""Inserts, changes, forgets and finds documents, in the caller's transaction. Times in ms."""

from __future__ import annotations

from core import TYPE_CHECKING, json_text, words
from core.store import COLLECTION_SHIFT, marks, row_range
from core.store.document_rows import COLUMNS, NAMES, STATIC_SPACE, from_row, has_signatures

if TYPE_CHECKING:
    from typing import Any

    import apsw

    from core.records import Document

MERGE_AFTER = 500
"""New documents after which it is worth its time to merge the lexical index (`upkeep.store_file`)."""
SELECT = f"SELECT {COLUMNS} FROM document WHERE"
LIVE = "forgotten_at IS NULL AND superseded_by = '' AND rowid BETWEEN ? AND ?"


def blank(collection: str, identifier: str, text: str, at: int) -> Document:
    """A document with every field at its default."""
    return {
        "rowid": 0, "id": identifier, "collection": collection, "text": text, "context": "", "title": "", "path": "",
        "category_id": "", "category_confidence": 0.0, "category_source": "", "taxonomy_version": "v1", "tags": [],
        "source": "", "session_id": "", "project": "", "observation_type": "", "privacy": "", "created_at": at,
        "updated_at": at, "write_verdict": "allow", "write_confidence": 0.0, "write_reason": "",
        "write_gate_version": "", "write_gate_fallback": False, "merged_count": 0, "recall_count": 0,
        "retrieval_priority": 0.0, "last_used_at": None, "superseded_by": "", "supersedes": "", "stale": False,
        "fingerprint": "", "history": [], "forgotten_at": None,
    }  # fmt: skip


def insert(db: apsw.Connection, document: Document, vector: bytes, *, signatures: bool) -> int:
    """Add a document to the table and, with its int8 vector (empty for none), to both indexes; returns its row."""
    base, last = row_range(document["collection"])
    free = "SELECT coalesce(max(rowid), ?) + 1 FROM document WHERE rowid BETWEEN ? AND ?"
    rowid = int(db.execute(free, (base, base, last)).get)
    db.execute(f"INSERT INTO document ({COLUMNS}) VALUES ({marks(NAMES)})", _values(document, rowid))
    _index(db, rowid, document, vector, signatures)
    return rowid


def replace(db: apsw.Connection, document: Document, vector: bytes, *, signatures: bool) -> None:
    """Write a changed document back over its row, and index it anew."""
    rowid = document["rowid"]
    assignments = ", ".join(f"{name} = ?" for name in NAMES[1:])
    db.execute(f"UPDATE document SET {assignments} WHERE rowid = ?", (*_values(document, rowid)[1:], rowid))
    _unindex(db, rowid, signatures)
    if document["forgotten_at"] is None:
        _index(db, rowid, document, vector, signatures)


def _values(document: Document, rowid: int) -> tuple[Any, ...]:
    lists = {"tags": json_text.dumps(document["tags"]), "history": json_text.dumps(document["history"])}
    values: dict[str, Any] = {**document, "rowid": rowid, **lists}
    return tuple(values[name] for name in NAMES)


def ensure_signatures(db: apsw.Connection) -> None:
    """Create the table of vector signatures where a store has none yet; sqlite-vec must be loaded."""
    if not has_signatures(db):
        from core.store.migrations import SIGNATURES

        db.execute(SIGNATURES)
        db.execute("INSERT OR IGNORE INTO vector_space VALUES (?, 'minilm-256-v1', 256)", (STATIC_SPACE,))


def _index(db: apsw.Connection, rowid: int, document: Document, vector: bytes, signatures: bool) -> None:
    text = f"{document['title']}\n{document['text']}" if document["title"] else document["text"]
    db.execute(
        "INSERT INTO lexicon (rowid, text, context, parts) VALUES (?, ?, ?, ?)",
        (rowid, text, document["context"], words.parts(text)),
    )
    if vector:
        db.execute("INSERT INTO vector (document, space, value) VALUES (?, ?, ?)", (rowid, STATIC_SPACE, vector))
        if signatures:
            db.execute(
                "INSERT INTO signature (rowid, collection, bits) VALUES (?, ?, vec_quantize_binary(vec_int8(?)))",
                (rowid, rowid >> COLLECTION_SHIFT, vector),
            )


def _unindex(db: apsw.Connection, rowid: int, signatures: bool) -> None:
    db.execute("DELETE FROM lexicon WHERE rowid = ?", (rowid,))
    db.execute("DELETE FROM vector WHERE document = ?", (rowid,))
    if signatures:
        db.execute("DELETE FROM signature WHERE rowid = ?", (rowid,))


def forget(db: apsw.Connection, rowid: int, at: int, *, signatures: bool) -> None:
    """Leave a tombstone: out of both indexes, so out of every search; the row stays for `--undo`."""
    db.execute("UPDATE document SET forgotten_at = ?, updated_at = ? WHERE rowid = ?", (at, at, rowid))
    _unindex(db, rowid, signatures)


def remove(db: apsw.Connection, rowid: int, *, signatures: bool) -> None:
    """Take a document out for good."""
    _unindex(db, rowid, signatures)
    db.execute("DELETE FROM document WHERE rowid = ?", (rowid,))


def by_id(db: apsw.Connection, identifier: str) -> Document | None:
    """The document with this id, forgotten or not."""
    row = db.execute(f"{SELECT} id = ?", (identifier,)).fetchone()
    return from_row(row) if row else None


def by_fingerprint(db: apsw.Connection, value: str, collection: str) -> Document | None:
    """The oldest document of the collection with the same normalised text that was neither forgotten nor superseded."""
    query = f"{SELECT} fingerprint = ? AND {LIVE} ORDER BY rowid LIMIT 1"
    row = db.execute(query, (value, *row_range(collection))).fetchone()
    return from_row(row) if row else None
