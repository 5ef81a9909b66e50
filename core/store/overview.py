"""What is in the store, in numbers: for `joelclaw status`, `memory stats` and the scorecard."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from core import clock
from core.store import documents, events, sqlite
from core.store.migrations import COLLECTIONS, row_range
from core.store.sqlite import apsw

if TYPE_CHECKING:
    from typing import Any


GROUPS = ("category_id", "source", "project")
_EVENTS_LISTED = 5
_VERDICTS = ("total", "allow", "hold", "discard", "forgotten")


class Overview(TypedDict):
    """Counts of everything that a store holds."""

    schema: int
    counts: dict[str, dict[str, int]]
    vectors: dict[str, int]
    events: dict[str, Any]


def read(db: apsw.Connection, *, now: int) -> Overview:
    """Count everything, and list the newest events; `now` in ms.

    Raises:
        Failure: STORE_DAMAGED and its like, when a page cannot be read.
    """
    try:
        spaces = db.execute("SELECT name, (SELECT count(*) FROM vector WHERE space = code) FROM vector_space")
        return {
            "schema": int(db.execute("PRAGMA user_version").get),
            "counts": documents.counts(db),
            "vectors": dict(spaces),
            "events": _events(db, now - clock.DAY_MS),
        }
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None


def _events(db: apsw.Connection, since: int) -> dict[str, Any]:
    newest = db.execute(
        "SELECT timestamp, action, level, success FROM event ORDER BY timestamp DESC, seq DESC LIMIT ?",
        (_EVENTS_LISTED,),
    )
    return {
        "total": events.count(db),
        "errors24h": int(
            db.execute("SELECT count(*) FROM event WHERE timestamp >= ? AND level IN ('error', 'fatal')", (since,)).get
        ),
        "last": [
            {"ts": clock.iso(at), "action": action, "level": level, "success": bool(success)}
            for at, action, level, success in newest
        ],
    }


def nothing() -> Overview:
    """The counts where there is no store, or none that can be read."""
    return {
        "schema": 0,
        "counts": {name: dict.fromkeys(_VERDICTS, 0) for name in COLLECTIONS},
        "vectors": {},
        "events": {"total": 0, "errors24h": 0, "last": []},
    }


def vector_extension() -> str | None:
    """The version of sqlite-vec, or None where it cannot be loaded."""
    db = apsw.Connection(":memory:")
    try:
        return str(db.execute("SELECT vec_version()").get) if sqlite.load_vectors(db) else None
    finally:
        db.close()


class Span(TypedDict):
    """The oldest and the newest time (ms since the epoch, None without a document), and how often texts were merged."""

    oldest: int | None
    newest: int | None
    merges: int


def span(db: apsw.Connection) -> Span:
    """Over all collections, without forgotten documents."""
    found = db.execute(
        "SELECT min(created_at), max(created_at), coalesce(sum(merged_count), 0) FROM document"
        " WHERE forgotten_at IS NULL"
    )
    oldest, newest, merges = next(iter(found))
    return {"oldest": oldest, "newest": newest, "merges": int(merges)}


def largest(db: apsw.Connection, column: str, most: int) -> dict[str, int]:
    """The largest groups by one of GROUPS, largest first; documents without a value do not count.

    Raises:
        ValueError: the column is none of GROUPS.
    """
    if column not in GROUPS:
        raise ValueError(column)
    rows = db.execute(
        f"SELECT {column}, count(*) FROM document WHERE forgotten_at IS NULL AND {column} <> ''"
        " GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?",
        (most,),
    )
    return {str(name): int(number) for name, number in rows}


def verdicts_since(db: apsw.Connection, collection: str, since: int) -> dict[str, int]:
    """How many documents of a collection were written since `since` (ms), by verdict."""
    rows = db.execute(
        "SELECT write_verdict, count(*) FROM document WHERE created_at >= ? AND forgotten_at IS NULL"
        " AND rowid BETWEEN ? AND ? GROUP BY 1",
        (since, *row_range(collection)),
    )
    return {str(verdict): int(number) for verdict, number in rows}


def last_used(db: apsw.Connection) -> int | None:
    """When a document was last marked as used (ms), None when none ever was."""
    value = db.execute("SELECT max(last_used_at) FROM document").get
    return None if value is None else int(value)
