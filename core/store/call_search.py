"""Finds tool calls of archived sessions by what stands in them: names, and words. Hot path."""

from __future__ import annotations

from core.store import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.store.calls import Call, Session

    class Found(Call):
        """A call, and what is known of its session."""

        rowid: int
        project: str
        client: str


MOST = 200
"""Calls that a search returns: enough that the newest of a common name are among them."""
_SHORTEST_PREFIX = 5


def exists(db: apsw.Connection) -> bool:
    """Whether the store holds calls: an old one that cannot be written is read as it is."""
    return bool(db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'call_lexicon'").get)


def holding_any(
    db: apsw.Connection,
    terms: Sequence[str],
    session: str = "",
    projects: Sequence[str] = (),
    *,
    beginning: bool = False,
) -> list[Found]:
    """Calls that hold one of the terms, the best by BM25 first.

    Args:
        session: only calls of this one, "" for all.
        projects: only calls of the sessions of one of these, none for all.
        terms: a term of several tokens is a phrase.
        beginning: also what only begins so, for terms of five characters and more.
    """
    marked = [_quoted(term) + ("*" if beginning and len(term) >= _SHORTEST_PREFIX else "") for term in terms]
    return _found(db, " OR ".join(marked), session, projects)


def holding_all(
    db: apsw.Connection, terms: Sequence[str], session: str = "", projects: Sequence[str] = ()
) -> list[Found]:
    """Calls that hold every one of the terms, the best by BM25 first."""
    return _found(db, " AND ".join(map(_quoted, terms)), session, projects)


def sessions_holding(db: apsw.Connection, terms: Sequence[str]) -> list[Session]:
    """The sessions of which a call holds one of the terms, the one that did something last first."""
    # `+rowid` reads an index of session and row from end to end: to look each row up among the passages takes ten times
    # as long where they are not in memory yet.
    rows = db.execute(
        "SELECT id FROM session WHERE id IN (SELECT session_id FROM call WHERE +rowid IN"
        " (SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ?)) ORDER BY updated_at DESC",
        (" OR ".join(map(_quoted, terms)),),
    )
    return [about for (identifier,) in rows if (about := calls.session(db, identifier)) is not None]


def one(db: apsw.Connection, session: str, number: int) -> Found | None:
    """A call by its session and its number there."""
    found = _rows(db, "c.session_id = ? AND c.number = ?", (session, number))
    return found[0] if found else None


def _found(db: apsw.Connection, match: str, session: str, projects: Sequence[str]) -> list[Found]:
    where, parameters = "", [match]
    if session:
        where, parameters = " AND +rowid IN (SELECT rowid FROM call WHERE session_id = ?)", [match, session]
    if projects:
        marks = ", ".join("?" * len(projects))
        where += (
            " AND +rowid IN (SELECT rowid FROM call WHERE session_id IN"
            f" (SELECT id FROM session WHERE project IN ({marks})))"
        )
        parameters += projects
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
