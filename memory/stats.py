"""How many memories there are, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from core import clock
from core.store import documents
from core.store.migrations import COLLECTIONS

if TYPE_CHECKING:
    import apsw

_MOST = 50


class Stats(TypedDict):
    """Counts of what was not forgotten; `forgotten` counts the rest. The largest 50 sources and projects are named."""

    total: int
    forgotten: int
    merged: int
    collections: dict[str, int]
    verdicts: dict[str, int]
    categories: dict[str, int]
    sources: dict[str, int]
    projects: dict[str, int]
    oldest: str | None
    newest: str | None


def stats(db: apsw.Connection | None) -> Stats:
    """Count the store; all is zero where there is none."""
    if db is None:
        return {
            "total": 0, "forgotten": 0, "merged": 0, "collections": dict.fromkeys(COLLECTIONS, 0), "verdicts": {},
            "categories": {}, "sources": {}, "projects": {}, "oldest": None, "newest": None,
        }  # fmt: skip
    counts = documents.counts(db)
    found = db.execute(
        "SELECT min(created_at), max(created_at), coalesce(sum(merged_count), 0) FROM document"
        " WHERE forgotten_at IS NULL"
    )
    oldest, newest, merges = next(iter(found))
    verdicts = ("allow", "hold", "discard")
    return {
        "total": sum(entry["total"] for entry in counts.values()),
        "forgotten": sum(entry["forgotten"] for entry in counts.values()),
        "merged": int(merges),
        "collections": {name: entry["total"] for name, entry in counts.items()},
        "verdicts": {name: sum(entry.get(name, 0) for entry in counts.values()) for name in verdicts},
        "categories": _by(db, "category_id"),
        "sources": _by(db, "source"),
        "projects": _by(db, "project"),
        "oldest": None if oldest is None else clock.iso(int(oldest)),
        "newest": None if newest is None else clock.iso(int(newest)),
    }


def _by(db: apsw.Connection, column: str) -> dict[str, int]:
    """The largest groups by one of our own column names, largest first; without a value they do not count."""
    rows = db.execute(
        f"SELECT {column}, count(*) FROM document WHERE forgotten_at IS NULL AND {column} <> ''"
        " GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?",
        (_MOST,),
    )
    return {str(name): int(number) for name, number in rows}
