"""The sessions that have a state, an archive or hooks: listing them, and finding a session by its id."""

import shlex
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import apsw

from core import clock
from core import project as projects
from core.config import Config
from core.errors import Failure
from core.quoting import clip
from core.records import Session
from core.store import hook_calls
from core.store import sessions as stored_sessions
from session.record import zone_of
from session.requests import last_request, opening
from session.state import SessionState
from session.state_file import has_state, list_states, read_state

NOT_FOUND = "SESSION_NOT_FOUND"
TASK_CHARS = 200
MIN_ID_CHARS = 4  # of the beginning of an id


@dataclass(slots=True)
class KnownSession:
    """What is known about a session. `problem` says why its state cannot be read."""

    id: str
    updated_at: int
    archived: Session | None
    problem: str = ""
    hooks: dict[str, Any] | None = None
    state: SessionState | None = None

    def read(self) -> "KnownSession":
        """Read its state, if there is one."""
        if self.state is None:
            try:
                self.state = read_state(self.id)
            except Failure as failure:
                self.problem = self.problem or failure.message
        return self

    @property
    def client(self) -> str:
        """The client that it belongs to, "" if unknown."""
        client = (self.state.agent if self.state else "") or (self.archived["client"] if self.archived else "")
        return client or (self.hooks["client"] if self.hooks else "")

    @property
    def project(self) -> str:
        """The project that it works on, "" if unknown."""
        if self.archived and self.archived["project"]:
            return self.archived["project"]
        return projects.name_of(self.state.cwd) if self.state and self.state.cwd else ""


def known_sessions(db: apsw.Connection) -> list[KnownSession]:
    """All known sessions, the most recently active first."""
    sessions = {
        session["id"]: KnownSession(session["id"], session["updated_at"], session)
        for session in stored_sessions.latest(db, 100_000)
    }
    for summary in list_states():
        name, at = summary["sessionId"], summary["updatedAt"]
        session = sessions.setdefault(name, KnownSession(name, at, None))
        session.updated_at, session.problem = max(session.updated_at, at), summary.get("problem", "")
    for name in hook_calls.sessions(db):
        hooks = hook_calls.extent(db, name) if name not in sessions else None
        if hooks is not None:
            sessions[name] = KnownSession(name, hooks["last"], None, hooks=hooks)
    return sorted(sessions.values(), key=lambda session: (-session.updated_at, session.id))


def rows(
    db: apsw.Connection, config: Config, *, limit: int, project: str = "", client: str = "", since: int = 0
) -> tuple[list[dict[str, Any]], int]:
    """The first `limit` sessions, and how many there are, of a project and a client, active since a time (ms)."""
    sessions = [session for session in known_sessions(db) if session.updated_at >= since]
    sessions = [session for session in sessions if not client or session.read().client == client]
    sessions = [session for session in sessions if not project or projects.same(project, session.read().project)]
    return [row(db, session.read(), config) for session in sessions[:limit]], len(sessions)


def row(db: apsw.Connection, session: KnownSession, config: Config) -> dict[str, Any]:
    """A session as a list prints it."""
    state, archived = session.state, session.archived
    percent = state.percent if state else None
    turns = state.counts["userMessages"] if state else 0
    started = state.started_at if state else session.hooks["first"] if session.hooks else 0
    compactions = state.compaction_count if state else 0
    task = state.messages[-1]["text"] if state and state.messages else ""
    if archived is not None:
        turns = max(turns, archived["prompts"])
        compactions = max(compactions, len(stored_sessions.compactions(db, session.id)))
        spoken, first, _ = stored_sessions.turn_times(db, session.id)
        if spoken and first:
            started = min(started or first, first)
        prompts = [] if task else [prompt["text"] for prompt in stored_sessions.timed_prompts(db, session.id, 12)]
        task = task or opening(last_request(prompts) or (prompts[-1] if prompts else ""), TASK_CHARS)
    return {
        "sessionId": session.id,
        "client": session.client,
        "project": session.project,
        "updatedAt": clock.iso(session.updated_at or None),
        "turns": turns,
        "contextPercent": percent,
        "task": clip(" ".join(task.split()), TASK_CHARS) or session.problem,
        "zone": zone_of(percent, config),
        "startedAt": clock.iso(started or None),
        "toolCalls": archived["calls"] if archived else 0,
        "compactions": compactions,
    }


def resolve(db: apsw.Connection, given: str) -> str:
    """The id of the session that an id, or at least four characters of its beginning, means.

    Raises Failure: SESSION_NOT_FOUND, SESSION_AMBIGUOUS.
    """
    if is_known(db, given):
        return given
    matches: list[str] = []
    if len(given) >= MIN_ID_CHARS:
        names = [summary["sessionId"] for summary in list_states()] + hook_calls.sessions(db)
        matches = [name for name in names if name.startswith(given)]
        matches = list(dict.fromkeys([*matches, *stored_sessions.ids_beginning(db, given, 11)]))
    if len(matches) == 1:
        return matches[0]
    if matches:
        shown = ", ".join(matches[:10]) + (" and more" if len(matches) > 10 else "")
        raise Failure("SESSION_AMBIGUOUS", f"several sessions begin with {given}: {shown}", "give a longer id")
    fix = "`joelclaw session list` lists those that are known"
    beginnings = {session.id[: len(given)].lower(): session.id for session in reversed(known_sessions(db)[:500])}
    for close in get_close_matches(given.lower(), beginnings, 1):
        fix = f"`joelclaw session show {shlex.quote(beginnings[close])}` shows the one with the nearest id"
    raise Failure(NOT_FOUND, f"there is no session {given[:80]!r}", fix)


def is_known(db: apsw.Connection, session: str) -> bool:
    """Whether anything is known about a session with exactly this id."""
    if has_state(session) or hook_calls.extent(db, session) is not None:
        return True
    return stored_sessions.whole_id(db, session, least=len(session) + 1) == session


def newest(db: apsw.Connection, project: str) -> tuple[str, str]:
    """The most recently active session of this "project" or, if it has none among the last 200, the "last" of all."""
    sessions = known_sessions(db)
    for session in sessions[:200] if project else ():
        if projects.same(project, session.read().project):
            return session.id, "project"
    if sessions:
        return sessions[0].id, "last"
    fix = "install the hooks with `joelclaw install`, or archive past sessions: `joelclaw memory archive --all`"
    raise Failure(NOT_FOUND, "no session is known yet", fix)
