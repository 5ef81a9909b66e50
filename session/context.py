"""What one call about one session has at hand: whose it is, the settings, the store, the time, what went wrong."""

from __future__ import annotations

import os

from core import TYPE_CHECKING, clock, files
from core.errors import Failure
from session.state import state_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.config import Config
    from core.records import Event
    from core.repository.switches import Switches
    from session.records import ContextUsage, Fault, SessionState
    from session.session_store import SessionStore


class Context:
    """One call about one session; `deferred`: the caller stores the events once it has answered (`write_events`)."""

    def __init__(
        self, session_id: str, config: Config, *, role: str = "", agent: str = "", deferred: bool = False
    ) -> None:
        self.session_id = session_id
        self.config = config
        self.role = state_file.role_name(role) if role else ""
        self.agent = agent
        self.now = clock.now_ms()
        self.faults: list[Fault] = []
        self.events: list[Event] = []
        """Not stored yet."""
        self.is_new = False
        """No state of the session was on disk when it was last read."""
        self.is_late = False
        """The deadline is over: what can wait for the next event does."""
        self.set_aside = ""
        """Where a damaged state file was set aside to."""
        self.usage: ContextUsage | None = None
        """How full the context is, where this call found out."""
        self.on_deadline: Callable[[], object] | None = None
        """What must be done even when the time is over before the answer is there."""
        self._deferred = deferred
        self._recalled: list[str] = []
        self._store: SessionStore | None = None
        self._previous: SessionState | None = None
        self._has_read = False
        self._stamp: tuple[int, int, int] | None = None
        """Of the file that `previous` was read from."""
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

    def note(self, events: Sequence[Event], *, recalled: Sequence[str] = ()) -> None:
        """Store events, and count the memories that were injected; with `deferred`, keep both for `write_events`."""
        self.events += events
        self._recalled += recalled
        if not self._deferred:
            self.write_events()

    def write_events(self) -> bool:
        """Store the events in one transaction; whether they are stored. What is not stays in `events`."""
        if not self.events or not self.store.append(self.events, self._recalled):
            return False
        self.events, self._recalled = [], []
        return True

    def is_off(self, cwd: str) -> bool:
        """Whether the session is switched off, by itself, with its project (of `cwd`, else of its state) or all."""
        if (known := self._known_switches()) is None:
            return False
        from core.repository import switches

        return switches.off(known, self.session_id, cwd or self._folder()) is not None

    def has_been_off(self, cwd: str) -> bool:
        """Whether the session was switched off at some time since it began."""
        if (known := self._known_switches()) is None:
            return False
        from core.repository import switches

        began = self.previous["startedAt"] if self.previous is not None else 0
        silences = switches.concerning(known, self.session_id, cwd or self._folder())
        return any(one["until"] is None or one["until"] > began for one in silences)

    def is_excluded(self, cwd: str = "") -> bool:
        """Whether nothing of the session is archived, by the folder that it works in."""
        if (known := self._known_switches()) is None:
            return False
        from core.repository import switches

        return switches.is_excluded(known, cwd or self._folder())

    def _known_switches(self) -> Switches | None:
        """What the user has switched off, read once; None where that is nothing. A damaged file is set aside."""
        if self._has_switches and self._switches is None:
            from core.repository import switches

            self._switches, aside = switches.sound()
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
