"""Archived sessions: what is known of each, what was said turn by turn, and which one is meant. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, json_text
from core.project import own_names
from core.store import marks, row_range

if TYPE_CHECKING:
    from collections.abc import Sequence
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


def session(db: apsw.Connection, identifier: str) -> Session | None:
    """What is known of a session."""
    row = db.execute(f"{KNOWN} AND id = ?", (identifier,)).fetchone()
    return of_row(row) if row else None


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
    found = [of_row(row) for row in (*worked, *talked)]
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


def save_session(db: apsw.Connection, given: Session) -> None:
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


def of_row(row: tuple[Any, ...]) -> Session:
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
