"""What the store holds, in numbers: for `joelclaw status`, `memory stats`, `report` and the scorecard."""

from __future__ import annotations

from core import TYPE_CHECKING, clock
from core.store import sqlite
from core.store.rows import COLLECTIONS, NAME_OF, fetch_dicts, row_range
from core.store.sqlite import apsw

if TYPE_CHECKING:
    from typing import Any

VERDICTS = ("total", "allow", "hold", "discard", "forgotten")


def read(db: apsw.Connection, *, now: int) -> dict[str, Any]:
    """Count everything, and list the newest events; `now` in ms. Raises Failure if a page cannot be read."""
    newest = "SELECT timestamp AS ts, action, level, success FROM event ORDER BY timestamp DESC, seq DESC LIMIT 5"
    errors = "SELECT count(*) FROM event WHERE timestamp >= ? AND level IN ('error', 'fatal')"
    # what the table `tally`, which triggers maintain, should hold; every page of documents is read
    documents = (
        "(SELECT rowid >> 40 AS collection, forgotten_at IS NOT NULL AS forgotten, write_verdict AS verdict,"
        " count(*) AS documents FROM document GROUP BY 1, 2, 3)"
    )
    with sqlite.reported():
        spaces = dict(db.execute("SELECT name, (SELECT count(*) FROM vector WHERE space = code) FROM vector_space"))
        last: list[dict[str, Any]] = fetch_dicts(db, newest, ())
        for event in last:
            event["ts"] = clock.iso(event["ts"])
            event["success"] = bool(event["success"])
        return {
            "schema": sqlite.schema_of(db),
            "counts": counts(db, documents),
            "vectors": spaces,
            "events": {
                "total": int(db.execute("SELECT count(*) FROM event").get),
                "errors24h": int(db.execute(errors, (now - clock.DAY_MS,)).get),
                "last": last,
            },
        }


def nothing() -> dict[str, Any]:
    """The counts when there is no readable store."""
    return {
        "schema": 0,
        "counts": {name: dict.fromkeys(VERDICTS, 0) for name in COLLECTIONS},
        "vectors": {},
        "events": {"total": 0, "errors24h": 0, "last": []},
    }


def vector_extension() -> str | None:
    """The version of sqlite-vec, or None if it cannot be loaded."""
    db = apsw.Connection(":memory:")
    try:
        return str(db.execute("SELECT vec_version()").get) if sqlite.load_vectors(db) else None
    finally:
        db.close()


def counts(db: apsw.Connection, tally: str = "tally") -> dict[str, dict[str, int]]:
    """Per collection: the number of documents by verdict, and of forgotten ones. `tally`: the table to count from."""
    result = {name: dict.fromkeys(VERDICTS, 0) for name in COLLECTIONS}
    rows = db.execute(f"SELECT collection, forgotten, verdict, sum(documents) FROM {tally} GROUP BY 1, 2, 3")
    for code, forgotten, verdict, number in rows:
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


def verdicts_since(db: apsw.Connection, collection: str, since: int) -> dict[str, int]:
    """How many documents of a collection were written since `since` (ms), by verdict."""
    where = "created_at >= ? AND forgotten_at IS NULL AND rowid BETWEEN ? AND ?"
    values = (since, *row_range(collection))
    return dict(db.execute(f"SELECT write_verdict, count(*) FROM document WHERE {where} GROUP BY 1", values))


def newest(db: apsw.Connection, kind: str, most: int) -> list[str]:
    """The newest names of `projects` or `tags`, or ids of `sessions` or `memories`."""
    first, last = row_range("observations")
    memories = f"FROM document WHERE rowid BETWEEN {first} AND {last} AND forgotten_at IS NULL"
    sql = {
        "sessions": "SELECT id FROM session ORDER BY updated_at DESC",
        "memories": f"SELECT id {memories} ORDER BY rowid DESC",
        "projects": "SELECT DISTINCT project FROM tally WHERE documents > 0 AND project <> ''",
        "tags": f"SELECT DISTINCT value FROM (SELECT tags {memories} ORDER BY rowid DESC LIMIT 1000), json_each(tags)",
    }
    return [str(value) for (value,) in db.execute(f"{sql[kind]} LIMIT ?", (most,))]


def last_used(db: apsw.Connection) -> int | None:
    """When a document was last marked as used (ms), None if never."""
    value: int | None = db.execute("SELECT max(last_used_at) FROM document").get
    return value


def session_events(db: apsw.Connection, session: str) -> list[dict[str, Any]]:
    """The events of a session above debug level, oldest first."""
    sql = (
        "SELECT id, timestamp AS at, level, component, action, duration_ms AS ms, coalesce(error, '') AS error,"
        " metadata FROM event WHERE session_id = ? AND level <> 'debug' ORDER BY timestamp, seq"
    )
    return fetch_dicts(db, sql, (session,), json_columns=["metadata"])
