"""How far events were exported to each OTLP destination, and how the last attempt went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.store import events

if TYPE_CHECKING:
    import apsw

    from core.records import Event, EventQuery

_ANY: EventQuery = {
    "words": (),
    "levels": (),
    "sources": (),
    "components": (),
    "session": "",
    "system": "",
    "success": None,
    "since": -(1 << 62),
}
_COLUMNS = (
    "destination, signal, endpoint, reached, exported, rejected, totals, exported_at, failures, error, failed_at,"
    " next_try_at"
)
_UPSERT = (
    f"INSERT INTO export_cursor ({_COLUMNS}) VALUES (:destination, :signal, :endpoint, :reached, :exported, :rejected,"
    " :totals, :exported_at, :failures, :error, :failed_at, :next_try_at) ON CONFLICT (destination) DO UPDATE SET"
    " reached = excluded.reached, exported = excluded.exported, rejected = excluded.rejected, totals = excluded.totals,"
    " exported_at = excluded.exported_at, failures = excluded.failures, error = excluded.error,"
    " failed_at = excluded.failed_at, next_try_at = excluded.next_try_at"
)


@dataclass(frozen=True)
class Cursor:
    """One destination: a signal (`logs`, `traces`, `metrics`) and an endpoint.

    Args:
        destination: fingerprint of both.
        endpoint: for people.
        reached: number of the last event that needs not be sent again, 0 at the start.
        exported, rejected: log records, spans, or events that the metrics count, since the first export.
        totals: of an earlier version, which sent metrics; kept as it is.
        exported_at, failed_at, next_try_at: ms since the epoch.
        failures: attempts that failed since the last one that did not.
    """

    destination: str
    signal: str
    endpoint: str
    reached: int = 0
    exported: int = 0
    rejected: int = 0
    totals: str = ""
    exported_at: int | None = None
    failures: int = 0
    error: str = ""
    failed_at: int | None = None
    next_try_at: int = 0


def read(db: apsw.Connection, destination: str) -> Cursor | None:
    """The cursor of a destination; None where nothing was ever sent."""
    row = db.execute(f"SELECT {_COLUMNS} FROM export_cursor WHERE destination = ?", (destination,)).fetchone()
    return None if row is None else _from_row(row)


def every(db: apsw.Connection) -> list[Cursor]:
    """All cursors, by signal and endpoint."""
    return [_from_row(row) for row in db.execute(f"SELECT {_COLUMNS} FROM export_cursor ORDER BY signal, endpoint")]


def write(db: apsw.Connection, cursor: Cursor) -> None:
    """Store a cursor, inside the caller's transaction."""
    db.execute(_UPSERT, vars(cursor))


def waiting(db: apsw.Connection, after: int) -> int:
    """How many events were stored after number `after`."""
    return int(db.execute("SELECT count(*) FROM event WHERE seq > ?", (after,)).get)


def batch(db: apsw.Connection, after: int, upto: int, most: int, most_bytes: int) -> tuple[list[Event], int]:
    """The next events after number `after` in the order they were stored, and the number of the last of them.

    Args:
        upto: the last number to look at.
        most: events.
        most_bytes: about how much text they may hold; one event is returned however large it is.
    """
    row = db.execute("SELECT min(seq) FROM event WHERE seq > ? AND seq <= ?", (after, upto)).fetchone()
    if row is None or row[0] is None:
        return [], after
    first = int(row[0])
    last = min(upto, first + most - 1)
    found = events.between(db, _ANY, first - 1, last)
    size = 0
    for number, event in enumerate(found):
        size += 400 + len(event.get("error", "")) + _text_size(event["metadata"])
        if size > most_bytes and number:
            kept = found[:number]
            reached = int(db.execute("SELECT seq FROM event WHERE id = ?", (kept[-1]["id"],)).get)
            return kept, reached
    return found, last


def _text_size(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(key) + 8 + _text_size(item) for key, item in value.items())
    if isinstance(value, list):
        return sum(8 + _text_size(item) for item in value)
    return 8


def _from_row(row: tuple[Any, ...]) -> Cursor:
    return Cursor(*row)
