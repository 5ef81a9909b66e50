"""How far events were exported to each OTLP destination, and how the last attempt went."""

from dataclasses import dataclass

import apsw

from core import json_text
from core.records import Event
from core.store import history


@dataclass(frozen=True)
class Cursor:
    """One destination: the fingerprint of a signal (`logs`, `traces`) and an endpoint. Times in ms since the epoch."""

    destination: str
    signal: str
    endpoint: str
    reached: int = 0
    """Number of the last event that need not be sent again, 0 at the start."""
    exported: int = 0
    rejected: int = 0
    totals: str = ""
    exported_at: int | None = None
    failures: int = 0
    """Failed attempts since the last success."""
    error: str = ""
    failed_at: int | None = None
    next_try_at: int = 0


_NAMES = tuple(Cursor.__dataclass_fields__)
_COLUMNS = ", ".join(_NAMES)


def read(db: apsw.Connection, destination: str) -> Cursor | None:
    """A destination's cursor; None if nothing was ever sent."""
    row = db.execute(f"SELECT {_COLUMNS} FROM export_cursor WHERE destination = ?", (destination,)).fetchone()
    return None if row is None else Cursor(*row)


def every(db: apsw.Connection) -> list[Cursor]:
    """All cursors, by signal and endpoint."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM export_cursor ORDER BY signal, endpoint")
    return [Cursor(*row) for row in rows]


def write(db: apsw.Connection, cursor: Cursor) -> None:
    """Store a cursor, inside the caller's transaction."""
    values = ", ".join(f":{name}" for name in _NAMES)
    db.execute(f"INSERT OR REPLACE INTO export_cursor ({_COLUMNS}) VALUES ({values})", vars(cursor))


def waiting(db: apsw.Connection, after: int) -> int:
    """How many events were stored after number `after`."""
    return int(db.execute("SELECT count(*) FROM event WHERE seq > ?", (after,)).get)


def batch(db: apsw.Connection, after: int, upto: int, most: int, most_bytes: int) -> tuple[list[Event], int]:
    """The next events after number `after`, at most `most` or about `most_bytes`, and the number of the last one."""
    kept: list[Event] = []
    size = 0
    for number, event in history.behind(db, after, upto=upto, most=most):
        size += 400 + len(event.get("error", "")) + len(json_text.dumps(event["metadata"]))
        if size > most_bytes and kept:
            break
        kept.append(event)
        after = number
    return kept, after
