"""Lists memories by what is known of them, and changes their tags and what took their place; the indexes stay."""

from collections.abc import Sequence
from typing import Any

import apsw

from core import json_text
from core.records import Document
from core.store import document_rows, marks, row_range

_MANY = 2_000
PINNED = "pinned"
"""The tag of a memory that a person pinned: it does not decay and never goes stale (`recall.ranking`)."""


def listed(
    db: apsw.Connection, collection: str, asked: dict[str, Any], *, limit: int, offset: int
) -> tuple[int, list[Document]]:
    """How many memories of a collection there are, and a page of them, the newest first."""
    where = ["rowid BETWEEN ? AND ?"]
    values: list[Any] = [*row_range(collection)]
    names = asked["projects"]

    def narrow(condition: str, *given: object) -> None:
        where.append(condition)
        values.extend(given)

    if not asked["whatever"]:
        narrow("forgotten_at IS NULL AND superseded_by = ''")
    for tag in asked["tags"]:  # few hold the letters, so that few lists are taken apart
        narrow("instr(tags, ?) AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)", json_text.dumps(tag), tag)
    if asked["without"]:
        narrow("NOT EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)", asked["without"])
    for condition, value in (
        ("category_id = ?", asked["category"] or None),
        ("source = ?", asked["source"] or None),
        ("created_at >= ?", asked["since"]),
        ("created_at < ?", asked["before"]),
    ):
        if value is not None:
            narrow(condition, value)
    if asked["verdicts"]:
        narrow(f"write_verdict IN ({marks(asked['verdicts'])})", *asked["verdicts"])
    if names:
        of_sessions = f"session_id IN (SELECT id FROM session WHERE project IN ({marks(names)}))"
        narrow(f"(project IN ({marks(names)}) OR (project = '' AND {of_sessions}))", *names, *names)
    joined = " AND ".join(where)
    found = int(db.execute(f"SELECT count(*) FROM document WHERE {joined}", values).get)
    # where many are asked for, the newest of them are soon met in the order of time; else all of them are sorted
    walked = "+" if found > _MANY else ""
    rows = db.execute(
        f"SELECT rowid FROM document WHERE {walked}{joined} ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?",
        (*values, limit, offset),
    )
    return found, document_rows.by_rowids(db, [int(row) for (row,) in rows])


def set_tags(db: apsw.Connection, rowid: int, tags: Sequence[str], *, stale: bool) -> None:
    """Set a memory's tags, and whether it is stale, inside the caller's transaction; its age stays what it is."""
    db.execute("UPDATE document SET tags = ?, stale = ? WHERE rowid = ?", (json_text.dumps(list(tags)), stale, rowid))


def link(db: apsw.Connection, older: Document, newer: Document, now: int) -> None:
    """Note that one memory took the place of another, inside the caller's transaction; `now` in ms."""
    placed = "UPDATE document SET superseded_by = ?, updated_at = ? WHERE rowid = ?"
    db.execute(placed, (newer["id"], now, older["rowid"]))
    db.execute("UPDATE document SET supersedes = ? WHERE rowid = ?", (older["id"], newer["rowid"]))


def unlink(db: apsw.Connection, older: Document, now: int) -> None:
    """Undo `link`, inside the caller's transaction; what took the memory's place may be gone by now."""
    db.execute("UPDATE document SET superseded_by = '', updated_at = ? WHERE rowid = ?", (now, older["rowid"]))
    freed = "UPDATE document SET supersedes = '' WHERE id = ? AND supersedes = ?"
    db.execute(freed, (older["superseded_by"], older["id"]))
