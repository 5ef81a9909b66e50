"""Counts over the documents that were not forgotten: for `memory stats` and the scorecard."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from core.store.migrations import COLLECTION_SHIFT, COLLECTIONS

if TYPE_CHECKING:
    import apsw

GROUPS = ("category_id", "source", "project")


class Span(TypedDict):
    """The oldest and the newest time (ms since the epoch, None without a document), and how often texts were merged."""

    oldest: int | None
    newest: int | None
    merges: int


def span(db: apsw.Connection) -> Span:
    """Over all collections."""
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
    base = COLLECTIONS[collection] << COLLECTION_SHIFT
    rows = db.execute(
        "SELECT write_verdict, count(*) FROM document WHERE created_at >= ? AND forgotten_at IS NULL"
        " AND rowid BETWEEN ? AND ? GROUP BY 1",
        (since, base, base + (1 << COLLECTION_SHIFT) - 1),
    )
    return {str(verdict): int(number) for verdict, number in rows}


def last_used(db: apsw.Connection) -> int | None:
    """When a document was last marked as used (ms), None when none ever was."""
    value = db.execute("SELECT max(last_used_at) FROM document").get
    return None if value is None else int(value)
