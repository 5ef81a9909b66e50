"""The queries of the signpost, chosen from the session's archive when it is flushed (`recovery_queries`).

`checkpoint flush` does it before it answers. A hook, for which the agent waits, leaves it to `checkpoint queries` in a
process of its own; the compaction takes the model seconds, and recovery waits for that process if need be.
"""

from __future__ import annotations

import os

from core.errors import Failure
from session.state import schema, state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.config import Config
    from session.session_store import Store
    from session.state.schema import SessionState

PATIENT_CPU_SECONDS = 0.2
"""Where nobody waits."""
_STOP_S = 2
_WAIT_S = 1.0


def gather(current: SessionState, reached: Store, config: Config, *, cpu_seconds: float | None = None) -> SessionState:
    """The state with the queries that bring back what this compaction drops, where the archive has any."""
    from session.inject import recovery_queries

    found = recovery_queries.queries(reached, current, config, cpu_seconds=cpu_seconds or recovery_queries.CPU_SECONDS)
    if not found:
        return current
    try:
        with state_file.locked(current["sessionId"]):
            known, set_aside = state_file.load(current["sessionId"])
            if known is None and not set_aside:
                return current
            current = schema.bounded({**(known or current), "recallCache": found})
            state_file.store(current)
    except Failure as failure:
        reached.faults.append({"step": "state", "code": failure.code, "message": failure.message})
    return current


def begin(session_id: str) -> bool:
    """Gather in a process of its own; whether that runs."""
    from core.process import background_process

    return background_process.begin(_lock(session_id), ["checkpoint", "queries", f"--session={session_id}"], _STOP_S)


def wait(session_id: str) -> None:
    """Wait for that process, at most one second: what it has not found by then is told without it."""
    lock = _lock(session_id)
    if os.path.exists(lock):
        from core.process import background_process

        background_process.wait(lock, _WAIT_S)


def _lock(session_id: str) -> str:
    from core import files

    return os.path.join(state_file.folder(), ".locks", "queries", files.safe_name(session_id))
