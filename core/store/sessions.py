"""Archived sessions: their records, turns and compactions; listed, identified and forgotten. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, json_text
from core.errors import Failure
from core.project import own_names
from core.store import calls, places_and_names
from core.store.rows import marks, row_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    from core.records import Session

FORGOTTEN = -1
"""Replaces a time: the session stays known, so that its transcript is not archived again."""
PURGED_PLAN = '[["purged"]]'
"""Replaces a purged plan, so that reading the transcript again does not bring it back."""
COLUMNS = "id, client, project, folder, updated_at, prompts, calls, plan, ended_at, worktree"
KNOWN = f"SELECT {COLUMNS} FROM session WHERE updated_at <> {FORGOTTEN}"
# The partial index on the session needs the second condition; +rowid keeps the planner from walking all episodes.
_SAID = (
    "FROM document WHERE session_id = ? AND session_id <> '' AND forgotten_at IS NULL AND +rowid BETWEEN {} AND {}"
).format(*row_range("episodes"))
_EVER = 1 << 62
_WORKED, _TALKED = 5, 3
"""Sessions of a project, the last ones."""


def by_id(db: apsw.Connection, identifier: str) -> Session | None:
    """What is known of a session."""
    row = db.execute(f"{KNOWN} AND id = ?", (identifier,)).fetchone()
    return _from_row(row) if row else None


def is_forgotten(db: apsw.Connection, identifier: str) -> bool:
    """Whether nothing of a session may be kept."""
    return bool(db.execute("SELECT 1 FROM session WHERE id = ? AND updated_at = ?", (identifier, FORGOTTEN)).get)


def last_of_project(
    db: apsw.Connection, project: str, folder: str, *, without: str = "", first: str = ""
) -> list[Session]:
    """The last sessions of a project that worked, and of those in the folder that only talked: `first`, then those of
    the folder, then the latest. Of no project none."""
    own = own_names(project, projects(db)) if project else []
    query = f"{KNOWN} AND id <> ? AND project IN ({marks(own)}) AND {{}} ORDER BY updated_at DESC LIMIT ?"
    worked = db.execute(query.format("calls > 0"), (without, *own, _WORKED)).fetchall()
    talked = db.execute(query.format("calls = 0 AND folder = ?"), (without, *own, folder, _TALKED)).fetchall()
    found = [_from_row(row) for row in (*worked, *talked)]
    return sorted(found, key=lambda one: (one["id"] != first, one["folder"] != folder, -one["updated_at"]))


def projects(db: apsw.Connection) -> list[str]:
    """The names of projects with archived sessions."""
    return [str(name) for (name,) in db.execute("SELECT DISTINCT project FROM session WHERE project <> ''")]


def has_others(db: apsw.Connection, names: Sequence[str]) -> bool:
    """Whether a session belongs to a project other than these, or to none."""
    others = f"SELECT EXISTS (SELECT 1 FROM session WHERE project NOT IN ({marks(names)}))"
    return bool(db.execute(others, (*names,)).get)


def latest_first(db: apsw.Connection) -> list[tuple[str, str]]:
    """Id and project of every session, the last active one first; from an index alone."""
    return list(db.execute("SELECT id, project FROM session ORDER BY updated_at DESC"))


def save(db: apsw.Connection, given: Session) -> None:
    """Insert or replace, inside the caller's transaction; a purged plan stays purged."""
    plan: list[Any] = list(given["plan"])
    if plan and "plan_at" in given:
        plan.append(given["plan_at"])
    db.execute(
        f"INSERT OR REPLACE INTO session ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
        " coalesce((SELECT plan FROM session WHERE id = ?1 AND plan = ?9), ?8), ?10, ?11)",
        (
            given["id"], given["client"], given["project"], given["folder"], given["updated_at"], given["prompts"],
            given["calls"], json_text.dumps(plan), PURGED_PLAN, given.get("ended_at", 0), given.get("worktree", ""),
        ),
    )  # fmt: skip


def last_turns(db: apsw.Connection, session: str, most: int, *, until: int = _EVER) -> list[tuple[str, str, int]]:
    """Id, text and time (ms) of a session's last turns up to a time, oldest first."""
    query = f"SELECT id, text, created_at {_SAID} AND created_at <= ? ORDER BY rowid DESC LIMIT ?"
    return list(db.execute(query, (session, until, most)))[::-1]


def timed_prompts(db: apsw.Connection, session: str, last: int = _EVER) -> list[dict[str, Any]]:
    """A session's last prompts, with their times (ms), by time."""
    query = f"SELECT created_at, substr(text, 7) {_SAID} AND text LIKE 'user: %' ORDER BY rowid DESC LIMIT ?"
    found: list[dict[str, Any]] = [
        {"at": int(at), "text": str(text)} for at, text in db.execute(query, (session, last))
    ]
    found.reverse()  # of the same time: as they were stored
    return sorted(found, key=lambda one: one["at"])


def said(db: apsw.Connection, session: str, characters: int, last: int = 400) -> list[tuple[int, str]]:
    """What was said last in a session, by time (ms): each prompt's beginning, and "" where the agent spoke."""
    begin = "CASE WHEN text LIKE 'user: %' THEN substr(text, 7, ?) ELSE '' END"
    rows = db.execute(
        f"SELECT created_at, rowid, {begin} {_SAID} ORDER BY rowid DESC LIMIT ?", (characters, session, last)
    )
    return [(at, text) for at, _, text in sorted(rows)]


def last_words(db: apsw.Connection, session: str, until: int) -> str:
    """What the agent said last in a session up to a time (ms)."""
    query = (
        f"SELECT substr(text, 12) {_SAID} AND text LIKE 'assistant: %' AND created_at <= ? ORDER BY rowid DESC LIMIT 1"
    )
    return str(db.execute(query, (session, until)).get or "")


def spoken(db: apsw.Connection, session: str) -> tuple[int, int, int]:
    """How many turns of a session are archived, and the times of the first and the last (ms, or 0)."""
    query = f"SELECT count(*), coalesce(min(created_at), 0), coalesce(max(created_at), 0) {_SAID}"
    ((count, first, last),) = db.execute(query, (session,))
    return count, first, last


def _from_row(row: tuple[Any, ...]) -> Session:
    """The session of a row: `COLUMNS`, in order."""
    identifier, client, project, folder, updated_at, prompts, calls, plan, ended, worktree = row
    steps = json_text.loads(plan) if plan != PURGED_PLAN else []
    made: Session = {
        "id": identifier, "client": client, "project": project, "folder": folder,
        "updated_at": updated_at, "prompts": prompts, "calls": calls, "plan": steps, "ended_at": ended,
        "worktree": worktree,
    }  # fmt: skip
    if steps and len(steps[-1]) == 2 and all(isinstance(number, int) for number in steps[-1]):
        made["plan_at"] = steps.pop()  # in its column it stands below the steps
    return made


SHORTEST_BEGINNING = 8  # characters of a session's id that may stand for it: as many as are shown of a UUID
_MOST_LISTED = 5


def totals(db: apsw.Connection) -> tuple[int, int]:
    """How many sessions and tool calls are stored."""
    kept = db.execute("SELECT count(*) FROM session WHERE updated_at <> ?", (FORGOTTEN,)).get
    return int(kept), int(db.execute("SELECT count(*) FROM call").get)


def below(db: apsw.Connection, folders: Iterable[str]) -> list[str]:
    """The ids of sessions whose repository is, or lies below, one of the folders, the last one first."""
    found: dict[str, None] = {}
    below = "(folder = ? OR (folder >= ? AND folder < ?)) AND updated_at <> ?"
    for folder in folders:
        inside = folder.rstrip("/") + "/"
        values = (folder, inside, inside[:-1] + "0", FORGOTTEN)
        rows = db.execute(f"SELECT id FROM session WHERE {below} ORDER BY updated_at DESC", values)
        found |= dict.fromkeys(str(identifier) for (identifier,) in rows)
    return list(found)


def latest(db: apsw.Connection, most: int) -> list[Session]:
    """The sessions of all projects, the last active one first."""
    return [_from_row(row) for row in db.execute(f"{KNOWN} ORDER BY updated_at DESC, id LIMIT ?", (most,))]


def last_compacted(db: apsw.Connection, projects: Sequence[str] | None = None) -> Session | None:
    """The last compacted session, of these projects or of all; without a client's time, by our own."""
    given = tuple(projects or ())
    known = "" if projects is None else f" AND project IN ({marks(given)})"
    row = db.execute(
        f"SELECT {COLUMNS} FROM session JOIN (SELECT session_id, max(at) AS compacted FROM compaction"
        f" GROUP BY session_id) ON session_id = id WHERE updated_at <> ?{known}"
        " ORDER BY CASE WHEN compacted > 0 THEN compacted ELSE updated_at END DESC, id LIMIT 1",
        (FORGOTTEN, *given),
    ).fetchone()
    return _from_row(row) if row else None


def notes_with(db: apsw.Connection, text: str, most: int) -> list[str]:
    """The sessions whose recovery note, among the newest `most`, holds a text, the newest first."""
    rows = db.execute(
        "SELECT session_id FROM (SELECT session_id, text FROM injection WHERE kind IN ('compaction-recovery',"
        " 'gateway-recovery') ORDER BY at DESC, id DESC LIMIT ?) WHERE instr(text, ?)",
        (most, text),
    )
    return [session for (session,) in rows]


def noted(db: apsw.Connection, session: str, most: int) -> tuple[str, list[str]]:
    """What a session was about (a narrative of it, else its first prompt), and its newest observations, in order."""
    known = (
        "FROM document WHERE session_id = ?1 AND session_id <> '' AND forgotten_at IS NULL AND +rowid BETWEEN {} AND {}"
    )
    written = known.format(*row_range("observations")) + " AND write_verdict <> 'discard'"
    rows = db.execute(f"SELECT text, observation_type {written} ORDER BY rowid DESC LIMIT ?2", (session, most))
    found = [(str(text), kind) for text, kind in rows][::-1]
    prompt = (
        f"SELECT substr(text, 7) {known.format(*row_range('episodes'))} AND text LIKE 'user: %' ORDER BY rowid LIMIT 1"
    )
    told = [text for text, kind in found if kind == "segment_narrative"]
    return (told or [str(db.execute(prompt, (session,)).get or "")])[0], [text for text, _ in found]


def forgotten_beginning(db: apsw.Connection, start: str) -> str:
    """The first forgotten session whose id begins like this, "" if none does."""
    query = "SELECT id FROM session WHERE id >= ? AND id < ? AND updated_at = ? ORDER BY id LIMIT 1"
    return str(db.execute(query, (start, start + "\U0010ffff", FORGOTTEN)).get or "")


def ids_beginning(db: apsw.Connection, start: str, most: int) -> list[str]:
    """The first archived sessions whose id begins like this, in order, without forgotten ones."""
    end = start + "\U0010ffff"
    rows = db.execute(
        "SELECT DISTINCT session_id FROM document WHERE session_id >= ? AND session_id < ? AND session_id <> ''"
        " AND +rowid BETWEEN ? AND ? UNION SELECT id FROM session WHERE id >= ? AND id < ?"
        " EXCEPT SELECT id FROM session WHERE updated_at = ? ORDER BY 1 LIMIT ?",
        (start, end, *row_range("episodes"), start, end, FORGOTTEN, most),
    )
    return [str(row[0]) for row in rows]


def whole_id(db: apsw.Connection, given: str, *, least: int = SHORTEST_BEGINNING) -> str:
    """The given id, or the only archived one that begins with it (of `least` characters); "" if there is none."""
    known = (
        "SELECT 1 FROM session WHERE id = ?1 AND updated_at <> ?2 UNION ALL"
        " SELECT 1 FROM document WHERE session_id = ?1 AND session_id <> '' AND forgotten_at IS NULL LIMIT 1"
    )
    if db.execute(known, (given, FORGOTTEN)).get:
        return given
    if len(given) < least:
        return ""
    found = ids_beginning(db, given, _MOST_LISTED + 1)
    if len(found) > 1:
        shown = ", ".join(found[:_MOST_LISTED]) + (" and more" if len(found) > _MOST_LISTED else "")
        raise Failure("SESSION_AMBIGUOUS", f"several sessions begin with {given}: {shown}", "give a longer id")
    return found[0] if found else ""


PURGED_SUMMARY = "[purged]"
"""Replaces a purged summary: reading the transcript again does not bring it back."""
SUMMARY_CHARS = 100_000


def compactions(db: apsw.Connection, session: str) -> list[dict[str, Any]]:
    """The compactions of a session, oldest first."""
    # by time first: calls are numbered as they are stored, and a hook may store the newest before the others
    rows = db.execute("SELECT call, at, summary FROM compaction WHERE session_id = ? ORDER BY at, call", (session,))
    return [{"call": call, "at": at, "summary": summary} for call, at, summary in rows]


def save_compaction(db: apsw.Connection, session: str, call: int, at: int, summary: str) -> None:
    """Insert or complete a compaction, inside the caller's transaction; two with no call between them are one."""
    db.execute(
        "INSERT INTO compaction VALUES (?, ?, ?, ?) ON CONFLICT (session_id, call) DO UPDATE SET"
        " at = max(at, excluded.at), summary ="
        " CASE WHEN excluded.summary = '' OR summary = ? THEN summary ELSE excluded.summary END",
        (session, call, at, summary, PURGED_SUMMARY),
    )


def rename_project(db: apsw.Connection, name: str, former: str, folder: str) -> None:
    """Rename a project in what is stored if a session of it began in the folder; inside a transaction."""
    if db.execute("SELECT 1 FROM session WHERE project = ? AND folder = ? LIMIT 1", (former, folder)).get:
        for table in ("session", "document"):
            db.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (name, former))


def forget(db: apsw.Connection, identifier: str) -> None:
    """Delete what a session did, inside the caller's transaction; what it does from now on is not kept."""
    drop(db, identifier)
    for table, column in (("call", "session_id"), ("compaction", "session_id"), ("session", "id")):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", (identifier,))
    db.execute(
        "INSERT INTO session (id, client, project, folder, updated_at, prompts, calls, plan)"
        " VALUES (?, '', '', '', ?, 0, 0, '[]')",
        (identifier, FORGOTTEN),
    )


def drop(db: apsw.Connection, identifier: str) -> int:
    """Delete what a session did; returns how many calls. Tombstones stay, so that reading again brings nothing back."""
    values = (identifier, calls.FORGOTTEN)
    rows = db.execute("SELECT rowid FROM call WHERE session_id = ? AND outcome <> ?", values).fetchall()
    db.executemany("DELETE FROM call_lexicon WHERE rowid = ?", rows)
    db.execute("DELETE FROM name WHERE session_id = ?", (identifier,))
    places_and_names.drop_places(db, identifier)
    db.execute("DELETE FROM compaction WHERE session_id = ? AND summary <> ?", (identifier, PURGED_SUMMARY))
    purged = db.execute(
        "SELECT EXISTS (SELECT 1 FROM call WHERE session_id = ?1 AND outcome = ?2 UNION ALL SELECT 1 FROM compaction"
        " WHERE session_id = ?1 AND summary = ?3 UNION ALL SELECT 1 FROM session WHERE id = ?1 AND plan = ?4)",
        (*values, PURGED_SUMMARY, PURGED_PLAN),
    ).get
    if purged:
        emptied = f"UPDATE call SET {calls.EMPTIED} WHERE session_id = ? AND outcome <> ?"
        db.execute(emptied, (calls.FORGOTTEN, *values))
        db.execute("UPDATE session SET plan = '[]' WHERE id = ? AND plan <> ?", (identifier, PURGED_PLAN))
    else:
        db.execute("DELETE FROM call WHERE session_id = ?", (identifier,))
        db.execute("DELETE FROM session WHERE id = ?", (identifier,))
    return len(rows)
