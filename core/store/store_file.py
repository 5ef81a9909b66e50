"""The store as a whole: its contents in numbers, its file's size and health, free pages, deleted text, and copies."""

import os
from typing import Any

from core import clock, files
from core.errors import Failure, explained
from core.store import sqlite
from core.store.kinds import KINDS
from core.store.sqlite import COLLECTION_SHIFT, COLLECTIONS, NAME_OF, apsw, fetch_dicts, log_bytes, reported, row_range

VERDICTS = ("total", "allow", "hold", "discard", "forgotten")


def contents(db: apsw.Connection, *, now: int) -> dict[str, Any]:
    """Count everything, and list the newest events; `now` in ms. Raises Failure if the store cannot be read.

    `file`: bytes of the store, of its log and of its free pages, and its newest time.
    """
    newest = "SELECT timestamp AS ts, action, level, success FROM event ORDER BY timestamp DESC, seq DESC LIMIT 5"
    errors = "SELECT count(*) FROM event WHERE timestamp >= ? AND level IN ('error', 'fatal')"
    latest = "SELECT max(timestamp) AS at FROM event UNION ALL SELECT max(created_at) FROM document"
    with reported():
        size, free = sizes(db)
        spaces = dict(db.execute("SELECT name, (SELECT count(*) FROM vector WHERE space = code) FROM vector_space"))
        return {
            "schema": sqlite.schema_of(db),
            "counts": counts(db),
            "vectors": spaces,
            "file": {
                "size": size, "log": log_bytes(), "free": free,
                "newest": clock.iso(db.execute(f"SELECT max(at) FROM ({latest})").get or None),
            },
            "events": {
                "total": int(db.execute("SELECT count(*) FROM event").get),
                "errors24h": int(db.execute(errors, (now - clock.DAY_MS,)).get),
                "last": [
                    {**event, "ts": clock.iso(event["ts"]), "success": bool(event["success"])}
                    for event in fetch_dicts(db, newest, ())
                ],
            },
        }  # fmt: skip


def no_contents() -> dict[str, Any]:
    """`contents` of a store that is missing or cannot be read."""
    counted = {name: dict.fromkeys(VERDICTS, 0) for name in COLLECTIONS}
    return {"schema": 0, "counts": counted, "vectors": {}, "events": {"total": 0, "errors24h": 0, "last": []}}


def vector_extension() -> str | None:
    """The version of sqlite-vec, or None if it cannot be loaded."""
    db = sqlite.Connection(":memory:")
    try:
        return str(db.execute("SELECT vec_version()").get) if sqlite.has_vectors(db) else None
    finally:
        db.close()


def counts(db: apsw.Connection) -> dict[str, dict[str, int]]:
    """Per collection: the number of documents by verdict, and of forgotten ones that were not purged."""
    result = {name: dict.fromkeys(VERDICTS, 0) for name in COLLECTIONS}
    sql = "SELECT collection, forgotten, verdict, sum(documents) FROM tally GROUP BY 1, 2, 3"
    # the index of global documents finds the purged ones, which have no project
    purged = f"project = '' AND session_id = '' AND {KINDS['memories'].is_purged}"
    sql += f" UNION ALL SELECT rowid >> {COLLECTION_SHIFT}, 1, '', -count(*) FROM document WHERE {purged} GROUP BY 1"
    for code, forgotten, verdict, number in db.execute(sql):
        entry = result[NAME_OF[code]]
        for counted in ("forgotten",) if forgotten else ("total", verdict):
            entry[counted] = entry.get(counted, 0) + number
    return result


def span(db: apsw.Connection) -> dict[str, int | None]:
    """The `oldest` and `newest` time (ms) of documents that are not forgotten, and the number of merged texts."""
    times = "SELECT created_at FROM document WHERE forgotten_at IS NULL ORDER BY created_at"
    ends = [db.execute(f"{times} {order} LIMIT 1").get for order in ("ASC", "DESC")]
    merges = db.execute("SELECT coalesce(sum(merges), 0) FROM tally WHERE forgotten = 0").get
    return {"oldest": ends[0], "newest": ends[1], "merges": int(merges)}


def largest(db: apsw.Connection, group: str, most: int) -> dict[str, int]:
    """The largest groups by category, source or project, largest first; documents without a value do not count."""
    counted = f"SELECT {group}, sum(documents) AS number FROM tally WHERE forgotten = 0 AND {group} <> ''"
    return dict(db.execute(f"{counted} GROUP BY 1 HAVING number > 0 ORDER BY 2 DESC, 1 LIMIT ?", (most,)))


def verdicts_since(db: apsw.Connection, since: int) -> dict[str, int]:
    """How many memories were written since `since` (ms), by verdict."""
    where = "created_at >= ? AND forgotten_at IS NULL AND rowid BETWEEN ? AND ?"
    values = (since, *row_range("observations"))
    return dict(db.execute(f"SELECT write_verdict, count(*) FROM document WHERE {where} GROUP BY 1", values))


def newest(db: apsw.Connection, kind: str, most: int) -> list[str]:
    """The newest values of a kind: names of `projects`, `tags`, `categories` and `types` of knowledge, and `action`,
    `component` and `source` of events; ids of `sessions` and `memories`.
    """
    first, last = row_range("observations")
    knowledge = "rowid BETWEEN {} AND {} AND forgotten_at IS NULL".format(*row_range("knowledge"))
    memories = f"FROM document WHERE rowid BETWEEN {first} AND {last} AND forgotten_at IS NULL"
    sql = {
        "sessions": "SELECT id FROM session WHERE updated_at >= 0 ORDER BY updated_at DESC",
        "memories": f"SELECT id {memories} ORDER BY rowid DESC",
        "types": f"SELECT DISTINCT observation_type FROM document WHERE {knowledge} AND observation_type <> ''",
        "projects": "SELECT DISTINCT project FROM tally WHERE documents > 0 AND project <> ''",
        "categories": "SELECT DISTINCT substr(category, 4) FROM tally WHERE documents > 0 AND category LIKE 'jc:%'",
        **{
            name: f"SELECT DISTINCT {name} FROM (SELECT {name} FROM event ORDER BY seq DESC LIMIT 2000)"
            for name in ("action", "component", "source")
        },
        "tags": f"SELECT DISTINCT value FROM (SELECT tags {memories} ORDER BY rowid DESC LIMIT 1000), json_each(tags)",
    }
    return [str(value) for (value,) in db.execute(f"{sql[kind]} LIMIT ?", (most,))]


def last_used(db: apsw.Connection) -> int | None:
    """When a document was last marked as used (ms), None if never."""
    value: int | None = db.execute("SELECT max(last_used_at) FROM document").get
    return value


def faults() -> list[str]:
    """The first five faults that SQLite finds in the file; reads every page.

    FTS5 does not check what its pages say: that takes as long again, and after a write of another process it finds
    damage where there is none. A search that meets such damage reports it.
    """
    db = sqlite.open_reading()
    if db is None:
        return []
    sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    rows: list[str] = []
    with reported():
        for name in ["sqlite_schema", *(name for (name,) in db.execute(sql))]:  # with the first go the free pages
            rows += [str(row[0]) for row in db.execute(f'PRAGMA quick_check("{name}")') if row[0] != "ok"]
    return rows[:5]


def sizes(db: apsw.Connection) -> tuple[int, int]:
    """Bytes of the store, and of its free pages."""
    page = int(db.execute("PRAGMA page_size").get)
    return int(db.execute("PRAGMA page_count").get) * page, int(db.execute("PRAGMA freelist_count").get) * page


def is_owed(db: apsw.Connection) -> bool:
    """If a purge has deleted text that may still be in the file."""
    return bool(db.execute("SELECT count(*) FROM upkeep WHERE name = 'wipe'").get)


def wipe(db: apsw.Connection) -> None:
    """Remove deleted text from the indexes, the file and the log. Writers wait meanwhile, readers do not."""
    with reported():
        for name in ("lexicon", "call_lexicon", "segment_lexicon"):
            merge(db, name)
        db.execute("PRAGMA auto_vacuum = INCREMENTAL").fetchall()
        try:
            db.execute("VACUUM").fetchall()
            is_busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
        except (apsw.BusyError, apsw.LockedError):
            is_busy = True
        if is_busy:
            message = "everything was deleted, but another process has the store open, and its log may still hold text"
            raise Failure("PURGE_UNFINISHED", message, "stop that process, then run joelclaw store prune")
        with sqlite.transaction(db):
            db.execute("DELETE FROM upkeep WHERE name = 'wipe'")


def merge(db: apsw.Connection, name: str) -> None:
    """Merge all parts of a lexical index, without deleted text, in short transactions."""
    merged_pages = 1_000  # per transaction: some 30 ms
    pages = -merged_pages  # the sign begins a merge of all parts
    while True:
        with sqlite.transaction(db):
            before = db.total_changes()
            db.execute(f"INSERT INTO {name} ({name}, rank) VALUES ('merge', ?)", (pages,))
            changed = db.total_changes() - before
        if changed < 2:  # nothing is left to merge, see the FTS5 manual
            return
        pages = merged_pages


def copy(target: str) -> bool:
    """Copy a consistent snapshot of the store to a new file, without its log; False if there is no store."""
    source = sqlite.open_reading()
    if source is None:
        return False
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        source.execute("VACUUM INTO ?", (target,)).fetchall()
    except (apsw.FullError, apsw.IOError):
        files.remove(target, target + "-journal")
        raise explained("BACKUP_FULL", os.path.dirname(target)) from None
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    finally:
        source.close(True)
    return True


def examine(path: str) -> tuple[int, dict[str, int], int]:
    """Check every page of a store file that no process has open.

    Returns its schema, rows by table, and number of memories, without purged ones. Writes nothing. Raises Failure.
    """
    try:
        db = sqlite.open_unchanged(path)
        try:
            schema = sqlite.schema_of(db)
            if schema > sqlite.SCHEMA:
                raise sqlite.too_new("the backup", schema)
            first = str(db.execute("PRAGMA integrity_check(1)").get)
            if first != "ok":
                raise apsw.CorruptError(first[:200])
            names = {str(name) for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            if not schema or "document" not in names:
                raise explained("STORE_FOREIGN", path)
            counted = names & {"document", "event", "session", "call", "compaction", "transcript", "vector"}
            rows = {name: int(db.execute(f"SELECT count(*) FROM {name}").get) for name in sorted(counted)}
            memories = f"SELECT count(*) FROM document WHERE NOT ({KINDS['memories'].is_purged})"
            return schema, rows, int(db.execute(memories).get)
        finally:
            db.close()
    except apsw.Error as error:
        fix = "use another backup: this file is damaged"
        raise Failure("STORE_DAMAGED", f"{path} is damaged: {error}", fix) from None


def set_wal(path: str) -> None:
    """Put a restored file into WAL mode, which `VACUUM INTO` does not keep."""
    with reported():
        db = apsw.Connection(path)
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        db.close()
