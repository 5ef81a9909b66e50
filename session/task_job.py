"""The recall for a session's task, and its memory in the hot zone: a hook leaves them to `checkpoint task`.

In a process of its own, since nothing of it is for the hook's answer and the agent waits for that.
"""

from __future__ import annotations

import os

from core import clock, files
from session import checkpoint
from session.state import state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.config import Config
    from session.session_store import Store

_STOP_S = 5


def begin(session_id: str, config: Config, reached: Store) -> None:
    """Start the process; where none can be started, do it here.

    Raises:
        Failure: as `checkpoint.save`.
    """
    from core.process import background_process

    if not background_process.begin(lock_of(session_id), ["checkpoint", "task", f"--session={session_id}"], _STOP_S):
        checkpoint.catch_up(session_id, config, reached)


def run(session_id: str, config: Config) -> dict[str, Any]:
    """What the process does; a fault of the store becomes an event, since nobody reads what it prints.

    Raises:
        Failure: SESSION_NOT_FOUND; else as `checkpoint.save`.
    """
    from session import session_event
    from session.hook import spool
    from session.session_store import Store

    now = clock.now_ms()
    reached = Store(config, now)
    result = checkpoint.catch_up(session_id, config, reached)
    for fault in reached.faults[:1]:
        role = str(result["role"])
        spool.keep([session_event.event("checkpoint.degraded", role, session_id, fault, now, level="warn")])
    return result


def lock_of(session_id: str) -> str:
    """Held by the process as long as it runs."""
    return os.path.join(state_file.folder(), ".locks", "task", files.safe_name(session_id))
