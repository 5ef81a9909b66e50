"""How many memories there are, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from core import clock
from core.store import documents, overview
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
    span = overview.span(db)
    verdicts = ("allow", "hold", "discard")
    return {
        "total": sum(entry["total"] for entry in counts.values()),
        "forgotten": sum(entry["forgotten"] for entry in counts.values()),
        "merged": span["merges"],
        "collections": {name: entry["total"] for name, entry in counts.items()},
        "verdicts": {name: sum(entry.get(name, 0) for entry in counts.values()) for name in verdicts},
        "categories": overview.largest(db, "category_id", _MOST),
        "sources": overview.largest(db, "source", _MOST),
        "projects": overview.largest(db, "project", _MOST),
        "oldest": None if span["oldest"] is None else clock.iso(span["oldest"]),
        "newest": None if span["newest"] is None else clock.iso(span["newest"]),
    }
