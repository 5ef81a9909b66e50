"""What the store tells of hooks: when each was last called, which failed, which were late."""

from __future__ import annotations

import os
from dataclasses import dataclass

from core.store import sqlite
from core.store.sqlite import apsw

_COMPONENT = "hook"


@dataclass(frozen=True)
class Called:
    """Calls of a client's hook for one event. Times in ms; `count`, `failed` and `late` since a time that was given."""

    agent: str
    event: str
    last: int
    count: int
    failed: int
    late: int
    error: str
    """The last error since then; "" without one."""


def every(db: apsw.Connection, since: int) -> list[Called]:
    """The calls of each client's hooks by event, as far as they are kept; none in a store of an older version.

    Args:
        since: ms since the epoch; from then on they are counted.

    Raises:
        Failure: STORE_DAMAGED and its like.
    """
    try:
        rows: list[tuple[str, str, int, int, int, int]] = db.execute(
            "SELECT client, event, max(at), sum(at >= ?), sum(at >= ? AND outcome IN ('failed', 'degraded')),"
            " sum(at >= ? AND outcome = 'late') FROM hook_call GROUP BY 1, 2 ORDER BY 1, 3 DESC",
            (since, since, since),
        ).fetchall()  # type: ignore[assignment]  # as its columns are
        errors = {
            (client, event): str(error)
            for client, event, error in db.execute(
                "SELECT client, event, error FROM hook_call WHERE outcome <> 'ok' AND at >= ? ORDER BY at, id", (since,)
            )
        }
    except apsw.Error as error:
        raise sqlite.as_failure(error) from None
    return [
        Called(client, event, last, count, failed, late, errors.get((client, event), ""))
        for client, event, last, count, failed, late in rows
    ]


def traces(home: str) -> list[tuple[str, str, bool]]:
    """What hooks left in the store of another home: action, error, and whether they handed out a text; oldest first.

    Empty where there is no store that can be read.
    """
    path = os.path.join(home, sqlite.FILE_NAME)
    if not os.path.exists(path):
        return []
    try:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            return [
                (str(action), str(error or ""), bool(injected))
                for action, error, injected in db.execute(
                    "SELECT action, error, json_array_length(metadata, '$.injected') FROM event WHERE component = ?"
                    " ORDER BY seq",
                    (_COMPONENT,),
                )
            ]
        finally:
            db.close()
    except apsw.Error:
        return []
