"""The names in the calls of archived sessions, and the places of names in files. Hot path.

A place is the line in which a call last showed a name in a file; a line that defines the name goes before others.
Functions that write belong inside the caller's transaction.
"""

from __future__ import annotations

from math import exp

from core import TYPE_CHECKING, json_text
from core.store.rows import fetch_dicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from core.records import Edit, Name, Place

FADING_CALLS = 40  # after so many further calls a use of a name weighs 1/e: best of 10 to 160 on 29 real sessions
LISTED = "(SELECT value FROM json_each(?))"


def faded(name: Name, total: int) -> float:
    """A name's weight now, after `total` calls of its session."""
    weight: float = name["weight"] * exp((name["last"] - total) / FADING_CALLS)
    return weight


def names(db: apsw.Connection, session: str, *, every: bool = False) -> list[Name]:
    """The identifiers and file names in the last 400 calls of a session, or in `every` call, in no order."""
    sql = (
        "SELECT name, first, last, calls, weight, place, written FROM name WHERE session_id = ?1 AND weight > 0"
        " AND (?2 OR last > (SELECT calls FROM session WHERE id = ?1) - ?3)"
    )
    return fetch_dicts(db, sql, (session, every, 400))


def known_names(db: apsw.Connection, session: str, among: Iterable[str]) -> dict[str, Name]:
    """Those of these names that a session already has."""
    sql = f"SELECT name, first, last, calls, weight, place, written FROM name WHERE session_id = ? AND name IN {LISTED}"
    found: list[Name] = fetch_dicts(db, sql, (session, json_text.dumps(list(among))))
    return {name["name"]: name for name in found}


def save_names(db: apsw.Connection, session: str, given: Iterable[Name]) -> None:
    """Insert or replace names."""
    db.executemany(
        "INSERT OR REPLACE INTO name (session_id, name, first, last, calls, weight, place, written)"
        " VALUES (:session, :name, :first, :last, :calls, :weight, :place, :written)",
        [{**name, "session": session} for name in given],
    )


def places(db: apsw.Connection, session: str, *, names: Sequence[str] = (), files: Sequence[str] = ()) -> list[Place]:
    """A session's places, only of these names or in these files if any are given, in no order."""
    where = "session_id = ?"
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


def edits(db: apsw.Connection, session: str, *, files: Sequence[str] = ()) -> list[Edit]:
    """A session's edits, oldest first, only in these files if any are given."""
    where = "session_id = ?"
    values = [session]
    if files:
        where += f" AND path IN {LISTED}"
        values.append(json_text.dumps(list(files)))
    sql = "SELECT number, path AS file, first, last, hunk FROM edit JOIN place_file ON place_file.id = file_id"
    return fetch_dicts(db, f"{sql} WHERE {where} ORDER BY number, hunk", values)


def sessions_with(
    db: apsw.Connection, names: Sequence[str], among: Sequence[str], most: int, *, defined: bool = False
) -> list[str]:
    """The first `most` of these sessions (ids) in which a name has a place; `defined`: a definition."""
    rows = db.execute(
        "WITH own AS MATERIALIZED (SELECT DISTINCT session_id FROM place JOIN place_file ON place_file.id = file_id"
        f" WHERE name IN {LISTED}{' AND defines' if defined else ''})"
        " SELECT value FROM json_each(?) WHERE value IN own LIMIT ?",
        (json_text.dumps(list(names)), json_text.dumps(list(among)), most),
    )
    return [str(session) for (session,) in rows]


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


def drop_places(db: apsw.Connection, session: str) -> None:
    """Delete all places and edits of a session."""
    for table in ("place", "edit"):
        db.execute(f"DELETE FROM {table} WHERE file_id IN (SELECT id FROM place_file WHERE session_id = ?)", (session,))
    db.execute("DELETE FROM place_file WHERE session_id = ?", (session,))


def drop_call_places(db: apsw.Connection, session: str, number: int) -> None:
    """Delete the places and edits of a call, and files without any others."""
    for table in ("place", "edit"):
        of_session = "file_id IN (SELECT id FROM place_file WHERE session_id = ?)"
        db.execute(f"DELETE FROM {table} WHERE number = ? AND {of_session}", (number, session))
    used = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE file_id = id)" for table in ("place", "edit"))
    db.execute(f"DELETE FROM place_file WHERE session_id = ? AND NOT ({used})", (session,))
