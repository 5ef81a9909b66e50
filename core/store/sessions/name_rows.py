"""The names in an archived session's tool calls, and its compactions."""

from __future__ import annotations

from math import exp

from core import TYPE_CHECKING, json_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    import apsw

    from core.records import Name

FADING_CALLS = 40
"""After this many further calls a use of a name weighs 1/e. Of 10 to 160, the best on half of 29 real sessions."""
INPUT_WEIGHT, OUTPUT_WEIGHT = 2.0, 1.0
"""An agent needs what it writes itself sooner than what it is shown."""
PURGED_SUMMARY = "[purged]"
"""Replaces a purged summary: reading the transcript again does not bring it back."""
SUMMARY_CHARS = 100_000
RECENT_CALLS = 400  # a name that was last used before so many weighs nothing any more
_COLUMNS = "name, first, last, calls, weight, place, written"
_NAMES = tuple(_COLUMNS.split(", "))


def faded(name: Name, total: int) -> float:
    """A name's weight now, after `total` calls of its session."""
    weight: float = name["weight"] * exp((name["last"] - total) / FADING_CALLS)
    return weight


def names(db: apsw.Connection, session: str, *, every: bool = False) -> list[Name]:
    """The identifiers and file names that the last 400 calls of a session used, or `every` one, in no order."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM name WHERE session_id = ?1 AND weight > 0"
        " AND (?2 OR last > (SELECT calls FROM session WHERE id = ?1) - ?3)",
        (session, every, RECENT_CALLS),
    )
    return [_name(row) for row in rows]


def known_names(db: apsw.Connection, session: str, among: Iterable[str]) -> dict[str, Name]:
    """Those of these names that a session already has."""
    asked = "SELECT value FROM json_each(?)"
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM name WHERE session_id = ? AND name IN ({asked})",
        (session, json_text.dumps(list(among))),
    )
    return {row[0]: _name(row) for row in rows}


def save_names(db: apsw.Connection, session: str, given: Iterable[Name]) -> None:
    """Insert or replace, inside the caller's transaction."""
    db.executemany(
        f"INSERT OR REPLACE INTO name (session_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(session, *one.values()) for one in given],
    )


def compactions(db: apsw.Connection, session: str) -> list[dict[str, Any]]:
    """The compactions of a session, oldest first."""
    # by time first: calls are numbered as they are stored, and a hook may store the newest before the others
    rows = db.execute("SELECT call, at, summary FROM compaction WHERE session_id = ? ORDER BY at, call", (session,))
    return [{"call": call, "at": at, "summary": summary} for call, at, summary in rows]


def save_compaction(db: apsw.Connection, session: str, call: int, at: int, summary: str) -> None:
    """Insert or complete a compaction, inside the caller's transaction; two with no call between them are one."""
    db.execute(
        "INSERT INTO compaction VALUES (?, ?, ?, ?) ON CONFLICT (session_id, call) DO UPDATE SET"
        " at = max(at, excluded.at), summary ="
        " CASE WHEN excluded.summary = '' OR summary = ? THEN summary ELSE excluded.summary END",
        (session, call, at, summary, PURGED_SUMMARY),
    )


def _name(row: tuple[Any, ...]) -> Name:
    return dict(zip(_NAMES, row, strict=True))  # type: ignore[return-value]  # the columns are its keys
