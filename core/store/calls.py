"""Tool calls of archived sessions, the names in them, and the places of names in files. Times in ms. Hot path.

Calls are found by the words in them. A place is the line in which a call last showed a name in a file; a line that
defines the name goes before others. Functions that write belong inside the caller's transaction.
"""

from __future__ import annotations

from math import exp

from core import TYPE_CHECKING, json_text, words
from core.store.sqlite import LISTED, LIVE_CALL, SMALL_INDEX, fetch_dicts, marks, quoted, small_idf

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.records import Call, Edit, Filters, FoundCall, Name, Place

FORGOTTEN = "forgotten"  # the outcome of a call that was forgotten
RUNNING = "running"  # the outcome of a call whose process goes on in the background
EMPTIED = "tool = '', file = '', command = '', error = '', passage = '', outcome = ?"
MOST_SCORED = 5_000  # matches of a frequent word that get a BM25: the newest
ONLY_OF_CALL = {"name": "first = ?2 AND last = ?2"}  # by table, which rows of a session only the call ?2 has
OWN_COLUMNS = "session_id AS session, number, key, prompt, at, tool, file, command, outcome, error, passage, abandoned"
COLUMNS = f"{OWN_COLUMNS}, call.project"
_NAMES = "SELECT name, first, last, calls, weight, place, written FROM name"
WITH_SESSION = (
    f"SELECT {OWN_COLUMNS}, call.rowid, coalesce(nullif(call.project, ''), session.project, '') AS project,"
    " coalesce(client, '') AS client,"
    " coalesce(folder, '') AS folder FROM call LEFT JOIN session ON session.id = session_id"
)


def save(db: apsw.Connection, call: Call) -> None:
    """Insert or complete a call, and index it, inside the caller's transaction."""
    rowid = db.execute(
        "INSERT INTO call (session_id, number, key, prompt, at, tool, file, command, outcome, error, passage, project)"
        " VALUES (:session, :number, :key, :prompt, :at, :tool, :file, :command, :outcome, :error, :passage, :project)"
        " ON CONFLICT (session_id, key) DO UPDATE SET outcome = excluded.outcome, error = excluded.error,"
        " passage = excluded.passage RETURNING rowid",
        {"project": "", **call},
    ).get
    index(db, call, rowid)


def index(db: apsw.Connection, call: Call | dict[str, Any], rowid: int) -> None:
    """Make a call in this row searchable."""
    text = "\n".join((call["tool"], call["file"], call["command"], call["error"], call["passage"]))
    if "\\" in text:  # so that a search finds Name in a line of JSON with `\nName`, and also C:\new
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
    for table, condition in ONLY_OF_CALL.items():
        db.execute(f"DELETE FROM {table} WHERE session_id = ?1 AND {condition}", (session, number))
    drop_places(db, session, number)
    return True


def drop_copies(db: apsw.Connection, session: str, owner: str) -> None:
    """Delete a session's calls and compactions that it copied from another, with the names that only they have.

    Some clients give a copy another key, but never another time.
    """
    same = "at, tool, file, command"
    copies: list[tuple[Any, ...]] = db.execute(
        "SELECT number FROM call WHERE session_id = ?1 AND (key IN (SELECT key FROM call WHERE session_id = ?2)"
        f" OR ({same}) IN (SELECT {same} FROM call WHERE session_id = ?2))",
        (session, owner),
    ).fetchall()
    same = "at, summary"
    copied = f"session_id = ?1 AND ({same}) IN (SELECT {same} FROM compaction WHERE session_id = ?2)"
    db.execute(f"DELETE FROM compaction WHERE {copied}", (session, owner))
    for (number,) in copies:
        forget(db, session, number)
        db.execute("DELETE FROM call WHERE session_id = ? AND number = ?", (session, number))
    if copies:
        used = "SELECT 1 FROM call WHERE call.session_id = name.session_id AND number BETWEEN first AND last"
        db.execute(f"DELETE FROM name WHERE session_id = ? AND NOT EXISTS ({used})", (session,))
        # the same when the transcript is read again, which adds the copies behind the session's own calls
        last = "coalesce((SELECT max(number) FROM call WHERE session_id = ?1), ?2)"
        db.execute(f"UPDATE session SET calls = {last} WHERE id = ?1", (session, len(copies)))


def of_session(
    db: apsw.Connection, session: str, *, last: int = 1000, passages: bool = False, live: str = LIVE_CALL
) -> list[Call]:
    """The last calls of a session, oldest first, of those that `live` admits: a condition in SQL.

    Without `passages` those are "", and their pages are not read.
    """
    columns = COLUMNS if passages else COLUMNS.replace("passage", "'' AS passage")
    sql = f"SELECT {columns} FROM call WHERE session_id = ? AND {live} ORDER BY number DESC LIMIT ?"
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
    where = f"session_id = ? AND {LIVE_CALL} AND file <> '' AND lower(tool) LIKE 'read%'"
    where += " AND outcome NOT IN ('failed', 'forgotten')"
    rows = db.execute(f"SELECT file FROM call WHERE {where} GROUP BY file ORDER BY max(number) DESC", (session,))
    return [str(file) for (file,) in rows][:most]


def times(db: apsw.Connection, session: str) -> list[tuple[int, int, bool]]:
    """For each call of a session, in order: its time (ms, 0 if unknown), its prompt, whether it failed."""
    query = f"SELECT coalesce(at, 0), prompt, outcome = 'failed' FROM call WHERE session_id = ? AND {LIVE_CALL}"
    rows = db.execute(f"{query} ORDER BY number", (session,))
    return [(int(at), int(prompt), bool(failed)) for at, prompt, failed in rows]


def successful_after(db: apsw.Connection, call: FoundCall, most: int) -> list[tuple[int, str]]:
    """Number and command of the successful commands among the next `most` calls of the same session."""
    where = f"session_id = ? AND number > ? AND number <= ? AND outcome = 'ok' AND command <> '' AND {LIVE_CALL}"
    parameters = (call["session"], call["number"], call["number"] + most)
    return list(db.execute(f"SELECT number, command FROM call WHERE {where} ORDER BY number", parameters))


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
    matches = [quoted(term) + ("*" if beginning and len(term) >= 5 else "") for term in terms]
    return [call for _, call in _matching(db, " OR ".join(matches), filters)]


def holding_all(db: apsw.Connection, terms: Sequence[str], filters: Filters) -> list[FoundCall]:
    """Calls with all of the terms, best BM25 first."""
    return [call for _, call in _matching(db, " AND ".join(map(quoted, terms)), filters)]


def best(db: apsw.Connection, terms: Sequence[str], filters: Filters) -> list[tuple[float, FoundCall]]:
    """The 50 best calls with any of the terms, with their BM25, best first; of many calls, any of the rarest terms."""
    number = size(db)
    counted = "SELECT count(*) FROM (SELECT 1 FROM call_lexicon WHERE call_lexicon MATCH ? LIMIT ?)"
    rarest: dict[str, int] = {}
    for count, term in sorted((db.execute(counted, (quoted(term), MOST_SCORED)).get, term) for term in terms):
        if count and (not rarest or sum(rarest.values()) + count <= MOST_SCORED):
            rarest[quoted(term)] = count
    found = _matching(db, " OR ".join(rarest), filters, 50) if rarest else []
    if number <= SMALL_INDEX:
        scores = {call["rowid"]: 0.0 for _, call in found}
        for term, count in rarest.items():
            for (row,) in db.execute("SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ?", (term,)):
                if row in scores:
                    scores[row] += small_idf(count, number)
        return [(scores[call["rowid"]], call) for _, call in found]
    return found


def fading(calls_ago: int) -> float:
    """The rest of a weight of 1 after some calls: 1/e after 40, the best of 10 to 160 on 29 real sessions."""
    return exp(-calls_ago / 40)


def names(db: apsw.Connection, session: str, *, every: bool = False, live: str = LIVE_CALL) -> list[Name]:
    """The identifiers and file names in the last 400 calls of a session, or in `every` call, in no order."""
    sql = (
        f"{_NAMES} WHERE session_id = ?1 AND weight > 0"
        f" AND (?2 OR last > (SELECT calls FROM session WHERE id = ?1) - ?3) AND first NOT IN {_without(live)}"
    )
    return fetch_dicts(db, sql, (session, every, 400))


def known_names(db: apsw.Connection, session: str, among: Iterable[str]) -> dict[str, Name]:
    """Those of these names that a session already has."""
    sql = f"{_NAMES} WHERE session_id = ? AND name IN {LISTED}"
    found: list[Name] = fetch_dicts(db, sql, (session, json_text.dumps(list(among))))
    return {name["name"]: name for name in found}


def save_names(db: apsw.Connection, session: str, given: Iterable[Name]) -> None:
    """Insert or replace names."""
    db.executemany(
        "INSERT OR REPLACE INTO name (session_id, name, first, last, calls, weight, place, written)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(session, n["name"], n["first"], n["last"], n["calls"], n["weight"], n["place"], n["written"]) for n in given],
    )


def places(
    db: apsw.Connection, session: str, *, names: Sequence[str] = (), files: Sequence[str] = (), live: str = LIVE_CALL
) -> list[Place]:
    """A session's places, only of these names or in these files if any are given, in no order."""
    where = f"session_id = ?1 AND number NOT IN {_without(live)}"
    values = [session]
    for column, given in (("name", names), ("path", files)):
        if given:
            where += f" AND {column} IN {LISTED}"
            values.append(json_text.dumps(list(given)))
    sql = (
        "SELECT path AS file, name, line, number, shown, defines FROM place JOIN place_file ON place_file.id = file_id"
    )
    found: list[Place] = fetch_dicts(db, f"{sql} WHERE {where}", values)
    for place in found:
        place["defines"] = bool(place["defines"])
    return found


def paths(db: apsw.Connection, session: str) -> list[str]:
    """A session's files in which a name was shown or something edited, in no order."""
    return [str(path) for (path,) in db.execute("SELECT path FROM place_file WHERE session_id = ?", (session,))]


def edits(db: apsw.Connection, session: str, *, live: str = LIVE_CALL) -> list[Edit]:
    """A session's edits, oldest first."""
    sql = "SELECT number, path AS file, first, last, hunk FROM edit JOIN place_file ON place_file.id = file_id"
    where = f"session_id = ?1 AND number NOT IN {_without(live)}"
    return fetch_dicts(db, f"{sql} WHERE {where} ORDER BY number, hunk", (session,))


def first_with(db: apsw.Connection, names: Sequence[str], among: Sequence[str]) -> str | None:
    """The first of these sessions (ids) in which a name has a place."""
    rows = db.execute(
        "WITH own AS MATERIALIZED (SELECT DISTINCT session_id FROM place JOIN place_file ON place_file.id = file_id"
        f" WHERE name IN {LISTED} AND NOT EXISTS (SELECT 1 FROM call"
        f" WHERE call.session_id = place_file.session_id AND call.number = place.number AND NOT {LIVE_CALL}))"
        " SELECT value FROM json_each(?) WHERE value IN own LIMIT 1",
        (json_text.dumps(list(names)), json_text.dumps(list(among))),
    )
    return next((str(session) for (session,) in rows), None)


def sessions_in(db: apsw.Connection, files: Sequence[str], among: Sequence[str], most: int) -> list[str]:
    """The first `most` of these sessions (ids) with one of the folders or files, by the end of the path or its stem."""
    # the cheaper comparison first: there may be a hundred thousand paths
    matches = " OR ".join(["(instr(path, ?) AND instr('/' || path || char(10), ?))"] * len(files))
    ends = [part for file in files for part in (file, f"/{file}" if file.endswith(("/", ".")) else f"/{file}\n")]
    rows = db.execute(
        f"SELECT asked.value FROM (SELECT value FROM json_each(?)) AS asked WHERE EXISTS"
        f" (SELECT 1 FROM place_file WHERE session_id = asked.value AND ({matches})) LIMIT ?",
        (json_text.dumps(list(among)), *ends, most),
    )
    return [str(session) for (session,) in rows]


def save_places(db: apsw.Connection, session: str, given: Iterable[Place], edited: Iterable[Edit]) -> None:
    """Insert or replace places and edits."""
    known: dict[str, int] = {}

    def file_id(path: str) -> int:
        if path not in known:
            known[path] = db.execute(
                "INSERT INTO place_file (session_id, path) VALUES (?, ?)"
                " ON CONFLICT DO UPDATE SET path = excluded.path RETURNING id",
                (session, path),
            ).get
        return known[path]

    db.executemany(
        "INSERT OR REPLACE INTO place (file_id, name, line, number, shown, defines)"
        " VALUES (:id, :name, :line, :number, :shown, :defines)",
        [{**place, "id": file_id(place["file"])} for place in given],
    )
    db.executemany(
        "INSERT OR REPLACE INTO edit (file_id, number, hunk, first, last) VALUES (:id, :number, :hunk, :first, :last)",
        [{**edit, "id": file_id(edit["file"])} for edit in edited],
    )


def drop_places(db: apsw.Connection, session: str, number: int | None = None) -> None:
    """Delete the places and edits of a session, or only of one of its calls, and the files without any others."""
    of_session = "file_id IN (SELECT id FROM place_file WHERE session_id = ?1)"
    for table in ("place", "edit"):
        db.execute(f"DELETE FROM {table} WHERE {of_session} AND (?2 IS NULL OR number = ?2)", (session, number))
    used = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE file_id = id)" for table in ("place", "edit"))
    db.execute(f"DELETE FROM place_file WHERE session_id = ? AND NOT ({used})", (session,))


def _matching(db: apsw.Connection, match: str, filters: Filters, most: int = 200) -> list[tuple[float, FoundCall]]:
    """The best of the matching calls, each with its BM25, best first."""
    where = ""
    parameters: list[Any] = [match]
    conditions: list[tuple[str, Sequence[object]]] = []
    if session := filters.get("session"):
        conditions.append(("session_id = ?", [session]))
    if projects := filters.get("projects"):
        of_session = f"session_id IN (SELECT id FROM session WHERE project IN ({marks(projects)}))"
        of_projects = f"(project IN ({marks(projects)}) OR (project = '' AND {of_session}))"
        conditions.append((of_projects, [*projects, *projects]))
    if between := filters.get("between"):
        conditions.append(("at BETWEEN ? AND ?", between))
    for condition, values in conditions:
        where += f" AND +rowid IN (SELECT rowid FROM call WHERE {condition})"
        parameters += values
    if not where:
        newest = "SELECT rowid FROM call_lexicon WHERE call_lexicon MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        where = " AND rowid > ?"
        parameters.append(db.execute(newest, (match, MOST_SCORED)).get or 0)
    ranked = f"SELECT rowid, -bm25(call_lexicon) FROM call_lexicon WHERE call_lexicon MATCH ?{where} ORDER BY 2 DESC"
    scores: dict[int, float] = dict(db.execute(f"{ranked} LIMIT {most}", tuple(parameters)))
    found: list[FoundCall] = fetch_dicts(db, f"{WITH_SESSION} WHERE call.rowid IN ({marks(scores)})", tuple(scores))
    by_row = {call["rowid"]: call for call in found}
    return [(score, by_row[row]) for row, score in scores.items()]


def _without(live: str) -> str:
    """The numbers of the calls that a condition leaves out, of the session that is the first parameter."""
    return f"(SELECT number FROM call WHERE session_id = ?1 AND NOT {live})"
