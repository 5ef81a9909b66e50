"""Tool calls of archived sessions: stored and listed; `found_calls` finds them. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.store import marks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.records import Call

FORGOTTEN_CALL = "forgotten"  # the outcome of a call that was forgotten
COLUMNS = "session_id, number, key, prompt, at, tool, file, command, outcome, error, passage"
_NAMES = ("session", *COLUMNS.split(", ")[1:])


def calls(db: apsw.Connection, session: str, *, last: int = 1000, passages: bool = False) -> list[Call]:
    """The last calls of a session, oldest first; without `passages` that is "" for each, and its pages are not read."""
    wanted = COLUMNS if passages else f"{COLUMNS[: -len('passage')]}''"
    rows = db.execute(f"SELECT {wanted} FROM call WHERE session_id = ? ORDER BY number DESC LIMIT ?", (session, last))
    return [of_row(row) for row in rows][::-1]


def outcomes(db: apsw.Connection, session: str, *, last: int) -> list[tuple[int, str, str]]:
    """Number, command and outcome of those among the last calls of a session that are commands, oldest first. The
    outcome of one that ended well and printed an error is `printed`."""
    told = "CASE WHEN outcome = 'ok' AND error <> '' THEN 'printed' ELSE outcome END"
    among = f"SELECT number, command, {told} FROM call WHERE session_id = ? ORDER BY number DESC LIMIT ?"
    return db.execute(f"SELECT * FROM ({among}) WHERE command <> '' ORDER BY number", (session, last)).fetchall()  # type: ignore[return-value]  # columns that are not null


def files_read(db: apsw.Connection, session: str, most: int) -> list[str]:
    """The files that a session's tools read last, the newest first."""
    named = "session_id = ? AND file <> '' AND lower(tool) LIKE 'read%' AND outcome NOT IN ('failed', 'forgotten')"
    rows = db.execute(f"SELECT file FROM call WHERE {named} GROUP BY file ORDER BY max(number) DESC", (session,))
    return [str(file) for (file,) in rows][:most]


def by_key(db: apsw.Connection, session: str, key: str) -> Call | None:
    """The call with this key."""
    row = db.execute(f"SELECT {COLUMNS} FROM call WHERE session_id = ? AND key = ?", (session, key)).fetchone()
    return of_row(row) if row else None


def save(db: apsw.Connection, given: Call) -> None:
    """Insert or replace a call, and index it, inside the caller's transaction."""
    rowid = db.execute(
        f"INSERT INTO call ({COLUMNS}) VALUES ({marks(_NAMES)})"
        " ON CONFLICT (session_id, key) DO UPDATE SET outcome = excluded.outcome, error = excluded.error,"
        " passage = excluded.passage RETURNING rowid",
        tuple(given.values()),
    ).get
    text = "\n".join((given["tool"], given["file"], given["command"], given["error"], given["passage"]))
    if "\\" in text:  # `\nName` within a line of JSON is found as Name, and C:\new all the same
        text += "\n" + words.unescaped("\n".join([line for line in text.splitlines() if "\\" in line]))
    db.execute("INSERT OR REPLACE INTO call_lexicon (rowid, text) VALUES (?, ?)", (rowid, text))


def of_row(row: Sequence[Any]) -> Call:
    """The call of a row of COLUMNS."""
    return dict(zip(_NAMES, row, strict=True))  # type: ignore[return-value]  # the columns are its keys
