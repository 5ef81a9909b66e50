"""The recall for a session's task, and its memory in the hot zone, in a background process.

Nothing of it is for the hook's answer, and the agent waits for that.
"""

from __future__ import annotations

from session import checkpoint, session_event
from session.context import Context, work_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STOP_S = 5


def begin(context: Context) -> None:
    """Start the process; where none can be started, do it here.

    Raises:
        Failure: as `checkpoint.save`.
    """
    from core.process import background_process

    lock = work_lock(context.session_id, checkpoint.Checkpoint.name)
    if not background_process.begin(lock, ["background", "task", context.session_id], _STOP_S):
        context.read_previous()  # this event has written
        checkpoint.catch_up(context)


def run(context: Context, *, holds_lock: bool) -> dict[str, Any]:
    """What the process does; a fault of the store becomes an event, since nobody reads what it prints.

    Raises:
        Failure: SESSION_NOT_FOUND; else as `checkpoint.save`.
    """
    from otel import spool

    result = checkpoint.catch_up(context, holds_lock=holds_lock)
    for fault in context.faults[:1]:
        role = str(result["role"])
        event = session_event.event("checkpoint.degraded", role, context.session_id, fault, context.now, level="warn")
        spool.keep([event])
    return result
