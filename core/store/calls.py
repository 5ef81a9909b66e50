"""Tool calls of archived sessions: stored, listed, and found by the names and words in them. Hot path."""

from __future__ import annotations

from math import log

from core import TYPE_CHECKING, words
from core.store import places_and_names
from core.store.rows import fetch_dicts, marks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.records import Call, Filters, FoundCall

FORGOTTEN = "forgotten"  # the outcome of a call that was forgotten
EMPTIED = "tool = '', file = '', command = '', error = '', passage = '', outcome = ?"
SMALL = 64  # in so few calls FTS5's idf is 0 for a word that half of them have
MOST_SCORED = 5_000  # matches of a frequent word that get a BM25: the newest
COLUMNS = "session_id AS session, number, key, prompt, at, tool, file, command, outcome, error, passage"
WITH_SESSION = (
    f"SELECT {COLUMNS}, call.rowid, coalesce(project, '') AS project, coalesce(client, '') AS client,"
    " coalesce(folder, '') AS folder FROM call LEFT JOIN session ON session.id = session_id"
)


def save(db: apsw.Connection, call: Call) -> None:
    """Insert or complete a call, and index it, inside the caller's transaction."""
    rowid = db.execute(
        "INSERT INTO call (session_id, number, key, prompt, at, tool, file, command, outcome, error, passage) VALUES"
        " (:session, :number, :key, :prompt, :at, :tool, :file, :command, :outcome, :error, :passage)"
        " ON CONFLICT (session_id, key) DO UPDATE SET outcome = excluded.outcome, error = excluded.error,"
        " passage = excluded.passage RETURNING rowid",
        call,
    ).get
    text = "\n".join((call["tool"], call["file"], call["command"], call["error"], call["passage"]))
    if "\\" in text:  # so that `\nName` in a line of JSON is found as Name, and C:\new as it is
        text += "\n" + words.unescaped("\n".join([line for line in text.splitlines() if "\\" in line]))
    db.execute("INSERT OR REPLACE INTO call_lexicon (rowid, text) VALUES (?, ?)", (rowid, text))


def forget(db: apsw.Connection, session: str, number: int) -> bool:
    """Delete a call's text and the names that only it has; False if it had none. Its number stays."""
    row = db.execute(
        f"UPDATE call SET {EMPTIED} WHERE session_id = ? AND number = ? AND outcome <> ? RETURNING rowid",
        (FORGOTTEN, session, number, FORGOTTEN),
    ).fetchone()
    if row is None:
        return False
    db.execute("DELETE FROM call_lexicon WHERE rowid = ?", row)
    db.execute("DELETE FROM name WHERE session_id = ? AND first = ? AND last = ?", (session, number, number))
    places_and_names.drop_call_places(db, session, number)
    return True


def of_session(db: apsw.Connection, session: str, *, last: int = 1000, passages: bool = False) -> list[Call]:
    """The last calls of a session, oldest first. Without `passages` those are "", and their pages are not read."""
    columns = COLUMNS if passages else COLUMNS.replace("passage", "'' AS passage")
    sql = f"SELECT {columns} FROM call WHERE session_id = ? ORDER BY number DESC LIMIT ?"
    newest_first: list[Call] = fetch_dicts(db, sql, (session, last))
    return newest_first[::-1]


def by_key(db: apsw.Connection, session: str, key: str) -> Call | None:
    """The call with the key that its client gave it."""
    sql = f"SELECT {COLUMNS} FROM call WHERE session_id = ? AND key = ?"
    return next(iter(fetch_dicts(db, sql, (session, key))), None)


def by_number(db: apsw.Connection, session: str, number: int) -> FoundCall | None:
    """The call with this number in its session."""
    sql = f"{WITH_SESSION} WHERE session_id = ? AND number = ?"
    return next(iter(fetch_dicts(db, sql, (session, number))), None)


def files_read(db: apsw.Connection, session: str, most: int) -> list[str]:
    """The files that a session's tools read last, the newest first."""
    where = "session_id = ? AND file <> '' AND lower(tool) LIKE 'read%' AND outcome NOT IN ('failed', 'forgotten')"
    rows = db.execute(f"SELECT file FROM call WHERE {where} GROUP BY file ORDER BY max(number) DESC", (session,))
    return [str(file) for (file,) in rows][:most]


def times(db: apsw.Connection, session: str) -> list[tuple[int, int, bool]]:
    """For each call of a session, in order: its time (ms, 0 if unknown), its prompt, whether it failed."""
    query = "SELECT coalesce(at, 0), prompt, outcome = 'failed' FROM call WHERE session_id = ? ORDER BY number"
    return [(int(at), int(prompt), bool(failed)) for at, prompt, failed in db.execute(query, (session,))]


def successful_after(db: apsw.Connection, call: FoundCall, most: int) -> list[tuple[int, str]]:
    """Number and command of the successful commands among the next `most` calls of the same session."""
    where = "session_id = ? AND number > ? AND number <= ? AND outcome = 'ok' AND command <> '' ORDER BY number"
    parameters = (call["session"], call["number"], call["number"] + most)
    return list(db.execute(f"SELECT number, command FROM call WHERE {where}", parameters))


def latest_commands(db: apsw.Connection, prefixes: Sequence[str], most: int) -> list[tuple[str, int]]:
    """Session and number of the last commands with a word that begins like one of these."""
    matching = "SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ?"
    query = (
        f"SELECT session_id, number FROM call WHERE rowid IN ({matching}) AND command <> '' ORDER BY at DESC LIMIT ?"
    )
    return list(db.execute(query, (" OR ".join(f'"{prefix}"*' for prefix in prefixes), most)))


def size(db: apsw.Connection) -> int:
    """Roughly the number of calls."""
    return int(db.execute("SELECT max(rowid) FROM call").get or 0)


def holding_any(
    db: apsw.Connection, terms: Sequence[str], filters: Filters, *, beginning: bool = False
) -> list[FoundCall]:
    """Calls with one of the terms, best BM25 first.

    `filters`: `session`, `projects` and `between` count. `beginning`: terms of five characters match longer words.
    """
    matches = [_quoted(term) + ("*" if beginning and len(term) >= 5 else "") for term in terms]
    return _matching(db, " OR ".join(matches), filters)


def holding_all(db: apsw.Connection, terms: Sequence[str], filters: Filters) -> list[FoundCall]:
    """Calls with all of the terms, best BM25 first."""
    return _matching(db, " AND ".join(map(_quoted, terms)), filters)


def best(db: apsw.Connection, terms: Sequence[str], filters: Filters) -> list[tuple[float, FoundCall]]:
    """The 50 best calls with any of the terms, with their BM25, best first; of many calls, any of the rarest terms."""
    number = size(db)
    counted = "SELECT count(*) FROM (SELECT 1 FROM call_lexicon WHERE call_lexicon MATCH ? LIMIT ?)"
    rarest: dict[str, int] = {}
    for count, term in sorted((db.execute(counted, (_quoted(term), MOST_SCORED)).get, term) for term in terms):
        if count and (not rarest or sum(rarest.values()) + count <= MOST_SCORED):
            rarest[_quoted(term)] = count
    scores: dict[int, float] = {}
    found = _matching(db, " OR ".join(rarest), filters, scores, 50) if rarest else []
    if number <= SMALL:
        scores = dict.fromkeys(scores, 0.0)
        for term, count in rarest.items():
            for (row,) in db.execute("SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ?", (term,)):
                if row in scores:
                    scores[row] += log(1 + (max(number - count, 0) + 0.5) / (count + 0.5))
    return [(scores[call["rowid"]], call) for call in found]


def _matching(
    db: apsw.Connection,
    match: str,
    filters: Filters,
    scores: dict[int, float] | None = None,
    most: int = 200,
) -> list[FoundCall]:
    """The best of the matching calls, best first; `scores` receives the BM25 of each row."""
    where = ""
    parameters: list[Any] = [match]
    for condition, values in _conditions(filters):
        where += f" AND +rowid IN (SELECT rowid FROM call WHERE {condition})"
        parameters += values
    if not where:
        newest = "SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        where = " AND rowid > ?"
        parameters.append(db.execute(newest, (match, MOST_SCORED)).get or 0)
    ranked = f"SELECT rowid, -bm25(call_lexicon) FROM call_lexicon WHERE call_lexicon MATCH ?{where} ORDER BY 2 DESC"
    scored: dict[int, float] = dict(db.execute(f"{ranked} LIMIT {most}", tuple(parameters)))
    if scores is not None:
        scores.update(scored)
    rank = {row: number for number, row in enumerate(scored)}
    sql = f"{WITH_SESSION} WHERE call.rowid IN ({marks(rank)})"
    found: list[FoundCall] = fetch_dicts(db, sql, tuple(rank))
    return sorted(found, key=lambda call: rank[call["rowid"]])


def _conditions(filters: Filters) -> list[tuple[str, list[Any]]]:
    """SQL and parameters for the filters that apply to calls."""
    conditions: list[tuple[str, list[Any]]] = []
    if session := filters.get("session"):
        conditions.append(("session_id = ?", [session]))
    if projects := filters.get("projects"):
        of_projects = f"session_id IN (SELECT id FROM session WHERE project IN ({marks(projects)}))"
        conditions.append((of_projects, [*projects]))
    if between := filters.get("between"):
        conditions.append(("at BETWEEN ? AND ?", [*between]))
    return conditions


def _quoted(term: str) -> str:
    return '"' + term.replace('"', " ").replace("\0", " ") + '"'
