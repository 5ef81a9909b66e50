"""What is in the store, in numbers: for `joelclaw status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from core import clock
from core.store import documents, events, sqlite
from core.store.light_apsw import apsw
from core.store.migrations import COLLECTIONS

if TYPE_CHECKING:
    from typing import Any


_VERDICTS = ("total", "allow", "hold", "discard", "forgotten")


class Overview(TypedDict):
    """Counts of everything that a store holds."""

    schema: int
    counts: dict[str, dict[str, int]]
    vectors: dict[str, int]
    events: dict[str, Any]


def read(db: apsw.Connection, *, now: int, last: int = 5) -> Overview:
    """Count everything; `now` in ms, `last` is how many of the newest events are listed.

    Raises:
        Failure: STORE_DAMAGED and its like, when a page cannot be read.
    """
    try:
        spaces = db.execute("SELECT name, (SELECT count(*) FROM vector WHERE space = code) FROM vector_space")
        return {
            "schema": int(db.execute("PRAGMA user_version").get),
            "counts": documents.counts(db),
            "vectors": dict(spaces),
            "events": _events(db, now - clock.DAY_MS, last),
        }
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None


def _events(db: apsw.Connection, since: int, last: int) -> dict[str, Any]:
    newest = db.execute(
        "SELECT timestamp, action, level, success FROM event ORDER BY timestamp DESC, seq DESC LIMIT ?", (last,)
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
