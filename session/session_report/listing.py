"""Which sessions are known, and which one is meant: from their states, the archive and hooks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import apsw

from core import clock
from core import project as projects
from core.config import Config
from core.errors import Failure
from core.quoting import clip
from core.records import Extent, Session
from core.store.history import hook_calls
from core.store.sessions import name_rows, session_rows, turn_rows
from session.inject import work
from session.records import SessionState
from session.state import session_list, state_file, zones

TASK_CHARS = 200
NOT_FOUND = "SESSION_NOT_FOUND"
_PROMPTS = 12
_MOST_ARCHIVED = 100_000
_SHORTEST = 4
_MOST_LISTED = 10
_NEAR = 3
_LOOKED_AT, _COMPARED = 500, 60
_OF_PROJECT = 200


class Known:
    """What is known of one session without a look at what it did."""

    __slots__ = ("archived", "hooks", "id", "problem", "state", "updated_at")

    def __init__(self, identifier: str, updated_at: int, archived: Session | None, problem: str) -> None:
        self.id = identifier
        self.updated_at = updated_at
        self.archived = archived
        self.hooks: Extent | None = None
        self.state: SessionState | None = None
        self.problem = problem

    def read(self) -> Known:
        """Read its state, where there is one that can be read."""
        if self.state is None:
            try:
                self.state = state_file.peek(self.id)
            except Failure as failure:
                self.problem = self.problem or failure.message
        return self

    @property
    def client(self) -> str:
        """Whose session it is; "" where nobody said."""
        if self.hooks is not None:
            return self.hooks["client"]
        return (self.state["agent"] if self.state else "") or (self.archived["client"] if self.archived else "")

    @property
    def project(self) -> str:
        """What it works on; "" where that is not known."""
        if self.archived and self.archived["project"]:
            return self.archived["project"]
        return projects.name_of(self.state["cwd"]) if self.state and self.state["cwd"] else ""


def known(db: apsw.Connection) -> list[Known]:
    """Every session with a state, an archive or hooks, the one that did something last first.

    Where only hooks tell of one, its project and its task are not known."""
    archived = {one["id"]: one for one in session_rows.latest_sessions(db, _MOST_ARCHIVED)}
    found = {identifier: Known(identifier, one["updated_at"], one, "") for identifier, one in archived.items()}
    for summary in session_list.every():
        identifier = summary["sessionId"]
        before = found.get(identifier)
        at = max(summary["updatedAt"], before.updated_at if before else 0)
        found[identifier] = Known(identifier, at, archived.get(identifier), summary.get("problem", ""))
    for identifier in hook_calls.sessions(db):
        hooks = hook_calls.extent(db, identifier) if identifier not in found else None
        if hooks is not None:
            found[identifier] = one = Known(identifier, hooks["last"], None, "")
            one.hooks = hooks
    return sorted(found.values(), key=lambda one: (-one.updated_at, one.id))


def sessions(
    db: apsw.Connection, config: Config, *, limit: int, project: str = "", client: str = "", since: int = 0
) -> tuple[list[dict[str, Any]], int]:
    """The first `limit` sessions, and how many there are; those of a project, of a client, seen `since` (ms)."""
    rows: list[dict[str, Any]] = []
    count = 0
    for one in _asked(known(db), project, client, since):
        count += 1
        if len(rows) < limit:
            rows.append(row(db, one.read(), config))
    return rows, count


def _asked(found: list[Known], project: str, client: str, since: int) -> Iterator[Known]:
    for one in found:
        if one.updated_at < since:
            return
        is_of_client = not client or one.read().client == client
        if is_of_client and (not project or projects.same(project, one.read().project)):
            yield one


def row(db: apsw.Connection, one: Known, config: Config) -> dict[str, Any]:
    """What a list says of a session."""
    state, archived = one.state, one.archived
    percent = state["checkpoint"]["contextPercentAtCapture"] if state else None
    turns = state["counts"]["userMessages"] if state else 0
    started = state["startedAt"] if state else one.hooks["first"] if one.hooks else 0
    compactions = state["checkpoint"]["compactionCount"] if state else 0
    task = state["messages"][-1]["text"] if state and state["messages"] else ""
    if archived is not None:
        turns = max(turns, archived["prompts"])
        compactions = max(compactions, len(name_rows.compactions(db, one.id)))
        spoken, first, _ = turn_rows.spoken(db, one.id)
        if spoken and first:
            started = min(started or first, first)
        task = task or last_task(turn_rows.prompts(db, one.id, _PROMPTS))
    return {
        "sessionId": one.id,
        "client": one.client,
        "project": one.project,
        "startedAt": clock.iso(started or None),
        "updatedAt": clock.iso(one.updated_at or None),
        "turns": turns,
        "toolCalls": archived["calls"] if archived else 0,
        "compactions": compactions,
        "contextPercent": percent,
        "zone": zone(percent, config),
        "task": one.problem if one.problem and not task else clip(" ".join(task.split()), TASK_CHARS),
    }


def zone(percent: float | None, config: Config) -> str:
    """The zone of a context usage by the settings in force."""
    warm, hot = config.get_float("checkpoint.warm_percent"), config.get_float("checkpoint.hot_percent")
    return zones.zone_of(percent, warm=warm, hot=hot)


def last_task(prompts: list[str]) -> str:
    """What the user last asked for, on one line; the last prompt where none asks for anything."""
    return work.opening(work.last_task(prompts) or (prompts[-1] if prompts else ""), TASK_CHARS)


def meant(db: apsw.Connection, given: str) -> str:
    """The id of a session of which a state, an archive or hooks are kept.

    Args:
        given: the id, or four characters or more with which no other session begins.

    Raises:
        Failure: SESSION_NOT_FOUND, naming near ones; SESSION_AMBIGUOUS.
    """
    if is_known(db, given):
        return given
    found = _beginning(db, given) if len(given) >= _SHORTEST else []
    if len(found) > 1:
        shown = ", ".join(found[:_MOST_LISTED]) + (" and more" if len(found) > _MOST_LISTED else "")
        raise Failure("SESSION_AMBIGUOUS", f"several sessions begin with {given}: {shown}", "give more of the id")
    if found:
        return found[0]
    raise _unknown(db, given)


def is_known(db: apsw.Connection, session: str) -> bool:
    """Whether anything is kept of a session of exactly this id."""
    if state_file.exists(session) or hook_calls.extent(db, session) is not None:
        return True
    return session_rows.whole_id(db, session, least=len(session) + 1) == session


def newest(db: apsw.Connection, project: str) -> tuple[str, str]:
    """The session that did something last, and which it is: "project", of this one among the last 200; else "last".

    Raises:
        Failure: SESSION_NOT_FOUND where there is none at all.
    """
    every = known(db)
    for one in every[:_OF_PROJECT] if project else ():
        if projects.same(project, one.read().project):
            return one.id, "project"
    if every:
        return every[0].id, "last"
    raise Failure(
        NOT_FOUND,
        "nothing is known of any session yet",
        "install the hooks with `joelclaw install`, or take in what agents left: `joelclaw memory archive --all`",
    )


def _beginning(db: apsw.Connection, start: str) -> list[str]:
    found = [one["sessionId"] for one in session_list.every() if one["sessionId"].startswith(start)]
    found += hook_calls.sessions_beginning(db, start, _MOST_LISTED + 1)
    found += session_rows.sessions_beginning(db, start, _MOST_LISTED + 1)
    return list(dict.fromkeys(found))


def _unknown(db: apsw.Connection, given: str) -> Failure:
    """That there is no such session, with a command that shows the one whose id is nearest."""
    beginnings = {one.id[: len(given)].lower(): one.id for one in reversed(known(db)[:_LOOKED_AT])}
    near = [beginnings[one] for one in get_close_matches(given[:_COMPARED].lower(), beginnings, _NEAR)]
    message = f"nothing is known of a session {given[:80]!r}"
    if not near:
        return Failure(NOT_FOUND, message, "`joelclaw session list` names those that are known")
    others = f"; near are also {', '.join(near[1:])}" if near[1:] else ""
    fix = f"`joelclaw session show {shlex.quote(near[0])}` shows the one with the nearest id"
    return Failure(NOT_FOUND, message + others, fix)
