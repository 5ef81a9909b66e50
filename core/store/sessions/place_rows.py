"""Where names stand in the files of an archived session, and what it edited there. Hot path.

A row holds the line in which a call last showed a name in a file; a line that defines the name goes before others.
"""

from __future__ import annotations

from core import TYPE_CHECKING, json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.records import Edit, Place

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


def save(db: apsw.Connection, session: str, given: Iterable[Place], edited: Iterable[Edit]) -> None:
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


def drop(db: apsw.Connection, session: str) -> None:
    """Delete all places and edits of a session, inside the caller's transaction."""
    for table in ("place", "edit"):
        db.execute(f"DELETE FROM {table} WHERE file_id IN (SELECT id FROM place_file WHERE session_id = ?)", (session,))
    db.execute("DELETE FROM place_file WHERE session_id = ?", (session,))


def drop_call(db: apsw.Connection, session: str, number: int) -> None:
    """Delete what a call showed or edited last, and files left empty, inside the caller's transaction."""
    for table in ("place", "edit"):
        of_session = "file_id IN (SELECT id FROM place_file WHERE session_id = ?)"
        db.execute(f"DELETE FROM {table} WHERE number = ? AND {of_session}", (number, session))
    left = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE file_id = id)" for table in ("place", "edit"))
    db.execute(f"DELETE FROM place_file WHERE session_id = ? AND NOT ({left})", (session,))


def _place(row: Sequence[Any]) -> Place:
    file, name, line, number, shown, defines = row
    return {"file": file, "name": name, "line": line, "number": number, "shown": shown, "defines": bool(defines)}
