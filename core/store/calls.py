"""Tool calls of archived sessions: stored, listed, and found by the names and words in them. Hot path."""

from __future__ import annotations

from math import log

from core import TYPE_CHECKING, words
from core.store import places_and_names
from core.store.rows import marks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.records import Call, Filters, FoundCall

FORGOTTEN = "forgotten"  # the outcome of a call that was forgotten
COLUMNS = "session_id, number, key, prompt, at, tool, file, command, outcome, error, passage"
_NAMES = ("session", *COLUMNS.split(", ")[1:])


def of_session(db: apsw.Connection, session: str, *, last: int = 1000, passages: bool = False) -> list[Call]:
    """The last calls of a session, oldest first; without `passages` that is "" for each, and its pages are not read."""
    wanted = COLUMNS if passages else f"{COLUMNS[: -len('passage')]}''"
    rows = db.execute(f"SELECT {wanted} FROM call WHERE session_id = ? ORDER BY number DESC LIMIT ?", (session, last))
    return [_from_row(row) for row in rows][::-1]


def command_outcomes(db: apsw.Connection, session: str, *, last: int) -> list[tuple[int, str, str]]:
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
    return _from_row(row) if row else None


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


def _from_row(row: Sequence[Any]) -> Call:
    """The call of a row of COLUMNS."""
    return dict(zip(_NAMES, row, strict=True))  # type: ignore[return-value]  # the columns are its keys


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
    """Calls with by_number of the terms, the best by BM25 first; of `filters`, `session` and `projects` count."""
    marked = [_quoted(term) + ("*" if beginning and len(term) >= _SHORTEST_PREFIX else "") for term in terms]
    return _matching(db, " OR ".join(marked), filters)


def holding_all(db: apsw.Connection, terms: Sequence[str], filters: Filters) -> list[FoundCall]:
    """Calls with every by_number of the terms, the best by BM25 first."""
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


def by_number(db: apsw.Connection, session: str, number: int) -> FoundCall | None:
    """A call by its session and its number there."""
    row = db.execute(f"{_FOUND} session_id = ? AND number = ?", (session, number)).fetchone()
    return _found(row) if row else None


def successful_after(db: apsw.Connection, call: FoundCall, most: int) -> list[tuple[int, str]]:
    """Number and command of the successful ones among the next calls of this by_number's session."""
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
    return {**_from_row(call), "rowid": rowid, "project": project, "client": client, "folder": folder}


def _quoted(term: str) -> str:
    return '"' + term.replace('"', " ").replace("\0", " ") + '"'


def frequent_commands(db: apsw.Connection, most: int) -> list[str]:
    """The commands that worked most often, the first the oftenest."""
    ran = "SELECT command FROM call WHERE outcome = 'ok' AND command <> '' GROUP BY command ORDER BY count(*) DESC"
    return [command for (command,) in db.execute(f"{ran} LIMIT ?", (most,))]


def latest_commands(db: apsw.Connection, words: Sequence[str], most: int) -> list[tuple[str, int]]:
    """Session and number of the last calls that ran a command and have a word beginning like one of these."""
    holding = "SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ?"
    last = f"SELECT session_id, number FROM call WHERE rowid IN ({holding}) AND command <> '' ORDER BY at DESC LIMIT ?"
    return list(db.execute(last, (" OR ".join(f'"{word}"*' for word in words), most)))


def times(db: apsw.Connection, session: str) -> list[tuple[int, int, bool]]:
    """For each tool call of an archived session: its time (0 unknown), its prompt, whether it failed; in order."""
    query = "SELECT coalesce(at, 0), prompt, outcome = 'failed' FROM call WHERE session_id = ? ORDER BY number"
    return [(int(at), int(prompt), bool(failed)) for at, prompt, failed in db.execute(query, (session,))]


EMPTIED = "tool = '', file = '', command = '', error = '', passage = '', outcome = ?"


def forget(db: apsw.Connection, identifier: str, number: int) -> bool:
    """Delete a call's text and the names that only it has; False if it had none. Its number stays."""
    row = db.execute(
        f"UPDATE call SET {EMPTIED} WHERE session_id = ? AND number = ? AND outcome <> ? RETURNING rowid",
        (FORGOTTEN, identifier, number, FORGOTTEN),
    ).fetchone()
    if row is None:
        return False
    db.execute("DELETE FROM call_lexicon WHERE rowid = ?", row)
    db.execute("DELETE FROM name WHERE session_id = ? AND first = ? AND last = ?", (identifier, number, number))
    places_and_names.drop_call_places(db, identifier, number)
    return True
