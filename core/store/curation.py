"""Lists memories by what is known of them, and changes their tags and what took their place; the indexes stay."""

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from core import json_text
from core.records import Document
from core.store import document_rows, marks, row_range
from core.store.documents import LIVE, SELECT, remove

_MANY = 2_000
SYNC = "knowledge-sync"
"""The `source` of a synced section; what was imported into the collection is not the sync's to remove."""
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


def ids_beginning(db: apsw.Connection, start: str, most: int) -> list[str]:
    """The first ids, in order, that begin so; forgotten ones too."""
    query = "SELECT id FROM document WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
    return [str(row[0]) for row in db.execute(query, (start, start + "\U0010ffff", most))]


def of_session(db: apsw.Connection, session: str) -> list[tuple[int, str]]:
    """Rows and ids of what a session said or noted, less what was forgotten."""
    where = "session_id = ? AND session_id <> '' AND forgotten_at IS NULL"
    return [
        (int(row), str(name)) for row, name in db.execute(f"SELECT rowid, id FROM document WHERE {where}", (session,))
    ]


def recent(db: apsw.Connection, collection: str, since: int, limit: int) -> list[Document]:
    """The newest documents of a collection since a time that were not superseded, newest first."""
    query = f"{SELECT} created_at >= ? AND {LIVE} ORDER BY created_at DESC, rowid DESC LIMIT ?"
    return [document_rows.from_row(row) for row in db.execute(query, (since, *row_range(collection), limit))]


def every(db: apsw.Connection, *, forgotten: bool = False, collection: str = "") -> Iterator[Document]:
    """Every document in order of its row, forgotten ones only when asked for; of one collection, if one is named."""
    rows = row_range(collection) if collection else (0, 1 << 62)
    where = "" if forgotten else " AND forgotten_at IS NULL"
    for row in db.execute(f"{SELECT} rowid BETWEEN ? AND ?{where} ORDER BY rowid", rows):
        yield document_rows.from_row(row)


def sections_by_file(db: apsw.Connection) -> dict[str, list[int]]:
    """The rows of every section of synced files that was not forgotten, by the path of its file."""
    found: dict[str, list[int]] = {}
    query = "SELECT path, rowid FROM document WHERE rowid BETWEEN ? AND ? AND forgotten_at IS NULL AND source = ?"
    for path, rowid in db.execute(query, (*row_range("knowledge"), SYNC)):
        found.setdefault(path, []).append(rowid)
    return found


def remove_sections(db: apsw.Connection, rowids: Sequence[int], *, signatures: bool) -> int:
    """Take sections out for good; how many there were. A forgotten one stays a tombstone: its file may come back."""
    removed = 0
    for rowid in rowids:
        if db.execute("SELECT forgotten_at FROM document WHERE rowid = ?", (rowid,)).get is None:
            remove(db, rowid, signatures=signatures)
            removed += db.changes()
    return removed


def make_durable(db: apsw.Connection) -> None:
    """Make all that was committed survive a power cut: a commit that waits for the disk waits for the whole log."""
    version = int(db.execute("PRAGMA user_version").get)
    db.execute(f"PRAGMA synchronous = FULL; BEGIN IMMEDIATE; PRAGMA user_version = {version}; COMMIT")
