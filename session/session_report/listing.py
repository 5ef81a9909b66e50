"""Which sessions are known, and which one is meant: from their states, the archive and hooks."""

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
from session.notes.requests import last_request, opening
from session.record import zone_of
from session.state import SessionState
from session.state_file import has_state, list_states, read_state

NOT_FOUND = "SESSION_NOT_FOUND"
_TASK_CHARS = 200
_PROMPTS = 12
_MOST_ARCHIVED = 100_000
_SHORTEST = 4
_MOST_LISTED = 10
_LOOKED_AT, _OF_PROJECT = 500, 200


@dataclass(slots=True)
class Known:
    """What is known of one session without a look at what it did."""

    id: str
    updated_at: int
    archived: Session | None
    problem: str = ""
    hooks: dict[str, Any] | None = None
    state: SessionState | None = None

    def read(self) -> "Known":
        """Read its state, where there is one that can be read."""
        if self.state is None:
            try:
                self.state = read_state(self.id)
            except Failure as failure:
                self.problem = self.problem or failure.message
        return self

    @property
    def client(self) -> str:
        """Whose session it is; "" where nobody said."""
        told = (self.state.agent if self.state else "") or (self.archived["client"] if self.archived else "")
        return told or (self.hooks["client"] if self.hooks else "")

    @property
    def project(self) -> str:
        """What it works on; "" where that is not known."""
        if self.archived and self.archived["project"]:
            return self.archived["project"]
        return projects.name_of(self.state.cwd) if self.state and self.state.cwd else ""


def known(db: apsw.Connection) -> list[Known]:
    """Every session with a state, an archive or hooks, the one that did something last first."""
    archived = {one["id"]: one for one in stored_sessions.latest(db, _MOST_ARCHIVED)}
    found = {identifier: Known(identifier, one["updated_at"], one) for identifier, one in archived.items()}
    for summary in list_states():
        identifier, at = summary["sessionId"], summary["updatedAt"]
        one = found.setdefault(identifier, Known(identifier, at, None))
        one.updated_at, one.problem = max(one.updated_at, at), summary.get("problem", "")
    for identifier in hook_calls.sessions(db):
        hooks = hook_calls.extent(db, identifier) if identifier not in found else None
        if hooks is not None:
            found[identifier] = Known(identifier, hooks["last"], None, hooks=hooks)
    return sorted(found.values(), key=lambda one: (-one.updated_at, one.id))


def sessions(
    db: apsw.Connection, config: Config, *, limit: int, project: str = "", client: str = "", since: int = 0
) -> tuple[list[dict[str, Any]], int]:
    """The first `limit` sessions, and how many there are; those of a project, of a client, seen `since` (ms)."""
    asked = [one for one in known(db) if one.updated_at >= since]
    asked = [one for one in asked if not client or one.read().client == client]
    asked = [one for one in asked if not project or projects.same(project, one.read().project)]
    return [row(db, one.read(), config) for one in asked[:limit]], len(asked)


def row(db: apsw.Connection, one: Known, config: Config) -> dict[str, Any]:
    """What a list says of a session; on a terminal it has the first seven."""
    state, archived = one.state, one.archived
    percent = state.percent if state else None
    turns = state.counts["userMessages"] if state else 0
    started = state.started_at if state else one.hooks["first"] if one.hooks else 0
    compactions = state.compaction_count if state else 0
    task = state.messages[-1]["text"] if state and state.messages else ""
    if archived is not None:
        turns = max(turns, archived["prompts"])
        compactions = max(compactions, len(stored_sessions.compactions(db, one.id)))
        spoken, first, _ = stored_sessions.spoken(db, one.id)
        if spoken and first:
            started = min(started or first, first)
        prompts = [] if task else [one["text"] for one in stored_sessions.timed_prompts(db, one.id, _PROMPTS)]
        task = task or opening(last_request(prompts) or (prompts[-1] if prompts else ""), _TASK_CHARS)
    return {
        "sessionId": one.id,
        "client": one.client,
        "project": one.project,
        "updatedAt": clock.iso(one.updated_at or None),
        "turns": turns,
        "contextPercent": percent,
        "task": clip(" ".join(task.split()), _TASK_CHARS) or one.problem,
        "zone": zone_of(percent, config),
        "startedAt": clock.iso(started or None),
        "toolCalls": archived["calls"] if archived else 0,
        "compactions": compactions,
    }


def meant(db: apsw.Connection, given: str) -> str:
    """The id of a session of which a state, an archive or hooks are kept; four characters of it or more will do."""
    if is_known(db, given):
        return given
    found: list[str] = []
    if len(given) >= _SHORTEST:
        found = [one["sessionId"] for one in list_states() if one["sessionId"].startswith(given)]
        found += [one for one in hook_calls.sessions(db) if one.startswith(given)]
        found = list(dict.fromkeys([*found, *stored_sessions.ids_beginning(db, given, _MOST_LISTED + 1)]))
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(found[:_MOST_LISTED]) + (" and more" if len(found) > _MOST_LISTED else "")
        raise Failure("SESSION_AMBIGUOUS", f"several sessions begin with {given}: {shown}", "give a longer id")
    beginnings = {one.id[: len(given)].lower(): one.id for one in reversed(known(db)[:_LOOKED_AT])}
    fix = "`joelclaw session list` names those that are known"
    for near in get_close_matches(given.lower(), beginnings, 1):
        fix = f"`joelclaw session show {shlex.quote(beginnings[near])}` shows the one with the nearest id"
    raise Failure(NOT_FOUND, f"there is no session {given[:80]!r}", fix)


def is_known(db: apsw.Connection, session: str) -> bool:
    """Whether anything is kept of a session of exactly this id."""
    if has_state(session) or hook_calls.extent(db, session) is not None:
        return True
    return stored_sessions.whole_id(db, session, least=len(session) + 1) == session


def newest(db: apsw.Connection, project: str) -> tuple[str, str]:
    """The session that did something last, and whether of this "project" (among 200) or as the "last" of all."""
    every = known(db)
    for one in every[:_OF_PROJECT] if project else ():
        if projects.same(project, one.read().project):
            return one.id, "project"
    if every:
        return every[0].id, "last"
    fix = "install the hooks with `joelclaw install`, or archive past sessions: `joelclaw memory archive --all`"
    raise Failure(NOT_FOUND, "no session is known yet", fix)
