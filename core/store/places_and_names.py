"""The names in the calls of archived sessions, and the places of names in files. Hot path."""

from __future__ import annotations

from math import exp

from core import TYPE_CHECKING, json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.records import Edit, Name, Place

FADING_CALLS = 40
"""After this many further calls a use of a name weighs 1/e. Of 10 to 160, the best on half of 29 real sessions."""
INPUT_WEIGHT, OUTPUT_WEIGHT = 2.0, 1.0
"""An agent needs what it writes itself sooner than what it is shown."""
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


def _name(row: tuple[Any, ...]) -> Name:
    return dict(zip(_NAMES, row, strict=True))  # type: ignore[return-value]  # the columns are its keys


_PLACES = "SELECT path, name, line, number, shown, defines FROM place JOIN place_file ON place_file.id = file_id"
_LISTED = "(SELECT value FROM json_each(?))"


def places(db: apsw.Connection, session: str, *, names: Sequence[str] = (), files: Sequence[str] = ()) -> list[Place]:
    """A session's places, only of these names or in these files if any are given, in no order."""
    where, values = "session_id = ?", [session]
    for column, given in (("name", names), ("path", files)):
        if given:
            where += f" AND {column} IN {_LISTED}"
            values.append(json_text.dumps(list(given)))
    return [_place(row) for row in db.execute(f"{_PLACES} WHERE {where}", values)]


def paths(db: apsw.Connection, session: str) -> list[str]:
    """A session's files in which a name was shown or something edited, in no order."""
    return [str(path) for (path,) in db.execute("SELECT path FROM place_file WHERE session_id = ?", (session,))]


def edits(db: apsw.Connection, session: str, *, files: Sequence[str] = ()) -> list[Edit]:
    """A session's edits, oldest first, only in these files if any are given."""
    where, values = "session_id = ?", [session]
    if files:
        where += f" AND path IN {_LISTED}"
        values.append(json_text.dumps(list(files)))
    rows = db.execute(
        "SELECT number, path, first, last, hunk FROM edit JOIN place_file ON place_file.id = file_id"
        f" WHERE {where} ORDER BY number, hunk",
        values,
    )
    return [{"number": row[0], "file": row[1], "first": row[2], "last": row[3], "hunk": row[4]} for row in rows]


def sessions_with(
    db: apsw.Connection, names: Sequence[str], among: Sequence[str], most: int, *, defined: bool = False
) -> list[str]:
    """The first `most` of these sessions, by id, where one of the names has a place; `defined`: a definition."""
    rows = db.execute(
        "WITH own AS MATERIALIZED (SELECT DISTINCT session_id FROM place JOIN place_file ON place_file.id = file_id"
        f" WHERE name IN {_LISTED}{' AND defines' * defined})"
        " SELECT value FROM json_each(?) WHERE value IN own LIMIT ?",
        (json_text.dumps(list(names)), json_text.dumps(list(among)), most),
    )
    return [str(session) for (session,) in rows]


def sessions_in(db: apsw.Connection, files: Sequence[str], among: Sequence[str], most: int) -> list[str]:
    """The first `most` of these sessions, by id, that have one of the folders or files (by the end of the path or its
    stem)."""
    # what is cheap to look at goes first: there may be a hundred thousand paths
    one = "(instr(path, ?) AND instr('/' || path || char(10), ?))"
    found = " OR ".join([one] * len(files))
    ends = [part for file in files for part in (file, f"/{file}" if file.endswith(("/", ".")) else f"/{file}\n")]
    rows = db.execute(
        f"SELECT asked.value FROM (SELECT value FROM json_each(?)) AS asked WHERE EXISTS"
        f" (SELECT 1 FROM place_file WHERE session_id = asked.value AND ({found})) LIMIT ?",
        (json_text.dumps(list(among)), *ends, most),
    )
    return [str(session) for (session,) in rows]


def save_places(db: apsw.Connection, session: str, given: Iterable[Place], edited: Iterable[Edit]) -> None:
    """Insert or replace places and edits, inside the caller's transaction."""
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
        "INSERT OR REPLACE INTO place (file_id, name, line, number, shown, defines) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (file_id(one["file"]), one["name"], one["line"], one["number"], one["shown"], one["defines"])
            for one in given
        ],
    )
    db.executemany(
        "INSERT OR REPLACE INTO edit (file_id, number, hunk, first, last) VALUES (?, ?, ?, ?, ?)",
        [(file_id(one["file"]), one["number"], one["hunk"], one["first"], one["last"]) for one in edited],
    )


def drop_places(db: apsw.Connection, session: str) -> None:
    """Delete all places and edits of a session, inside the caller's transaction."""
    for table in ("place", "edit"):
        db.execute(f"DELETE FROM {table} WHERE file_id IN (SELECT id FROM place_file WHERE session_id = ?)", (session,))
    db.execute("DELETE FROM place_file WHERE session_id = ?", (session,))


def drop_call_places(db: apsw.Connection, session: str, number: int) -> None:
    """Delete what a call showed or edited last, and files left empty, inside the caller's transaction."""
    for table in ("place", "edit"):
        of_session = "file_id IN (SELECT id FROM place_file WHERE session_id = ?)"
        db.execute(f"DELETE FROM {table} WHERE number = ? AND {of_session}", (number, session))
    left = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE file_id = id)" for table in ("place", "edit"))
    db.execute(f"DELETE FROM place_file WHERE session_id = ? AND NOT ({left})", (session,))


def _place(row: Sequence[Any]) -> Place:
    file, name, line, number, shown, defines = row
    return {"file": file, "name": name, "line": line, "number": number, "shown": shown, "defines": bool(defines)}
