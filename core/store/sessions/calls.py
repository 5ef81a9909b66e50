"""What archived sessions did: their tool calls, the names in them, plans and compactions. Hot path.

Written with the episodes, in the transaction that moves the transcript's offset: a call is never counted twice.
"""

from __future__ import annotations

from core import json_text, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.records import Call, Compaction, Name, Session

FADING_CALLS = 40
"""After so many further calls a use of a name weighs 1/e. Of 10 to 160, the best on half of 29 real sessions."""
INPUT_WEIGHT, OUTPUT_WEIGHT = 2.0, 1.0
"""What the agent writes itself it needs again sooner than what it is shown."""
FORGOTTEN_CALL = "forgotten"
"""The outcome of a call that was forgotten."""
PURGED_SUMMARY = "[purged]"
"""In place of a summary that was purged: a transcript that is read again does not bring it back."""
PURGED_PLAN = '[["purged"]]'
"""Likewise of a plan; who reads it finds none."""
SUMMARY_CHARS = 100_000
RECENT_CALLS = 400
"""A name that was last used before so many weighs nothing any more."""
_SESSION = "id, client, project, folder, updated_at, prompts, calls, plan"
_CALL = "session_id, number, key, prompt, at, tool, file, command, outcome, error, passage"
_NAME = "name, first, last, calls, weight, place, "
_MOST_PARAMETERS = 500
FORGOTTEN = -1
"""In the place of a time: the session stays known, so that its transcript is not taken in once more."""


def session(db: apsw.Connection, identifier: str) -> Session | None:
    """What is known of a session."""
    row = db.execute(
        f"SELECT {_SESSION} FROM session WHERE id = ? AND updated_at <> ?", (identifier, FORGOTTEN)
    ).fetchone()
    return _session(row) if row else None


def is_forgotten(db: apsw.Connection, identifier: str) -> bool:
    """Whether nothing is to be kept of what a session does."""
    return bool(db.execute("SELECT 1 FROM session WHERE id = ? AND updated_at = ?", (identifier, FORGOTTEN)).fetchone())


def forgotten_beginning(db: apsw.Connection, start: str) -> str:
    """The first id of a forgotten session that begins so, "" for none."""
    row = db.execute(
        "SELECT id FROM session WHERE id >= ? AND id < ? AND updated_at = ? ORDER BY id LIMIT 1",
        (start, start + "\U0010ffff", FORGOTTEN),
    ).fetchone()
    return str(row[0]) if row else ""


def totals(db: apsw.Connection) -> tuple[int, int]:
    """How many sessions and tool calls are kept."""
    kept = db.execute("SELECT count(*) FROM session WHERE updated_at <> ?", (FORGOTTEN,)).get
    return int(kept), int(db.execute("SELECT count(*) FROM call").get)


def sessions_of_project(
    db: apsw.Connection, projects: Sequence[str], most: int, *, talks_in: str | None = None
) -> list[Session]:
    """The sessions with tool calls of a project under any of its names, the one that did something last first.

    Args:
        talks_in: those without tool calls instead, in this folder.
    """
    marks = ", ".join("?" * len(projects))
    kind, folder = ("calls > 0", ()) if talks_in is None else ("calls = 0 AND folder = ?", (talks_in,))
    rows = db.execute(
        f"SELECT {_SESSION} FROM session WHERE project IN ({marks}) AND updated_at <> ? AND {kind}"
        " ORDER BY updated_at DESC LIMIT ?",
        (*projects, FORGOTTEN, *folder, most),
    )
    return [_session(row) for row in rows]


def sessions_below(db: apsw.Connection, folders: Iterable[str]) -> list[str]:
    """The ids of sessions whose repository is, or lies below, one of the folders, the last one first."""
    found: dict[str, None] = {}
    for folder in folders:
        inside = folder.rstrip("/") + "/"
        rows = db.execute(
            "SELECT id FROM session WHERE (folder = ? OR (folder >= ? AND folder < ?)) AND updated_at <> ?"
            " ORDER BY updated_at DESC",
            (folder, inside, inside[:-1] + "0", FORGOTTEN),
        )
        found |= dict.fromkeys(str(identifier) for (identifier,) in rows)
    return list(found)


def prompts(db: apsw.Connection, identifier: str, last: int) -> list[str]:
    """The last prompts of the user in a session, as far as they are archived, oldest first."""
    rows = db.execute(
        "SELECT substr(text, 7) FROM document WHERE session_id = ? AND session_id <> ''"
        " AND observation_type = 'episode' AND text LIKE 'user: %' AND forgotten_at IS NULL"
        " ORDER BY rowid DESC LIMIT ?",
        (identifier, last),
    )
    return [str(text) for (text,) in rows][::-1]


def last_answer(db: apsw.Connection, identifier: str) -> str:
    """What the agent said last in a session, as far as it is archived; "" where the user had the last word."""
    text = db.execute(
        "SELECT text FROM document WHERE session_id = ? AND session_id <> '' AND observation_type = 'episode'"
        " AND forgotten_at IS NULL ORDER BY rowid DESC LIMIT 1",
        (identifier,),
    ).get
    return str(text or "").removeprefix("assistant: ") if str(text).startswith("assistant: ") else ""


def projects(db: apsw.Connection) -> list[str]:
    """The names of projects that archived sessions worked on."""
    return [str(name) for (name,) in db.execute("SELECT DISTINCT project FROM session WHERE project <> ''")]


def has_others(db: apsw.Connection, projects: Sequence[str]) -> bool:
    """Whether a session belongs to another project than these, or to none."""
    marks = ", ".join("?" * len(projects))
    return bool(db.execute(f"SELECT EXISTS (SELECT 1 FROM session WHERE project NOT IN ({marks}))", (*projects,)).get)


def latest_first(db: apsw.Connection) -> list[tuple[str, str]]:
    """Id and project of every session, the one that did something last first; from an index alone."""
    rows = db.execute("SELECT id, project FROM session ORDER BY updated_at DESC")
    return [(identifier, project) for identifier, project in rows]


def last_compacted(db: apsw.Connection, projects: Sequence[str] | None = None) -> Session | None:
    """The session that was compacted last; of these projects, or of all.

    A compaction whose time the client does not tell counts by when its session did something last.
    """
    known, given = "", tuple(projects or ())
    if projects is not None:
        known = f" AND project IN ({', '.join('?' * len(given))})"
    row = db.execute(
        f"SELECT {_SESSION} FROM session JOIN (SELECT session_id, max(at) AS compacted FROM compaction"
        f" GROUP BY session_id) ON session_id = id WHERE updated_at <> ?{known}"
        " ORDER BY CASE WHEN compacted > 0 THEN compacted ELSE updated_at END DESC, id LIMIT 1",
        (FORGOTTEN, *given),
    ).fetchone()
    return _session(row) if row else None


def latest_sessions(db: apsw.Connection, most: int) -> list[Session]:
    """The sessions of all projects, the one that did something last first."""
    rows = db.execute(
        f"SELECT {_SESSION} FROM session WHERE updated_at <> ? ORDER BY updated_at DESC, id LIMIT ?",
        (FORGOTTEN, most),
    )
    return [_session(row) for row in rows]


def save_session(db: apsw.Connection, given: Session) -> None:
    """Insert or replace, inside the caller's transaction; a plan that was purged stays so."""
    db.execute(
        f"INSERT OR REPLACE INTO session ({_SESSION}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
        " coalesce((SELECT plan FROM session WHERE id = ?1 AND plan = ?9), ?8))",
        (*(given[name] for name in ("id", "client", "project", "folder", "updated_at", "prompts", "calls")),
         json_text.dumps([*given["plan"], given["plan_at"]] if given["plan"] and "plan_at" in given else given["plan"]),
         PURGED_PLAN),
    )  # fmt: skip


def calls(db: apsw.Connection, identifier: str, *, after: int = 0, last: int = 1000) -> list[Call]:
    """The last calls of a session with a number above `after`, oldest first."""
    rows = db.execute(
        f"SELECT {_CALL} FROM call WHERE session_id = ? AND number > ? ORDER BY number DESC LIMIT ?",
        (identifier, after, last),
    )
    return [_call(row) for row in rows][::-1]


def by_key(db: apsw.Connection, identifier: str, key: str) -> Call | None:
    """The call with this key."""
    row = db.execute(f"SELECT {_CALL} FROM call WHERE session_id = ? AND key = ?", (identifier, key)).fetchone()
    return _call(row) if row else None


def save(db: apsw.Connection, given: Call) -> None:
    """Insert a call, or write a changed one over it, and index it, inside the caller's transaction."""
    values = tuple(given.values())
    rowid = db.execute(
        f"INSERT INTO call ({_CALL}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (session_id, key) DO UPDATE SET outcome = excluded.outcome, error = excluded.error,"
        " passage = excluded.passage RETURNING rowid",
        values,
    ).get
    text = "\n".join((given["tool"], given["file"], given["command"], given["error"], given["passage"]))
    if "\\" in text:  # `\nName` within a line of JSON is found as Name, and C:\new all the same
        text += "\n" + words.unescaped("\n".join([line for line in text.splitlines() if "\\" in line]))
    db.execute("INSERT OR REPLACE INTO call_lexicon (rowid, text) VALUES (?, ?)", (rowid, text))


def names(db: apsw.Connection, identifier: str, *, every: bool = False) -> list[Name]:
    """The identifiers and file names that the last 400 calls of a session used, or `every` one, in no order."""
    rows = db.execute(
        f"SELECT {_NAME}{_written(db)} FROM name WHERE session_id = ?1 AND weight > 0"
        " AND (?2 OR last > (SELECT calls FROM session WHERE id = ?1) - ?3)",
        (identifier, every, RECENT_CALLS),
    )
    return [_name(row) for row in rows]


def most_used_names(db: apsw.Connection, identifier: str, most: int) -> list[Name]:
    """The names that stood in the most calls of a session."""
    rows = db.execute(
        f"SELECT {_NAME}{_written(db)} FROM name WHERE session_id = ? AND weight > 0"
        " ORDER BY calls DESC, last DESC LIMIT ?",
        (identifier, most),
    )
    return [_name(row) for row in rows]


def known_names(db: apsw.Connection, identifier: str, among: Iterable[str]) -> dict[str, Name]:
    """Those of these names that a session has already."""
    asked = list(among)
    found: dict[str, Name] = {}
    for start in range(0, len(asked), _MOST_PARAMETERS):
        part = asked[start : start + _MOST_PARAMETERS]
        rows = db.execute(
            f"SELECT {_NAME}written FROM name WHERE session_id = ? AND name IN ({', '.join('?' * len(part))})",
            (identifier, *part),
        )
        found.update((row[0], _name(row)) for row in rows)
    return found


def save_names(db: apsw.Connection, identifier: str, given: Iterable[Name]) -> None:
    """Insert or replace, inside the caller's transaction."""
    db.executemany(
        f"INSERT OR REPLACE INTO name (session_id, {_NAME}written) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(identifier, *one.values()) for one in given],
    )


def compactions(db: apsw.Connection, identifier: str) -> list[Compaction]:
    """The compactions of a session, oldest first."""
    # by time first: calls are numbered as they are stored, and a hook may store the newest before the others
    rows = db.execute("SELECT call, at, summary FROM compaction WHERE session_id = ? ORDER BY at, call", (identifier,))
    return [{"call": call, "at": at, "summary": summary} for call, at, summary in rows]


def save_compaction(db: apsw.Connection, identifier: str, call: int, at: int, summary: str) -> None:
    """Insert, or complete what is known of one, inside the caller's transaction.

    Two with no call between them are one, that of the later.
    """
    db.execute(
        "INSERT INTO compaction VALUES (?, ?, ?, ?) ON CONFLICT (session_id, call) DO UPDATE SET"
        " at = max(at, excluded.at), summary ="
        " CASE WHEN excluded.summary = '' OR summary = ? THEN summary ELSE excluded.summary END",
        (identifier, call, at, summary, PURGED_SUMMARY),
    )


def _session(row: tuple[Any, ...]) -> Session:
    identifier, client, project, folder, updated_at, prompts, calls, plan = row
    try:
        steps = json_text.loads(plan) if plan != PURGED_PLAN else []
    except json_text.InvalidJSON:
        steps = []
    made: Session = {
        "id": identifier, "client": client, "project": project, "folder": folder,
        "updated_at": updated_at, "prompts": prompts, "calls": calls,
        "plan": steps if isinstance(steps, list) else [],
    }  # fmt: skip
    last = made["plan"][-1:]  # in its column it stands below the steps
    if last and len(last[0]) == 2 and all(isinstance(number, int) for number in last[0]):
        made["plan_at"] = steps.pop()
    return made


def _call(row: tuple[Any, ...]) -> Call:
    session, number, key, prompt, at, tool, file, command, outcome, error, passage = row
    return {
        "session": session, "number": number, "key": key, "prompt": prompt, "at": at, "tool": tool, "file": file,
        "command": command, "outcome": outcome, "error": error, "passage": passage,
    }  # fmt: skip


def _written(db: apsw.Connection) -> str:
    """The column, or what stands for it in an older store that could not be brought up to date."""
    known = db.execute("SELECT count(*) FROM pragma_table_info('name') WHERE name = 'written'").get
    return "written" if known else "last"


def _name(row: tuple[Any, ...]) -> Name:
    name, first, last, calls, weight, place, written = row
    return {
        "name": name, "first": first, "last": last, "calls": calls, "weight": weight, "place": place,
        "written": written,
    }  # fmt: skip
