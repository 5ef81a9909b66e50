"""The sessions that are known, the one that did something last first: from their states, the archive and hooks."""

from __future__ import annotations

from core import clock
from core import project as projects
from core.errors import Failure
from core.quoting import clip
from core.store.history import hook_calls, session_log
from core.store.sessions import call_search, calls
from session.state import state_file, zones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    import apsw

    from core.config import Config
    from core.records import Extent, Session
    from session.state.schema import SessionState

    class Row(TypedDict):
        """One session of the list. What is not known is None or ""; `turns` are messages of the user."""

        sessionId: str
        client: str
        project: str
        startedAt: str
        updatedAt: str
        turns: int
        toolCalls: int
        compactions: int
        contextPercent: float | None
        zone: str
        task: str


TASK_CHARS = 200
_PROMPTS = 12
_MOST_ARCHIVED = 100_000


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


def known(db: apsw.Connection | None) -> list[Known]:
    """Every session with a state, an archive or hooks, the one that did something last first.

    Where only hooks tell of one, its project and its task are not known.

    Raises:
        Failure: STATE_UNREADABLE.
    """
    archived = {}
    if db is not None and call_search.exists(db):
        archived = {one["id"]: one for one in calls.latest_sessions(db, _MOST_ARCHIVED)}
    found = {identifier: Known(identifier, one["updated_at"], one, "") for identifier, one in archived.items()}
    for summary in state_file.every():
        identifier = summary["sessionId"]
        before = found.get(identifier)
        at = max(summary["updatedAt"], before.updated_at if before else 0)
        found[identifier] = Known(identifier, at, archived.get(identifier), summary.get("problem", ""))
    for identifier in hook_calls.sessions(db) if db is not None else ():
        hooks = hook_calls.extent(db, identifier) if db is not None and identifier not in found else None
        if hooks is not None:
            found[identifier] = one = Known(identifier, hooks["last"], None, "")
            one.hooks = hooks
    return sorted(found.values(), key=lambda one: (-one.updated_at, one.id))


def sessions(
    db: apsw.Connection | None, config: Config, *, limit: int, project: str = "", client: str = "", since: int = 0
) -> tuple[list[Row], int]:
    """The first `limit` sessions, and how many there are; those of a project, of a client, seen `since` (ms).

    Raises:
        Failure: STATE_UNREADABLE.
    """
    rows: list[Row] = []
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
        if (project or client) and not (
            (not client or one.read().client == client) and (not project or projects.same(project, one.read().project))
        ):
            continue
        yield one


def row(db: apsw.Connection | None, one: Known, config: Config) -> Row:
    """What a list says of a session."""
    state, archived = one.state, one.archived
    percent = state["checkpoint"]["contextPercentAtCapture"] if state else None
    turns = state["counts"]["userMessages"] if state else 0
    started = state["startedAt"] if state else one.hooks["first"] if one.hooks else 0
    compactions = state["checkpoint"]["compactionCount"] if state else 0
    task = state["messages"][-1]["text"] if state and state["messages"] else ""
    if archived is not None and db is not None:
        turns = max(turns, archived["prompts"])
        compactions = max(compactions, len(calls.compactions(db, one.id)))
        spoken, first, _ = session_log.spoken(db, one.id)
        if spoken and first:
            started = min(started or first, first)
        task = task or last_task(calls.prompts(db, one.id, _PROMPTS))
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
    return zones.zone_of(
        percent, warm=config.number("checkpoint.warm_percent"), hot=config.number("checkpoint.hot_percent")
    )


def last_task(prompts: list[str]) -> str:
    """What the user last asked for, on one line; the last prompt where none asks for anything."""
    from session.inject import work

    return work.opening(work.last_task(prompts) or (prompts[-1] if prompts else ""), TASK_CHARS)
