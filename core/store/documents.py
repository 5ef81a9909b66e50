"""Documents: the rows of memories, episodes and knowledge. Times in ms since the epoch. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, json_text, words
from core.store.rows import COLLECTION_SHIFT, NAME_OF, marks, row_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
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


def _from_row(row: Sequence[Any]) -> Document:
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
    return [_from_row(found[rowid]) for rowid in rowids if rowid in found]


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


def changed_since(db: apsw.Connection, identifiers: Sequence[str], since: int) -> set[str]:
    """Those of these documents that were written or changed_since since a time."""
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
    return _from_row(row) if row else None


def by_fingerprint(db: apsw.Connection, value: str, collection: str) -> Document | None:
    """The oldest document of the collection with the same normalised text that was neither forgotten nor superseded."""
    query = f"{SELECT} fingerprint = ? AND {LIVE} ORDER BY rowid LIMIT 1"
    row = db.execute(query, (value, *row_range(collection))).fetchone()
    return _from_row(row) if row else None


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
    if asked["category"]:
        narrow("category_id = ?", asked["category"])
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
    return found, by_rowids(db, [int(row) for (row,) in rows])


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
    return [_from_row(row) for row in db.execute(query, (since, *row_range(collection), limit))]


def every(db: apsw.Connection, *, forgotten: bool = False, collection: str = "") -> Iterator[Document]:
    """Every document in order of its row, forgotten ones only when asked for; of one collection, if one is named."""
    rows = row_range(collection) if collection else (0, 1 << 62)
    where = "" if forgotten else " AND forgotten_at IS NULL"
    for row in db.execute(f"{SELECT} rowid BETWEEN ? AND ?{where} ORDER BY rowid", rows):
        yield _from_row(row)


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


def beginnings(db: apsw.Connection, identifiers: Iterable[str], characters: int) -> dict[str, str]:
    """The beginnings of memories by id, without those that are gone or forgotten."""
    asked = "SELECT value FROM json_each(?)"
    query = f"SELECT id, substr(text, 1, ?) FROM document WHERE id IN ({asked}) AND forgotten_at IS NULL"
    return dict(db.execute(query, (characters, json_text.dumps(list(identifiers)))))
