"""Reads the rows of documents, and counts that they were recalled and used. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, json_text
from core.store import COLLECTION_SHIFT, NAME_OF, marks, row_range

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.records import Document

COLUMNS = (
    "rowid, id, text, context, title, path, category_id, category_confidence, category_source, taxonomy_version, tags,"
    " source, session_id, project, observation_type, privacy, created_at, updated_at, write_verdict, write_confidence,"
    " write_reason, write_gate_version, write_gate_fallback, merged_count, recall_count, retrieval_priority,"
    " last_used_at, superseded_by, supersedes, stale, fingerprint, history, forgotten_at"
)
NAMES = tuple(COLUMNS.replace(" ", "").split(","))
_ECHO, _FIZZLE, _LIMIT = 0.1, -0.05, 1.0
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
    """Note that these documents were recalled at `at` (ms), which may be told late."""
    used = "recall_count = recall_count + 1, last_used_at = max(coalesce(last_used_at, 0), ?)"
    db.execute(f"UPDATE document SET {used} WHERE id IN ({marks(identifiers)})", (at, *identifiers))


def by_rowids(db: apsw.Connection, rowids: Sequence[int]) -> list[Document]:
    """The documents of these rows, in this order; rows that are gone are left out."""
    rows = db.execute(f"SELECT {COLUMNS} FROM document WHERE rowid IN ({marks(rowids)})", tuple(rowids))
    found = {int(row[0]): row for row in rows}
    return [from_row(found[rowid]) for rowid in rowids if rowid in found]


def projects(db: apsw.Connection) -> list[str]:
    """The names of projects that memories have: from entry to entry of the index, not over all rows."""
    rows = db.execute(
        "WITH RECURSIVE one(name) AS (SELECT min(project) FROM document WHERE project <> '' UNION ALL"
        " SELECT (SELECT min(project) FROM document WHERE project <> '' AND project > name) FROM one"
        " WHERE name IS NOT NULL) SELECT name FROM one WHERE name IS NOT NULL"
    )
    return [str(name) for (name,) in rows]


def has_phrase(db: apsw.Connection, phrases: Sequence[str]) -> bool:
    """Whether a memory that is no turn holds the words of one of these phrases, in their order."""
    asked = " OR ".join('"' + phrase.replace('"', " ") + '"' for phrase in phrases)
    # two ranges, which the index skips the episodes by: it reads every one for what is not between
    one = "EXISTS (SELECT 1 FROM lexicon WHERE lexicon MATCH ?1 AND rowid {})"
    found = f"SELECT {one.format('< ?2')} OR {one.format('> ?3')}"
    return bool(db.execute(found, (f"{{text}} : ({asked})", *row_range("episodes"))).get)


def changed(db: apsw.Connection, identifiers: Sequence[str], since: int) -> set[str]:
    """Those of these documents that were written or changed since a time."""
    query = f"SELECT id FROM document WHERE id IN ({marks(identifiers)}) AND max(created_at, updated_at) >= ?"
    return {str(identifier) for (identifier,) in db.execute(query, (*identifiers, since))}


def move_priority(db: apsw.Connection, identifier: str, *, used: bool, at: int) -> float | None:
    """Raise the priority of a memory that was used by .1, lower that of one that was not by .05, within -1 to 1."""
    row = db.execute(
        "UPDATE document SET retrieval_priority = max(?, min(?, round(retrieval_priority + ?, 4))),"
        " last_used_at = CASE WHEN ? THEN ? ELSE last_used_at END"
        " WHERE id = ? AND forgotten_at IS NULL RETURNING retrieval_priority",
        (-_LIMIT, _LIMIT, _ECHO if used else _FIZZLE, used, at, identifier),
    ).fetchone()
    return None if row is None else float(row[0])
