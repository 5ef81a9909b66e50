"""Tool calls of archived sessions, found by the names and words that stand in them. Hot path."""

from __future__ import annotations

from math import log

from core.store import marks
from core.store.sessions.call_rows import COLUMNS, of_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.records import Filters, FoundCall

MOST, MOST_BY_WORDS, MOST_SCORED = 200, 50, 5_000
"""Calls that a search returns; and, for frequent words, how many of the newest get a BM25."""
SMALL = 64  # so few calls tell little of how rare a word is
_SHORTEST_PREFIX = 5
_FOUND = (
    f"SELECT {COLUMNS}, call.rowid, coalesce(project, ''), coalesce(client, ''), coalesce(folder, '')"
    " FROM call LEFT JOIN session ON session.id = session_id WHERE"
)


def holding_any(
    db: apsw.Connection, terms: Sequence[str], filters: Filters, *, beginning: bool = False
) -> list[FoundCall]:
    """Calls with one of the terms, the best by BM25 first; of `filters`, `session` and `projects` count."""
    marked = [_quoted(term) + ("*" if beginning and len(term) >= _SHORTEST_PREFIX else "") for term in terms]
    return _matching(db, " OR ".join(marked), filters)


def holding_all(db: apsw.Connection, terms: Sequence[str], filters: Filters) -> list[FoundCall]:
    """Calls with every one of the terms, the best by BM25 first."""
    return _matching(db, " AND ".join(map(_quoted, terms)), filters)


def best(db: apsw.Connection, terms: Sequence[str], filters: Filters) -> list[tuple[float, FoundCall]]:
    """The calls with any of the terms, with their BM25, best first: of many calls any of the rarest terms."""
    number = size(db)
    counted = "SELECT count(*) FROM (SELECT 1 FROM call_lexicon WHERE call_lexicon MATCH ? LIMIT ?)"
    chosen: dict[str, int] = {}
    for count, term in sorted((db.execute(counted, (_quoted(term), MOST_SCORED)).get, term) for term in terms):
        if count and (not chosen or sum(chosen.values()) + count <= MOST_SCORED):
            chosen[_quoted(term)] = count
    scores: dict[int, float] = {}
    found = _matching(db, " OR ".join(chosen), filters, scores, MOST_BY_WORDS) if chosen else []
    if number <= SMALL:  # FTS5's idf is 0 for a word that half of the few calls hold
        scores = dict.fromkeys(scores, 0.0)
        for term, count in chosen.items():
            for (row,) in db.execute("SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ?", (term,)):
                if row in scores:
                    scores[row] += log(1 + (max(number - count, 0) + 0.5) / (count + 0.5))
    return [(scores[call["rowid"]], call) for call in found]


def size(db: apsw.Connection) -> int:
    """Roughly how many calls there are."""
    return int(db.execute("SELECT max(rowid) FROM call").get or 0)


def one(db: apsw.Connection, session: str, number: int) -> FoundCall | None:
    """A call by its session and its number there."""
    row = db.execute(f"{_FOUND} session_id = ? AND number = ?", (session, number)).fetchone()
    return _found(row) if row else None


def worked_behind(db: apsw.Connection, call: FoundCall, most: int) -> list[tuple[int, str]]:
    """Number and command of the successful ones among the next calls of this one's session."""
    where = "session_id = ? AND number > ? AND number <= ? AND outcome = 'ok' AND command <> '' ORDER BY number"
    parameters = (call["session"], call["number"], call["number"] + most)
    return list(db.execute(f"SELECT number, command FROM call WHERE {where}", parameters))


def _matching(
    db: apsw.Connection, match: str, filters: Filters, scores: dict[int, float] | None = None, most: int = MOST
) -> list[FoundCall]:
    """The best of the matching calls, best first; `scores` gets the BM25 of each row."""
    session, projects, between = filters.get("session", ""), filters.get("projects", ()), filters.get("between", ())
    of_projects = f"session_id IN (SELECT id FROM session WHERE project IN ({marks(projects)}))"
    where = ""
    parameters: list[Any] = [match]
    given: Any
    narrowed = (("session_id = ?", session and [session]), (of_projects, projects), ("at BETWEEN ? AND ?", between))
    for asked, given in narrowed:
        if given:
            where += f" AND +rowid IN (SELECT rowid FROM call WHERE {asked})"
            parameters += given
    if not where:
        later = "SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        where = " AND rowid > ?"
        parameters.append(db.execute(later, (match, MOST_SCORED)).get or 0)
    ranked = f"SELECT rowid, -bm25(call_lexicon) FROM call_lexicon WHERE call_lexicon MATCH ?{where} ORDER BY 2 DESC"
    scored: dict[int, float] = dict(db.execute(f"{ranked} LIMIT {most}", tuple(parameters)))
    if scores is not None:
        scores.update(scored)
    place = {row: at for at, row in enumerate(scored)}
    rows = db.execute(f"{_FOUND} call.rowid IN ({marks(place)})", tuple(place))
    return sorted(map(_found, rows), key=lambda call: place[call["rowid"]])


def _found(row: Sequence[Any]) -> FoundCall:
    *call, rowid, project, client, folder = row
    return {**of_row(call), "rowid": rowid, "project": project, "client": client, "folder": folder}


def _quoted(term: str) -> str:
    return '"' + term.replace('"', " ").replace("\0", " ") + '"'
