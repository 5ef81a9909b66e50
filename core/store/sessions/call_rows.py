"""Tool calls of archived sessions: kept, listed, and found by the names and words that stand in them. Hot path.

Written with the episodes, in the transaction that moves the transcript's offset: a call is never counted twice.
"""

from __future__ import annotations

from core import json_text, words
from core.store import marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.records import Call, Filters, FoundCall, Session

FORGOTTEN_CALL = "forgotten"  # the outcome of a call that was forgotten
MOST, MOST_SCORED = 200, 5_000
"""Calls that a search returns; and, where a name stands in more, the newest that BM25 is computed of (1 µs each)."""
_SHORTEST_PREFIX, _AT = 5, "at BETWEEN ? AND ?"
_COLUMNS = "session_id, number, key, prompt, at, tool, file, command, outcome, error, passage"
_NAMES = ("session", *_COLUMNS.split(", ")[1:])
_FOUND = (
    f"SELECT {_COLUMNS}, call.rowid, coalesce(project, ''), coalesce(client, ''), coalesce(folder, '')"
    " FROM call LEFT JOIN session ON session.id = session_id WHERE"
)


def calls(db: apsw.Connection, session: str, *, last: int = 1000) -> list[Call]:
    """The last calls of a session, oldest first."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM call WHERE session_id = ? ORDER BY number DESC LIMIT ?", (session, last))
    return [_call(row) for row in rows][::-1]


def by_key(db: apsw.Connection, session: str, key: str) -> Call | None:
    """The call with this key."""
    row = db.execute(f"SELECT {_COLUMNS} FROM call WHERE session_id = ? AND key = ?", (session, key)).fetchone()
    return _call(row) if row else None


def save(db: apsw.Connection, given: Call) -> None:
    """Insert a call, or write a changed one over it, and index it, inside the caller's transaction."""
    rowid = db.execute(
        f"INSERT INTO call ({_COLUMNS}) VALUES ({marks(_NAMES)})"
        " ON CONFLICT (session_id, key) DO UPDATE SET outcome = excluded.outcome, error = excluded.error,"
        " passage = excluded.passage RETURNING rowid",
        tuple(given.values()),
    ).get
    text = "\n".join((given["tool"], given["file"], given["command"], given["error"], given["passage"]))
    if "\\" in text:  # `\nName` within a line of JSON is found as Name, and C:\new all the same
        text += "\n" + words.unescaped("\n".join([line for line in text.splitlines() if "\\" in line]))
    db.execute("INSERT OR REPLACE INTO call_lexicon (rowid, text) VALUES (?, ?)", (rowid, text))


def holding_any(
    db: apsw.Connection, terms: Sequence[str], filters: Filters, *, beginning: bool = False
) -> list[FoundCall]:
    """Calls that hold one of the terms, the best by BM25 first; of `filters`, `session` and `projects` count.

    A term of several tokens is a phrase. `beginning`: also what only begins so, for terms of five characters and more.
    """
    marked = [_quoted(term) + ("*" if beginning and len(term) >= _SHORTEST_PREFIX else "") for term in terms]
    return _matching(db, " OR ".join(marked), filters)


def holding_all(db: apsw.Connection, terms: Sequence[str], filters: Filters) -> list[FoundCall]:
    """Calls that hold every one of the terms, the best by BM25 first."""
    return _matching(db, " AND ".join(map(_quoted, terms)), filters)


def sessions_holding(db: apsw.Connection, terms: Sequence[str], among: Sequence[str], most: int) -> list[Session]:
    """The first `most` of these sessions, by id, of which a call holds one of the terms; in their order."""
    from core.store.sessions import session_rows

    # `+rowid` reads an index of session and row: to look each row up among the passages takes ten times as long where
    # they are not in memory yet. It is read session by session, and no further than is asked for.
    rows = db.execute(
        "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM call WHERE session_id = value AND +rowid IN"
        " (SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ?)) LIMIT ?",
        (json_text.dumps(list(among)), " OR ".join(map(_quoted, terms)), most),
    )
    return [about for (identifier,) in rows if (about := session_rows.session(db, identifier)) is not None]


def one(db: apsw.Connection, session: str, number: int) -> FoundCall | None:
    """A call by its session and its number there."""
    row = db.execute(f"{_FOUND} session_id = ? AND number = ?", (session, number)).fetchone()
    return _found(row) if row else None


def _matching(db: apsw.Connection, match: str, filters: Filters) -> list[FoundCall]:
    session, projects, between = filters.get("session", ""), filters.get("projects", ()), filters.get("between", ())
    of_projects = f"session_id IN (SELECT id FROM session WHERE project IN ({marks(projects)}))"
    where = ""
    parameters: list[Any] = [match]
    given: Any
    for asked, given in (("session_id = ?", session and [session]), (of_projects, projects), (_AT, between)):
        if given:
            where += f" AND +rowid IN (SELECT rowid FROM call WHERE {asked})"
            parameters += given
    if not where:
        later = "SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        where = " AND rowid > ?"
        parameters.append(db.execute(later, (match, MOST_SCORED)).get or 0)
    best = f"SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ?{where} ORDER BY bm25(call_lexicon) LIMIT {MOST}"
    place = {int(row): at for at, (row,) in enumerate(db.execute(best, tuple(parameters)))}
    rows = db.execute(f"{_FOUND} call.rowid IN ({marks(place)})", tuple(place))
    return sorted(map(_found, rows), key=lambda call: place[call["rowid"]])


def _found(row: Sequence[Any]) -> FoundCall:
    *call, rowid, project, client, folder = row
    return {**_call(call), "rowid": rowid, "project": project, "client": client, "folder": folder}


def _call(row: Sequence[Any]) -> Call:
    return dict(zip(_NAMES, row, strict=True))  # type: ignore[return-value]  # the columns are its keys


def _quoted(term: str) -> str:
    return '"' + term.replace('"', " ").replace("\0", " ") + '"'
