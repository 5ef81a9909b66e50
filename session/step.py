"""What an event calls for, as steps, and the one runner of them: look, recall, then one write of the state.

    previous state → every step's change → which steps are due → each takes its lock and works (recalls, composes)
    → lock the state → change again where another process has written → apply → write once → what follows (events)

Nothing is recalled while the state is locked. A step is asked whether it is due at most twice: before it takes its
lock, and once more where the state was written meanwhile. While it holds the lock nobody else does its work. The kernel
frees the lock of a process that dies.
"""

from __future__ import annotations

from core import TYPE_CHECKING, files
from session.context import work_lock
from session.faults import fault_boundary
from session.state import state_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.files import FileLock
    from session.context import Context
    from session.records import SessionState


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
