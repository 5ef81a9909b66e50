"""Reads the rows of documents, and counts that they were recalled. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, json_text
from core.store import BY_HAND, COLLECTION_SHIFT, NAME_OF, marks, row_range

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.records import Document, Traits

COLUMNS = (
    "rowid, id, text, context, title, path, category_id, category_confidence, category_source, taxonomy_version, tags,"
    " source, session_id, project, observation_type, privacy, created_at, updated_at, write_verdict, write_confidence,"
    " write_reason, write_gate_version, write_gate_fallback, merged_count, recall_count, retrieval_priority,"
    " last_used_at, superseded_by, supersedes, stale, fingerprint, history, forgotten_at"
)
NAMES = tuple(COLUMNS.replace(" ", "").split(","))
_FIRST, _LAST = row_range("episodes")
_STAGE = (
    f"CASE WHEN rowid NOT BETWEEN {_FIRST} AND {_LAST} THEN '' WHEN session_id = '' OR NOT EXISTS"
    " (SELECT 1 FROM call WHERE call.session_id = document.session_id)"
    " THEN iif(substr(rtrim(text), -1) IN ('?', '？', '؟'), 'question', '') WHEN text LIKE 'user:%' THEN 'asked'"
    " WHEN coalesce((SELECT next.text LIKE 'user:%' FROM document AS next WHERE next.session_id = document.session_id"
    f" AND next.session_id <> '' AND next.rowid > document.rowid AND next.rowid <= {_LAST}"
    " ORDER BY next.rowid LIMIT 1), 1) THEN 'ended' ELSE 'under way' END"
)
STATIC_SPACE = 1  # the number of the static space among the vectors; every store has it


def from_row(row: Sequence[Any]) -> Document:
    """The document of a row of COLUMNS."""
    values: dict[str, Any] = dict(zip(NAMES, row, strict=True))
    values["collection"] = NAME_OF[values["rowid"] >> COLLECTION_SHIFT]
    values["tags"] = json_text.loads(values["tags"])
    values["history"] = json_text.loads(values["history"])
    for flag in ("write_gate_fallback", "stale"):
        values[flag] = bool(values[flag])
    return values  # type: ignore[return-value]  # the columns are the TypedDict's keys


def has_signatures(db: apsw.Connection) -> bool:
    """Whether the store has the table of vector signatures."""
    return bool(db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'signature'").get)


def count_recall(db: apsw.Connection, identifiers: Sequence[str], at: int) -> None:
    """Note that these documents were recalled at `at` (ms)."""
    db.execute(
        f"UPDATE document SET recall_count = recall_count + 1, last_used_at = ? WHERE id IN ({marks(identifiers)})",
        (at, *identifiers),
    )


def by_rowids(db: apsw.Connection, rowids: Sequence[int]) -> list[Document]:
    """The documents of these rows, in this order; rows that are gone are left out."""
    rows = db.execute(f"SELECT {COLUMNS} FROM document WHERE rowid IN ({marks(rowids)})", tuple(rowids))
    found = {int(row[0]): row for row in rows}
    return [from_row(found[rowid]) for rowid in rowids if rowid in found]


def traits(db: apsw.Connection, rowids: Sequence[int]) -> list[Traits]:
    """What the ranking needs to know of these rows, without reading their texts out."""
    rows = db.execute(
        "SELECT rowid, (length(text) + octet_length(text)) / 2, max(created_at, updated_at), recall_count,"
        " retrieval_priority, write_verdict, stale OR tags LIKE '%\"stale\"%',"
        f" tags LIKE '%\"pinned\"%', write_reason = '{BY_HAND}', superseded_by, project, session_id, {_STAGE}"
        f" FROM document WHERE rowid IN ({marks(rowids)})",
        tuple(rowids),
    )
    return [
        {
            "rowid": rowid, "collection": NAME_OF[rowid >> COLLECTION_SHIFT], "chars": chars,
            "confirmed_at": confirmed, "recall_count": recalls, "retrieval_priority": priority,
            "write_verdict": verdict, "stale": bool(stale), "pinned": bool(pinned), "superseded_by": superseded,
            "by_hand": bool(hand), "project": project, "session": session, "stage": stage,
        }
        for rowid, chars, confirmed, recalls, priority, verdict, stale, pinned, hand, superseded, project, session,
        stage in rows
    ]  # fmt: skip


def projects(db: apsw.Connection) -> list[str]:
    """The names of projects that memories have: from entry to entry of the index, not over all rows."""
    rows = db.execute(
        "WITH RECURSIVE one(name) AS (SELECT min(project) FROM document WHERE project <> '' UNION ALL"
        " SELECT (SELECT min(project) FROM document WHERE project <> '' AND project > name) FROM one"
        " WHERE name IS NOT NULL) SELECT name FROM one WHERE name IS NOT NULL"
    )
    return [str(name) for (name,) in rows]
