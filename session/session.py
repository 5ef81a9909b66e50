"""A hook or command that works on a session: the state under its lock, the store, and writes that wait for the save.

    with Session(session_id, config) as session:      # waits for the lock, loads the state
        record(event, session)                        # session.record
        session.save_state()                          # the state; spools the queued events
        ...                                           # reactions change session.state
        session.save_state()
    session.store_queued()                            # the queued writes; of a hook when it has answered

A step that fails does not stop a session: hooks fail open, so faults are collected in `session.faults`. Hot path.
"""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING, clock, files
from core.errors import Failure
from otel import log
from session import state as states
from session.state import SessionState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Any, Literal, TypedDict, TypeVar

    import apsw

    from clients.entries import Entry
    from core.config import Config
    from core.records import Event, Hit
    from core.switches import Switches

    Result = TypeVar("Result")

    Zone = Literal["cold", "warm", "hot", "unknown"]

    class ContextUsage(TypedDict):
        """Tokens in the context, the window in tokens, their ratio in percent, and the source of the tokens."""

        tokens: int | None
        window: int | None
        percent: float | None
        source: Literal["usage", "boundary", "estimate", "none"]

    class Fault(TypedDict):
        """A step that failed, and why."""

        step: str
        code: str
        message: str


COMPONENT = "session-lifecycle"  # of the events about sessions
UNKNOWN_USAGE: ContextUsage = {"tokens": None, "window": None, "percent": None, "source": "none"}
TASK_TAGS = ("compaction-extract", "session-task")
NEW_TASK = "new-task"
COOLDOWN_MS = 60_000  # no second recovery note, and no refresh, within this time (docs/mirrored.md)


class Session:
    """The session that a hook or command works on. The `with` statement holds its lock from beginning to end.

    Args:
        role: the session's role, "" to keep the role in its state.
        agent: the client, as in `clients.NAMES`, "" if it is unknown.
        wait_s: seconds to wait for another process that holds the lock; then Failure STATE_BUSY.
        creates_state: whether a state file may be begun. Otherwise, a session without a state file is neither locked
            nor saved.
    """

    def __init__(
        self, session_id: str, config: Config, *, role: str = "", agent: str = "", wait_s: float = states.LOCK_WAIT_S,
        creates_state: bool = True,
    ) -> None:  # fmt: skip
        self.id = session_id
        self.config = config
        self.role = states.stored_line(role) if role else ""
        self.agent = agent
        self.now = clock.now_ms()
        self.store = SessionStore()
        self.faults = self.store.faults
        self.state = SessionState(session_id, self.role or "interactive", self.now)
        self.before: SessionState | None = None
        """The state as it was before this call, None if the session had no state file."""
        self.set_aside = ""
        """The path to which a damaged state file was renamed."""
        self.usage = UNKNOWN_USAGE
        self.plan = TaskPlan()
        """What `record` decided to do for the task: nothing, unless the event is of a turn."""
        self.entries: Sequence[Entry] = ()
        """The entries that the event brought: the last 400 that were archived, or all entries in its payload."""
        self.must_store_events = False
        """Store the events at the end of this call: a recall looks them up to find its session."""
        self.reaction_began = time.monotonic()
        """When the reaction that runs now began."""
        is_stored = creates_state or states.has_state(session_id)
        self._lock = states.state_lock(session_id, wait_s) if is_stored else None
        self._saved: SessionState | None = None
        """The state as the file has it, None if there is no file."""
        self._events: list[Event] = []
        self._writes: list[tuple[str, Callable[[apsw.Connection], object]]] = []
        self._switches: Switches | None = None

    def __enter__(self) -> Session:
        if self._lock is not None:
            self._lock.__enter__()
            try:
                state, self.set_aside = states.load_state(self.id)
            except BaseException as error:
                self.__exit__(type(error), error, None)
                raise
            if state is not None:
                self.state, self.before = state, state.copy()
            if self.set_aside:
                about = {"file": os.path.basename(self.set_aside)}
                self.queue_event(self.event("session.state.set_aside", about, level="warn"))
        self._saved = self.before
        if self.role:
            self.state.role = self.role
        return self

    def __exit__(self, *about: object) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.__exit__(*about)

    def save(self) -> None:
        """Save the state, then store the queued writes."""
        self.save_state()
        self.store_queued()

    def save_state(self) -> None:
        """Write the state if it is locked, and new or changed; spool the queued events. This waits for no process."""
        is_saved = self._saved is not None and self.state.equals(self._saved)
        if self._lock is not None and not is_saved:
            states.write_state(self.state.without_texts() if self.is_excluded(self.state.cwd) else self.state)
            self._saved = self.state.copy()
        if log.spool(self._events):
            self._events = []

    def store_queued(self) -> None:
        """Run the queued writes, each once, and store the events that found the spool full."""
        writes, self._writes = self._writes, []
        for step, write in writes:
            self.store.write(step, write, None, after_fault=True)
        events, self._events = self._events, []
        if events:
            log.store_spooled(events, self.store.db)

    def complete(self, command: str, began: float) -> None:
        """Save, and leave the event of a command that ends now and began at `began` (`time.monotonic()`)."""
        self.save()
        about: dict[str, Any] = {"command": command, "agent": self.state.agent, "steps": self.store.step_times(began)}
        about["duration_ms"] = round((time.monotonic() - began) * 1000, 2)
        event = self.event("command.completed", about, level="debug")
        for fault in self.faults[:1]:
            error = f"{fault['code']}: {fault['message']}"
            event = self.event("command.degraded", {**about, "step": fault["step"]}, level="warn", error=error)
        event["timestamp"] = clock.now_ms()
        self.queue_event(event)
        self.save()

    def queue_event(self, event: Event) -> None:
        """Keep an event until the state is saved."""
        self._events.append(event)

    def queue_write(self, step: str, write: Callable[[apsw.Connection], object]) -> None:
        """Keep a write to the store, which must not happen twice, until the state is saved."""
        self._writes.append((step, write))

    def event(
        self, name: str, about: Mapping[str, Any], *, component: str = "", level: str = "info", error: str = ""
    ) -> Event:
        """An event about this session; `about` is its metadata."""
        role = self.state.role or "interactive"
        component = component or ("gateway-context" if self.state.is_gateway else COMPONENT)
        return log.new_event(
            name, source=role, component=component, level=level, metadata=about, duration_ms=about.get("duration_ms"),
            session=self.id, role=role, now=self.now, success=not error, error=error,
        )  # fmt: skip

    def store_events(self) -> None:
        """Move the events that wait in the spool to the store."""
        log.store_spooled((), self.store.db)

    def recall(
        self, query: str, project: str, *, min_score: float | None = None, with_episodes: bool = False,
        by_meaning: bool = True,
    ) -> list[Hit] | None:  # fmt: skip
        """Memories for a query, for a gateway without a project those of all projects; None if the store failed.

        Args:
            min_score: the lowest score (default: the setting `inject.min_score`).
            with_episodes: also episodes, which are a hundred times as many.
            by_meaning: also memories without a word of the query.
        """
        store, config, everywhere = self.store, self.config, self.state.is_gateway and not project
        if not store.is_readable:
            return None
        with fault_boundary(store, "recall"):
            from recall import engine
            from recall.query import Query

            if (db := store.reading()) is None:
                return []
            lowest = config.get_float("inject.min_score") if min_score is None else min_score
            asked = Query(
                query, limit=15, min_score=lowest, budget="lean", project=project,
                isolated=not everywhere, collections=() if with_episodes else ("observations", "knowledge"),
                by_meaning=by_meaning,
            )  # fmt: skip
            result = engine.recall(db, asked, now=self.now, config=config, patience_ms=500)
            hits: list[Hit] = result["hits"]
            # Without a project, the task of another session may quote anything.
            hits = [hit for hit in hits if not hit["isAbandoned"]]
            return [hit for hit in hits if everywhere or hit["project"] or TASK_TAGS[1] not in hit["tags"]]
        return None

    def is_off(self, cwd: str, parent: str = "") -> bool:
        """Whether the user switched off this session, its parent, its project (`cwd`, else of its state) or all."""
        if (known := self._known_switches()) is None:
            return False
        from core import switches

        folder = cwd
        if not folder:
            try:
                state = states.read_state(self.id)
            except Failure:  # loading the state reports it
                state = None
            folder = (state.cwd if state is not None else "") or files.current_folder()
        names = [self.id, parent] if parent else [self.id]
        return any(switches.current_off_period(known, name, folder) is not None for name in names)

    def is_excluded(self, cwd: str = "") -> bool:
        """Whether nothing of it may be kept: it was forgotten, or its folder (`cwd`, else the state's) is excluded."""
        if states.is_hidden(self.id):
            return True
        if (known := self._known_switches()) is None:
            return False
        from core import switches

        return switches.is_excluded(known, self.folder(cwd))

    def may_quote_excluded(self, transcript: str) -> bool:
        """Whether a summary of the session may quote what was said in an excluded folder, by its transcript."""
        known = self._known_switches()
        if known is None or not known["excluded"] or not transcript:
            return False
        from memory.archive.admission import has_excluded_folder

        return has_excluded_folder(transcript, self.agent, known)

    def project(self, cwd: str = "") -> str:
        """The project of a session that works in `cwd`, or in the folder that its state knows.

        It is "" if the project is unknown, and for a gateway, which works on all projects.
        """
        if self.state.is_gateway:
            return ""
        from core import project

        folder = self.folder(cwd)
        name = project.name_of(folder)
        if os.path.lexists(folder):
            return name
        from core.store import folders

        return self.store.read("folder", lambda db: folders.known(db, folder).project, name)  # before it was removed

    def note_project(self, cwd: str) -> None:
        """Store the project of the repository in `cwd`, so that it is known when the folder is renamed or removed."""
        from core import project

        if not self.is_excluded(cwd) and project.repository_of(cwd):
            from core.store import folders

            self.store.write("folder", lambda db: folders.note(db, cwd), None)

    def folder(self, cwd: str = "") -> str:
        """The agent's folder: `cwd`, else the state's folder, else the current folder; "" if that was removed."""
        return cwd or self.state.cwd or files.current_folder()

    @property
    def is_cooling_down(self) -> bool:
        """Whether the last recovery note was given within a minute; False if the clock went back."""
        last = self.state.last_injection_at
        return last is not None and 0 <= self.now - last < COOLDOWN_MS

    def _known_switches(self) -> Switches | None:
        """The user's switches; None if there are none. A damaged file is set aside."""
        if self._switches is None and files.has_switches():
            from core import switches

            self._switches, aside = switches.load()
            if aside:
                about = {"file": os.path.basename(aside)}
                self.queue_event(self.event("switch.set_aside", about, level="warn"))
        return self._switches


class TaskPlan:
    """Whether an event leads to a recall for the task, and to a write of the task to memory.

    Each reason is "new-task" if it does, else it says why not. `checkpoint save` prints them.
    """

    __slots__ = ("entered", "must_recall", "must_write", "query", "recall_reason", "write_reason", "zone")

    def __init__(
        self, zone: Zone = "unknown", entered: Sequence[str] = (), query: str = "", recall_reason: str = "",
        write_reason: str = "",
    ) -> None:  # fmt: skip
        self.zone = zone
        self.entered = [*entered]
        """The zones that this turn entered."""
        self.query = query
        self.recall_reason = recall_reason
        self.write_reason = write_reason
        self.must_recall = recall_reason == NEW_TASK
        self.must_write = write_reason == NEW_TASK


class SessionStore:
    """The store, opened when it is first needed.

    After a fault in any step, later steps skip the store, so that a hook ends in time even if the store is damaged or
    full. After STORE_BUSY they still read, since readers do not wait for the process that writes. After the answer,
    queued writes and events are tried all the same.
    """

    def __init__(self) -> None:
        self.db: apsw.Connection | None = None
        self.faults: list[Fault] = []
        self.steps: list[fault_boundary] = []
        """The steps that began so far."""

    @property
    def is_readable(self) -> bool:
        """Whether a read is worth trying."""
        return all(fault["code"] == "STORE_BUSY" for fault in self.faults)

    def reading(self) -> apsw.Connection | None:
        """The store to read from, None if there is none yet."""
        from core.store import sqlite

        self.db = self.db or sqlite.open_reading()
        return self.db

    def read(self, step: str, work: Callable[[apsw.Connection], Result], otherwise: Result) -> Result:
        """What `work` returns; `otherwise` if it fails, if there is no store yet, or if that is not worth trying."""
        if not self.is_readable:
            return otherwise
        with fault_boundary(self, step):
            if (db := self.reading()) is not None:
                return work(db)
        return otherwise

    def write(
        self, step: str, work: Callable[[apsw.Connection], Result], otherwise: Result, *, durable: bool = False,
        after_fault: bool = False,
    ) -> Result:  # fmt: skip
        """What `work` returns; `otherwise` if it fails or, unless `after_fault`, after a fault.

        It creates the store if need be. `durable`: what is written survives a power failure, too.
        """
        if self.faults and not after_fault:
            return otherwise
        with fault_boundary(self, step):
            from core.store import sqlite

            if self.db is None:
                self.db = sqlite.open_writing(busy_ms=log.BUSY_MS, durable=durable)
            else:
                sqlite.set_durability(self.db, durable, busy_ms=log.BUSY_MS)
            return work(self.db)
        return otherwise

    def step_times(self, began: float) -> list[list[Any]]:
        """Name, start and end of each step so far, in ms after `began` (`time.monotonic()`)."""
        now = time.monotonic()
        return [
            [step.name, round((step.began - began) * 1000, 3), round(((step.ended or now) - began) * 1000, 3)]
            for step in self.steps
        ]

    def has_memory_naming(self, names: Sequence[str]) -> bool:
        """Whether a written memory contains one of these names: a cheap check before a recall."""
        from core.store import sqlite

        return bool(names) and self.read("recall", lambda db: sqlite.has_phrase(db, names), False)


class fault_boundary:  # noqa: N801  # reads as the statement it is
    """`with fault_boundary(store, "recall"):` times a step, and collects its exception in `store.faults`."""

    __slots__ = ("_faults", "began", "ended", "name")

    def __init__(self, store: SessionStore, name: str) -> None:
        self.name = name
        self.began = time.monotonic()
        self.ended = 0.0
        """0 while the step is under way. Both times are of `time.monotonic()`."""
        self._faults = store.faults
        store.steps.append(self)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        self.ended = time.monotonic()
        if not isinstance(error, Exception):
            return False
        if type(error).__module__ == "apsw":
            from core.store import sqlite

            if isinstance(error, sqlite.StoreError):
                error = sqlite.as_failure(error)
        code = error.code if isinstance(error, Failure) else type(error).__name__
        self._faults.append({"step": self.name, "code": code, "message": str(error)})
        return True


def errors_of(faults: Sequence[Fault]) -> dict[str, dict[str, str]]:
    """Faults as keys of a printed result, `recallError` for the step `recall`."""
    return {fault["step"] + "Error": {"code": fault["code"], "message": fault["message"]} for fault in faults}
