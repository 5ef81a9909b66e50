"""What an event calls for, as steps, in the context of one call; and their one runner: look, recall, write once.

    previous state → every step's change → which steps are due → each takes its lock and works (recalls, composes)
    → lock the state → change again where another process has written → apply → write once → what follows (events)

Nothing is recalled while the state is locked. A step is asked whether it is due at most twice: before it takes its
lock, and once more where the state was written meanwhile. While it holds the lock nobody else does its work. The kernel
frees the lock of a process that dies.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, clock, files
from core.errors import Failure
from otel import log
from session.faults import fault_boundary
from session.state import state_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.config import Config
    from core.files import FileLock
    from core.records import Event
    from core.switches import Switches
    from session.records import ContextUsage, Fault, SessionState
    from session.session_store import SessionStore


class Context:
    """One call about one session."""

    def __init__(self, session_id: str, config: Config, *, role: str = "", agent: str = "") -> None:
        self.session_id = session_id
        self.config = config
        self.role = state_file.role_name(role) if role else ""
        self.agent = agent
        self.now = clock.now_ms()
        self.faults: list[Fault] = []
        self.is_new = False
        """No state of the session was on disk when it was last read."""
        self.is_late = False
        """The deadline is over: what can wait for the next event does."""
        self.is_looked_up = False
        """A text was handed out by which a recall finds its session: it is stored with this call."""
        self._unkept: list[Event] = []  # the spool had no room for them
        self.set_aside = ""
        """Where a damaged state file was set aside to."""
        self.usage: ContextUsage | None = None
        """How full the context is, where this call found out."""
        self.on_deadline: Callable[[], object] | None = None
        """What must be done even when the time is over before the answer is there."""
        self._store: SessionStore | None = None
        self._previous: SessionState | None = None
        self._has_read = False
        self._stamp: tuple[int, int, int] | None = None  # of the file that `previous` was read from
        self._unusable: Failure | None = None
        self._switches: Switches | None = None
        self._has_switches = files.has_switches()

    @property
    def store(self) -> SessionStore:
        """The store; imported at the first need, since some calls need none."""
        if self._store is None:
            from session.session_store import SessionStore

            self._store = SessionStore(self.config, self.now, self.faults)
        return self._store

    @property
    def previous(self) -> SessionState | None:
        """The state as it was before this call, read once; None where there is none, or it cannot be read."""
        if not self._has_read:
            self.read_previous()
        return self._previous

    def read_previous(self) -> None:
        """Read the state, again where another process has written. What is damaged is set aside by the next write."""
        stamp = state_file.stamp(self.session_id)
        if stamp is not None and stamp == self._stamp:
            return
        self._has_read, self._unusable, self._previous = True, None, None
        try:
            self._previous = state_file.peek(self.session_id)
        except Failure as failure:
            if failure.code != "STATE_DAMAGED":
                self._unusable = failure
        self._stamp = stamp if self._previous is not None else None

    def load(self) -> tuple[SessionState | None, str]:
        """The state as it is now, within `state_file.locked`; and where a damaged one was set aside, or ""."""
        if self._stamp is not None and state_file.stamp(self.session_id) == self._stamp:
            return self._previous, ""
        return state_file.load(self.session_id)

    def check_state(self) -> None:
        """Raise what makes the state unusable, before anything is done for it."""
        if self.previous is None and self._unusable is not None:
            raise self._unusable

    def note(self, events: Sequence[Event]) -> None:
        """Keep events in the spool, until who lets its client go or looks at the log stores them."""
        if not log.spool(events):
            self._unkept += events

    def close(self, *, silent: bool = False) -> None:
        """Store what waits, where nobody waits for this (`silent`), a recall looks it up, or there is no more room."""
        if silent or self.is_looked_up or self._unkept:
            log.store_spooled(self._unkept, self.store.db)
            self._unkept = []

    def is_off(self, cwd: str) -> bool:
        """Whether the session is switched off, by itself, with its project (of `cwd`, else of its state) or all."""
        if (known := self._known_switches()) is None:
            return False
        from core import switches

        return switches.silence_in_force(known, self.session_id, cwd or self._folder()) is not None

    def has_been_off(self, cwd: str) -> bool:
        """Whether the session was switched off at some time since it began."""
        if (known := self._known_switches()) is None:
            return False
        from core import switches

        began = self.previous["startedAt"] if self.previous is not None else 0
        silences = switches.silences_of(known, self.session_id, cwd or self._folder())
        return any(one["until"] is None or one["until"] > began for one in silences)

    def is_excluded(self, cwd: str = "") -> bool:
        """Whether nothing of the session is archived, by the folder that it works in."""
        if (known := self._known_switches()) is None:
            return False
        from core import switches

        return switches.is_excluded(known, cwd or self._folder())

    def _known_switches(self) -> Switches | None:
        """What the user has switched off, read once; None where that is nothing. A damaged file is set aside."""
        if self._has_switches and self._switches is None:
            from core import switches

            self._switches, aside = switches.load()
            if aside:
                from session import session_event

                self.note([session_event.set_aside("switch.set_aside", "", self.session_id, aside, self.now)])
        return self._switches

    def _folder(self) -> str:
        return self.directory(self.previous) if self.previous is not None else files.current_folder()

    def serves_all(self, state: SessionState) -> bool:
        """Whether the session works on no project of its own, and is told of all: a gateway."""
        return state["role"] == state_file.GATEWAY

    def project_of(self, state: SessionState, cwd: str = "") -> str:
        """The project that a session works on, by `directory`; "" where it is not known, and for a gateway."""
        if self.serves_all(state):
            return ""
        from core import project

        return project.name_of(self.directory(state, cwd))

    def directory(self, state: SessionState, cwd: str = "") -> str:
        """Where the agent works: `cwd`, else as the state knows, else the current folder; "" where that was removed."""
        return cwd or state["cwd"] or files.current_folder()


def work_lock(session_id: str, name: str) -> str:
    """The lock file of one kind of work for a session: who holds it is at it. Apart from the locks of the states: a
    session may be called like a kind of work."""
    return os.path.join(state_file.work_folder(), name, files.safe_name(session_id))


class Step:
    """One thing that an event calls for. A step without work only overrides `change`."""

    name = ""
    """Of its faults, and of its lock."""
    takes_lock = True
    """False where the caller holds it."""

    def change(self, state: SessionState) -> SessionState:
        """What it notes in the state in any case; called for each state that the runner looks at."""
        return state

    def is_due(self, state: SessionState) -> bool:  # noqa: ARG002  # as its subclasses
        """Whether its work is due by this state."""
        return False

    def work(self, state: SessionState) -> None:
        """The work, such as a recall; the state is not locked."""

    def apply(self, state: SessionState) -> SessionState:
        """The state with what came of the work."""
        return state

    def is_busy(self) -> None:
        """Called where another process is at the same work."""

    def follow_up(self, state: SessionState, *, late: bool = False) -> None:
        """What is done once the state is written; `late`: the deadline came before the work was done."""


def run(context: Context, steps: Sequence[Step]) -> SessionState:
    """Run the steps of one event, in order; returns the state that was written, or found where nothing changed."""
    context.check_state()
    aside = context.set_aside
    worked: list[Step] = []
    held: list[FileLock] = []
    try:
        asked = context.previous
        ahead = _changed(context, asked, steps)
        claimed = [step for step in steps if _is_due(context, step, ahead) and _claim(context, step, held)]
        if claimed:
            context.on_deadline = lambda: _write_late(context, steps)
            with state_file.locked(context.session_id):  # what cannot be written is not worked for
                pass
            context.read_previous()
            if context.previous is not asked:  # a process that has just freed a lock has written
                ahead = _changed(context, context.previous, steps)
                claimed = [step for step in claimed if _is_due(context, step, ahead)]
        for step in claimed:
            with fault_boundary(context.faults, step.name):
                step.work(ahead)
                worked.append(step)
                ahead = step.apply(ahead)
        is_known = context.previous is not None or worked or state_file.exists(context.session_id)
        if not is_known and ahead == _blank(context):  # nothing came to be
            return ahead
        state = _write(context, steps, worked, ahead)
    finally:
        for lock in held:
            lock.__exit__(None, None, None)
    _finish(context, steps, state, aside, late=False)
    return state


def _is_due(context: Context, step: Step, state: SessionState) -> bool:
    with fault_boundary(context.faults, step.name):
        return step.is_due(state)
    return False


def _claim(context: Context, step: Step, held: list[FileLock]) -> bool:
    """Whether no other process is at the step."""
    if not step.takes_lock:
        return True
    lock = files.FileLock(work_lock(context.session_id, step.name), 0)
    try:
        lock.__enter__()
    except files.LockTimeout:
        step.is_busy()
        return False
    except OSError as error:
        raise state_file.failure_of(error) from None
    held.append(lock)
    return True


def _changed(context: Context, found: SessionState | None, steps: Sequence[Step]) -> SessionState:
    context.is_new = found is None
    state = found or _blank(context)
    if context.role and context.role != state["role"]:
        state = {**state, "role": context.role}
    for step in steps:
        state = step.change(state)
    return state


def _blank(context: Context) -> SessionState:
    return state_file.blank(context.session_id, context.role or "interactive", context.now)


def _write(context: Context, steps: Sequence[Step], worked: Sequence[Step], ahead: SessionState) -> SessionState:
    """Apply what was worked out to the state as it is on disk now, and write it if that changes it."""
    with state_file.locked(context.session_id):
        context.on_deadline = None
        found, set_aside = context.load()
        context.set_aside = set_aside or context.set_aside
        was_cleared = found is None and not set_aside and context.previous is not None
        current = ahead
        if found is not context.previous:
            current = _changed(context, found, steps)
            for step in () if was_cleared else worked:
                with fault_boundary(context.faults, step.name):
                    current = step.apply(current)
        if current != (found or _blank(context)) or (found is None and worked and not was_cleared):
            state_file.write(current)
    return current


def _write_late(context: Context, steps: Sequence[Step]) -> None:
    """The deadline is over: write what the steps change, without the work that is not done."""
    aside, context.is_late = context.set_aside, True
    state = _write(context, steps, (), _changed(context, context.previous, steps))
    _finish(context, steps, state, aside, late=True)


def _finish(context: Context, steps: Sequence[Step], state: SessionState, aside: str, *, late: bool) -> None:
    if context.set_aside != aside:
        from session import session_event

        about = state["role"], context.session_id, context.set_aside, context.now
        context.note([session_event.set_aside("session.state.set_aside", *about)])
    for step in steps:
        with fault_boundary(context.faults, step.name):
            step.follow_up(state, late=late)
