"""Finds tool calls of archived sessions by what stands in them: names, and words. Hot path."""

from __future__ import annotations

from core import json_text
from core.store.sessions import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.records import Filters, Session
    from core.records import FoundCall as Found

MOST = 200
"""Calls that a search returns: enough that the newest of a common name are among them."""
MOST_SCORED = 5_000
"""Calls of all sessions that BM25 is computed of, a microsecond each: the newest, where a name stands in more."""
_SHORTEST_PREFIX = 5


def exists(db: apsw.Connection) -> bool:
    """Whether the store holds calls: an old one that cannot be written is read as it is."""
    return bool(db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'call_lexicon'").get)


def holding_any(db: apsw.Connection, terms: Sequence[str], filters: Filters, *, beginning: bool = False) -> list[Found]:
    """Calls that hold one of the terms, the best by BM25 first.

    Args:
        filters: `session` and `projects` count.
        terms: a term of several tokens is a phrase.
        beginning: also what only begins so, for terms of five characters and more.
    """
    marked = [_quoted(term) + ("*" if beginning and len(term) >= _SHORTEST_PREFIX else "") for term in terms]
    return _found(db, " OR ".join(marked), filters)


def holding_all(db: apsw.Connection, terms: Sequence[str], filters: Filters) -> list[Found]:
    """Calls that hold every one of the terms, the best by BM25 first."""
    return _found(db, " AND ".join(map(_quoted, terms)), filters)


def sessions_holding(db: apsw.Connection, terms: Sequence[str], among: Sequence[str], most: int) -> list[Session]:
    """The first `most` of these sessions, by id, of which a call holds one of the terms; in their order."""
    # `+rowid` reads an index of session and row: to look each row up among the passages takes ten times as long where
    # they are not in memory yet. It is read session by session, and no further than is asked for.
    rows = db.execute(
        "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM call WHERE session_id = value AND +rowid IN"
        " (SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ?)) LIMIT ?",
        (json_text.dumps(list(among)), " OR ".join(map(_quoted, terms)), most),
    )
    return [about for (identifier,) in rows if (about := calls.session(db, identifier)) is not None]


def one(db: apsw.Connection, session: str, number: int) -> Found | None:
    """A call by its session and its number there."""
    found = _rows(db, "c.session_id = ? AND c.number = ?", (session, number))
    return found[0] if found else None


def _found(db: apsw.Connection, match: str, filters: Filters) -> list[Found]:
    session, projects = filters.get("session", ""), filters.get("projects", ())
    where = ""
    parameters: list[str | int] = [match]
    if session:
        where, parameters = " AND +rowid IN (SELECT rowid FROM call WHERE session_id = ?)", [match, session]
    if projects:
        marks = ", ".join("?" * len(projects))
        where += (
            " AND +rowid IN (SELECT rowid FROM call WHERE session_id IN"
            f" (SELECT id FROM session WHERE project IN ({marks})))"
        )
        parameters += projects
    if not where:
        newest = db.execute(
            "SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
            (match, MOST_SCORED),
        ).get
        if newest is not None:
            where, parameters = " AND rowid > ?", [match, newest]
    found = db.execute(
        f"SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ?{where} ORDER BY bm25(call_lexicon) LIMIT {MOST}",
        tuple(parameters),
    )
    rowids = [int(row[0]) for row in found]
    place = {rowid: at for at, rowid in enumerate(rowids)}
    marks = ", ".join("?" * len(rowids))
    return sorted(_rows(db, f"c.rowid IN ({marks})", rowids), key=lambda call: place[call["rowid"]]) if rowids else []


def _rows(db: apsw.Connection, where: str, parameters: Sequence[str | int]) -> list[Found]:
    rows = db.execute(
        "SELECT c.session_id, number, key, prompt, at, tool, file, command, outcome, error, passage, c.rowid,"
        " coalesce(s.project, ''), coalesce(s.client, '') FROM call c LEFT JOIN session s ON s.id = c.session_id"
        f" WHERE {where}",
        tuple(parameters),
    )
    return [
        {
            "session": session, "number": number, "key": key, "prompt": prompt, "at": at, "tool": tool, "file": file,
            "command": command, "outcome": outcome, "error": error, "passage": passage, "rowid": rowid,
            "project": project, "client": client,
        }
        for session, number, key, prompt, at, tool, file, command, outcome, error, passage, rowid, project, client
        in rows
    ]  # fmt: skip


def _quoted(term: str) -> str:
    return '"' + term.replace('"', " ").replace("\0", " ") + '"'
