"""Documents: memories, episodes and knowledge, stored with both indexes. Times in ms since the epoch. Hot path.

Functions that write belong inside the caller's transaction.
"""

from __future__ import annotations

from core import TYPE_CHECKING, json_text, words
from core.store import sqlite
from core.store.sqlite import ALL, COLLECTION_SHIFT, NAME_OF, fetch, fetch_one, marks, row_range, transaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import apsw

    from core.records import Document

STATIC_SPACE = 1  # number of the static space among the vectors; every store has it
MERGE_AFTER = 500  # new documents after which the lexical index is merged
PINNED = "pinned"  # tag of a memory that a person pinned: it does not decay and never goes stale
ABANDONED = "abandoned"  # tag of an episode from before the user went back: see `core.store.branches`
PURGED = "purged"  # the `write_reason` of an emptied document
SYNC = "knowledge-sync"  # `source` of a synced section; the sync never removes imported documents


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


NAMES = tuple(name for name in blank("", "", "", 0) if name != "collection")
"""The columns of the table `document`."""


def insert(db: apsw.Connection, document: Document, vector: bytes, *, signature: bool = True) -> int:
    """Add a document to the table and, with its int8 vector (empty for none), to both indexes; returns its row.

    `signature`: a search by meaning will begin with the signatures of vectors.
    """
    first, last = row_range(document["collection"])
    free = "SELECT coalesce(max(rowid), ?) + 1 FROM document WHERE rowid BETWEEN ? AND ?"
    rowid = int(db.execute(free, (first, first, last)).get)
    values = _values(document, rowid)
    db.execute(f"INSERT INTO document ({', '.join(NAMES)}) VALUES ({marks(NAMES)})", values)
    _index(db, rowid, document, vector, signature=signature)
    return rowid


def replace(db: apsw.Connection, document: Document, vector: bytes) -> None:
    """Write a changed document over its row, and index it again."""
    rowid = document["rowid"]
    assignments = ", ".join(f"{name} = ?" for name in NAMES[1:])
    db.execute(f"UPDATE document SET {assignments} WHERE rowid = ?", (*_values(document, rowid)[1:], rowid))
    _unindex(db, rowid)
    if document["forgotten_at"] is None:
        _index(db, rowid, document, vector)


def forget(db: apsw.Connection, rowid: int, at: int) -> None:
    """Remove a document from both indexes, so from every search; its row stays for `--undo`."""
    db.execute("UPDATE document SET forgotten_at = ?, updated_at = ? WHERE rowid = ?", (at, at, rowid))
    _unindex(db, rowid)


def remove(db: apsw.Connection, rowid: int) -> None:
    """Remove a document for good."""
    _unindex(db, rowid)
    db.execute("DELETE FROM document WHERE rowid = ?", (rowid,))


def by_id(db: apsw.Connection, identifier: str) -> Document | None:
    """The document with this id, forgotten or not."""
    return fetch_one(db, "SELECT * FROM document WHERE id = ?", (identifier,), _document)


def is_purged(document: Document) -> bool:
    """Whether only the id of a document is left, so that nothing brings its text back."""
    return document["write_reason"] == PURGED and not document["text"]


def by_rowids(db: apsw.Connection, rowids: Sequence[int]) -> list[Document]:
    """The documents of these rows, in this order, without rows that are gone."""
    rows = fetch(db, f"SELECT * FROM document WHERE rowid IN ({marks(rowids)})", tuple(rowids), _document)
    found = {document["rowid"]: document for document in rows}
    return [found[rowid] for rowid in rowids if rowid in found]


def by_fingerprint(db: apsw.Connection, value: str, collection: str) -> Document | None:
    """The oldest document of a collection with the same normalised text that is neither forgotten nor superseded."""
    sql = f"SELECT * FROM document WHERE fingerprint = ? AND {_CURRENT} ORDER BY rowid"
    return fetch_one(db, sql, (value, *row_range(collection)), _document)


def by_time(db: apsw.Connection, at: int, text: str, collection: str) -> Document | None:
    """The document of a collection with exactly this time (ms) and text, forgotten or not."""
    sql = "SELECT * FROM document WHERE created_at = ? AND text = ? AND +rowid BETWEEN ? AND ? ORDER BY rowid"
    return fetch_one(db, sql, (at, text, *row_range(collection)), _document)


def recent(db: apsw.Connection, collection: str, since: int, limit: int) -> list[Document]:
    """The newest documents of a collection since a time, without superseded ones, newest first."""
    sql = f"SELECT * FROM document WHERE created_at >= ? AND {_CURRENT} ORDER BY created_at DESC, rowid DESC LIMIT ?"
    return fetch(db, sql, (since, *row_range(collection), limit), _document)


def of_projects(db: apsw.Connection, names: Sequence[str], limit: int, tag: str = "") -> list[Document]:
    """Memories of these projects and global ones, the pinned ones first, then the newest.

    Doubtful and stale memories and tasks of sessions are left out. Only the 1,000 newest of each kind are looked at:
    reading more would slow a hook.

    Args:
        tag: only those with this tag, in lower case.
    """
    groups = {
        "document_pinned": f"instr(tags, '\"{PINNED}\"') > 0 AND (project = '' OR project IN ({marks(names)}))",
        "document_project": f"project <> '' AND project IN ({marks(names)})",
        "document_global": "project = '' AND session_id = ''",
        "document_unplaced": "project = '' AND session_id <> ''"
        f" AND session_id IN (SELECT id FROM session WHERE project IN ({marks(names)}))",
    }
    tagged = " AND instr(lower(tags), ?) AND EXISTS (SELECT 1 FROM json_each(tags) WHERE lower(value) = ?)"
    columns = "rowid, tags, forgotten_at, superseded_by, stale, write_verdict"  # compiling `*` takes twice as long
    no_task = " AND instr(tags, '\"session-task\"') = 0"
    condition = f"{_CURRENT} AND stale = 0 AND write_verdict = 'allow'{no_task}{tagged if tag else ''}"
    selects: list[str] = []
    values: list[Any] = []
    for index, group in groups.items():
        if not names and index in ("document_project", "document_unplaced"):
            continue  # SQLite has no plan for these indexes and an empty list
        newest = f"SELECT {columns} FROM document INDEXED BY {index} WHERE {group} ORDER BY rowid DESC LIMIT 1000"
        selects.append(f"SELECT * FROM (SELECT rowid FROM ({newest}) WHERE {condition} LIMIT ?)")
        known = () if index == "document_global" else names
        values += [*known, *row_range("observations"), *((tag, tag) if tag else ()), limit]
    order = f"instr(tags, '\"{PINNED}\"') > 0 DESC, created_at DESC, rowid DESC"
    sql = f"SELECT * FROM document WHERE rowid IN ({' UNION ALL '.join(selects)}) ORDER BY {order} LIMIT ?"
    return fetch(db, sql, (*values, limit), _document)


def every(db: apsw.Connection, *, forgotten: bool = False, collection: str = "") -> Iterator[Document]:
    """Every document in the order of the rows; of a single collection, or with forgotten documents, if asked for."""
    rows = row_range(collection) if collection else (0, ALL)
    where = "" if forgotten else " AND forgotten_at IS NULL"
    columns = ", ".join(NAMES)
    for row in db.execute(f"SELECT {columns} FROM document WHERE rowid BETWEEN ? AND ?{where} ORDER BY rowid", rows):
        yield _document(**dict(zip(NAMES, row, strict=True)))


def listed(
    db: apsw.Connection, collection: str, asked: dict[str, Any], *, limit: int, offset: int
) -> tuple[int, list[Document]]:
    """The number of memories of a collection that match the filters `asked`, and a page of them, newest first."""
    narrowed: list[tuple[str, Sequence[Any]]] = [("rowid BETWEEN ? AND ?", row_range(collection))]
    # not even `whatever` asks for purged ones
    narrowed.append(("text <> ''" if asked["whatever"] else "forgotten_at IS NULL AND superseded_by = ''", ()))
    has_tag = "EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)"
    # `instr` first: few rows hold the letters, which saves parsing lists
    narrowed += [(f"instr(tags, ?) AND {has_tag}", (json_text.dumps(tag), tag)) for tag in asked["tags"]]
    if asked["without"]:
        narrowed.append((f"NOT {has_tag}", (asked["without"],)))
    if asked["category"]:
        narrowed.append(("category_id = ?", (asked["category"],)))
    if asked["verdicts"]:
        narrowed.append((f"write_verdict IN ({marks(asked['verdicts'])})", asked["verdicts"]))
    if names := asked["projects"]:
        of_sessions = f"session_id IN (SELECT id FROM session WHERE project IN ({marks(names)}))"
        condition = f"(project IN ({marks(names)}) OR (project = '' AND {of_sessions}))"
        narrowed.append((condition, (*names, *names)))
    joined = " AND ".join(condition for condition, _ in narrowed)
    values = [value for _, parameters in narrowed for value in parameters]
    count = int(db.execute(f"SELECT count(*) FROM document WHERE {joined}", values).get)
    # If many match, walking by time soon meets the newest of them (`+`); else all of them are sorted.
    walk = "+" if count > 2_000 else ""
    rows = db.execute(
        f"SELECT rowid FROM document WHERE {walk}{joined} ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?",
        (*values, limit, offset),
    )
    return count, by_rowids(db, [int(row) for (row,) in rows])


def ids_beginning(db: apsw.Connection, start: str, most: int) -> list[str]:
    """The first ids, in order, that begin like this; forgotten ones too."""
    query = "SELECT id FROM document WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
    return [str(row[0]) for row in db.execute(query, (start, start + "\U0010ffff", most))]


def of_session(db: apsw.Connection, session: str, *, forgotten: bool = False) -> list[tuple[int, str]]:
    """Rows and ids of a session's episodes and observations, oldest first; or the forgotten ones, if not purged."""
    which = "NOT NULL AND text <> ''" if forgotten else "NULL"
    where = f"session_id = ? AND session_id <> '' AND forgotten_at IS {which}"
    return list(db.execute(f"SELECT rowid, id FROM document WHERE {where} ORDER BY rowid", (session,)))


def beginnings(db: apsw.Connection, identifiers: Sequence[str], characters: int) -> dict[str, str]:
    """The first characters of memories by id, without those that are gone or forgotten."""
    query = f"SELECT id, substr(text, 1, ?) FROM document WHERE id IN ({marks(identifiers)}) AND forgotten_at IS NULL"
    return dict(db.execute(query, (characters, *identifiers)))


def projects(db: apsw.Connection) -> list[str]:
    """The names of projects that memories have, also forgotten ones."""
    rows = db.execute("SELECT DISTINCT project FROM tally WHERE documents > 0 AND project <> '' ORDER BY 1")
    return [str(name) for (name,) in rows]


def changed_since(db: apsw.Connection, identifiers: Sequence[str], since: int) -> set[str]:
    """Those of these documents that were written or changed since a time."""
    query = f"SELECT id FROM document WHERE id IN ({marks(identifiers)}) AND max(created_at, updated_at) >= ?"
    return {str(identifier) for (identifier,) in db.execute(query, (*identifiers, since))}


def count_recall(db: apsw.Connection, identifiers: Sequence[str], at: int) -> None:
    """Count that these documents were recalled at `at`, which may be in the past."""
    used = "recall_count = recall_count + 1, last_used_at = max(coalesce(last_used_at, 0), ?)"
    db.execute(f"UPDATE document SET {used} WHERE id IN ({marks(identifiers)})", (at, *identifiers))


def move_priority(db: apsw.Connection, identifier: str, *, used: bool, at: int) -> float | None:
    """Raise the priority of a used memory by .1, or lower it by .05, within -1 to 1; returns the new priority."""
    step = 0.1 if used else -0.05
    row = db.execute(
        "UPDATE document SET retrieval_priority = max(-1.0, min(1.0, round(retrieval_priority + ?, 4))),"
        " last_used_at = CASE WHEN ? THEN ? ELSE last_used_at END"
        " WHERE id = ? AND forgotten_at IS NULL RETURNING retrieval_priority",
        (step, used, at, identifier),
    ).fetchone()
    return None if row is None else float(row[0])


def set_tags(db: apsw.Connection, rowid: int, tags: Sequence[str], *, stale: bool) -> None:
    """Set a memory's tags, and whether it is stale; its age does not change."""
    db.execute("UPDATE document SET tags = ?, stale = ? WHERE rowid = ?", (json_text.dumps(list(tags)), stale, rowid))


def link(db: apsw.Connection, older: Document, newer: Document, now: int) -> None:
    """Note that a memory superseded another."""
    supersede = "UPDATE document SET superseded_by = ?, updated_at = ? WHERE rowid = ?"
    db.execute(supersede, (newer["id"], now, older["rowid"]))
    db.execute("UPDATE document SET supersedes = ? WHERE rowid = ?", (older["id"], newer["rowid"]))


def unlink(db: apsw.Connection, older: Document, now: int) -> None:
    """Undo `link`; the newer memory may be gone by now."""
    db.execute("UPDATE document SET superseded_by = '', updated_at = ? WHERE rowid = ?", (now, older["rowid"]))
    clear = "UPDATE document SET supersedes = '' WHERE id = ? AND supersedes = ?"
    db.execute(clear, (older["superseded_by"], older["id"]))


def sections_by_file(db: apsw.Connection) -> dict[str, list[int]]:
    """The rows of all sections of synced files, by the path of the file, without forgotten ones."""
    sections: dict[str, list[int]] = {}
    query = "SELECT path, rowid FROM document WHERE rowid BETWEEN ? AND ? AND forgotten_at IS NULL AND source = ?"
    for path, rowid in db.execute(query, (*row_range("knowledge"), SYNC)):
        sections.setdefault(path, []).append(rowid)
    return sections


def has_signatures(db: apsw.Connection) -> bool:
    """Whether the store has the table of vector signatures, with which a search by meaning begins."""
    return bool(db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'signature'").get)


_CURRENT = "forgotten_at IS NULL AND superseded_by = '' AND rowid BETWEEN ? AND ?"


def _document(**columns: Any) -> Document:
    columns["collection"] = NAME_OF[columns["rowid"] >> COLLECTION_SHIFT]
    columns["tags"] = json_text.loads(columns["tags"])
    columns["history"] = json_text.loads(columns["history"])
    columns["write_gate_fallback"] = bool(columns["write_gate_fallback"])
    columns["stale"] = bool(columns["stale"])
    return columns  # type: ignore[return-value]  # the columns are the keys of the TypedDict


def _values(document: Document, rowid: int) -> tuple[Any, ...]:
    lists = {"tags": json_text.dumps(document["tags"]), "history": json_text.dumps(document["history"])}
    values: dict[str, Any] = {**document, "rowid": rowid, **lists}
    return tuple(values[name] for name in NAMES)


def _index(db: apsw.Connection, rowid: int, document: Document, vector: bytes, *, signature: bool = True) -> None:
    text = f"{document['title']}\n{document['text']}" if document["title"] else document["text"]
    db.execute(
        "INSERT INTO lexicon (rowid, text, context, parts) VALUES (?, ?, ?, ?)",
        (rowid, text, document["context"], words.parts(text)),
    )
    if vector:
        db.execute("INSERT INTO vector (document, space, value) VALUES (?, ?, ?)", (rowid, STATIC_SPACE, vector))
    if vector and signature:
        statement = "INSERT INTO signature (rowid, collection, bits) VALUES (?, ?, vec_quantize_binary(vec_int8(?)))"
        _change_signatures(db, statement, (rowid, rowid >> COLLECTION_SHIFT, vector))


def _unindex(db: apsw.Connection, rowid: int) -> None:
    db.execute("DELETE FROM lexicon WHERE rowid = ?", (rowid,))
    db.execute("DELETE FROM vector WHERE document = ?", (rowid,))
    _change_signatures(db, "DELETE FROM signature WHERE rowid = ?", (rowid,))


def _change_signatures(db: apsw.Connection, statement: str, values: tuple[Any, ...]) -> None:
    """Change the table of vector signatures, if sqlite-vec is there; creates the table if it is missing.

    It is not part of a migration, because a machine without the extension still has the words.
    """
    if sqlite.has_vectors(db):
        try:
            db.execute(statement, values)
        except sqlite.apsw.SQLError:
            if has_signatures(db):
                raise
            db.execute(
                "\nCREATE VIRTUAL TABLE signature USING vec0 (collection INTEGER PARTITION KEY, bits BIT[256])\n"
            )
            db.execute("INSERT OR IGNORE INTO vector_space VALUES (?, 'minilm-256-v1', 256)", (STATIC_SPACE,))
            db.execute(statement, values)


# Segments: consecutive episodes of a session, indexed as a whole, so that words from several episodes find the session.
# The last segment grows. Triggers note the first episode that has changed in `segment_due`.


def renew_segments(db: apsw.Connection, session: str) -> bool:
    """Index the changes of a session, from the first episode that has changed; returns whether there were any."""
    segment_chars = 4_000  # a LoCoMo session has 2,400 characters, a day with an agent ten times that
    episode_chars = 1_000  # the rest of a long episode is seldom about those around it
    due = db.execute("SELECT first FROM segment_due WHERE session_id = ?", (session,)).fetchone()
    if due is None:
        return False
    unchanged = "SELECT first FROM segment WHERE session_id = ? AND first <= ? ORDER BY first DESC LIMIT 1"
    row = db.execute(unchanged, (session, due[0])).fetchone()
    first_episode, last_episode = row_range("episodes")
    start = row[0] if row else first_episode
    old = db.execute("SELECT rowid FROM segment WHERE session_id = ? AND first >= ?", (session, start)).fetchall()
    db.executemany("DELETE FROM segment_lexicon WHERE rowid = ?", old)
    db.execute("DELETE FROM segment WHERE session_id = ? AND first >= ?", (session, start))
    rows = db.execute(
        "SELECT rowid, substr(text, 1, ?) FROM document"
        " WHERE session_id = ? AND session_id <> '' AND rowid BETWEEN ? AND ? AND forgotten_at IS NULL ORDER BY rowid",
        (episode_chars, session, start, last_episode),
    )
    pieces: list[tuple[int, list[str]]] = []
    for rowid, episode in rows:
        if not pieces or sum(map(len, pieces[-1][1])) >= segment_chars:
            pieces.append((rowid, []))
        pieces[-1][1].append(episode)
    for first, episodes in pieces:
        text = "\n".join(episodes)
        db.execute("INSERT INTO segment (session_id, first) VALUES (?, ?)", (session, first))
        insert = "INSERT INTO segment_lexicon (rowid, text, parts) VALUES (?, ?, ?)"
        db.execute(insert, (db.last_insert_rowid(), text, words.parts(text)))
    db.execute("DELETE FROM segment_due WHERE session_id = ?", (session,))
    return True


def renew_due_segments(db: apsw.Connection) -> None:
    """Index the sessions that were not archived by this version, such as imported ones; opens transactions."""
    sessions_at_once = 8
    while True:
        with transaction(db):
            query = "SELECT session_id FROM segment_due ORDER BY first DESC LIMIT ?"
            rows = db.execute(query, (sessions_at_once,)).fetchall()
            for (session,) in rows:
                renew_segments(db, str(session))
        if len(rows) < sessions_at_once:
            return
