"""A tool that was used, or the end of a turn: noted, with memories on what is edited first, in one write of the state.

The recall comes before it, for what the state said then, as for a prompt (`hook.prompt`); whether its outcome is
handed out is decided under the lock.
"""

from __future__ import annotations

from core import clock
from session import checkpoint
from session.session_store import Step
from session.state import schema, zones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from core.config import Config
    from session.inject.judging import Judging
    from session.inject.project_context import Prepared
    from session.session_store import Store
    from session.state.schema import SessionState
    from session.state.zones import Turn


def take(
    session_id: str,
    turn: Turn,
    config: Config,
    reached: Store,
    *,
    files: Sequence[str],
    cwd: str,
    known: SessionState | None,
    judging: Judging,
    unsaved: list[Callable[[], object]],
) -> tuple[SessionState, dict[str, Any] | None]:
    """The state with this turn, and the result of `project_context.inject` where a file is of a part not had yet.

    Recall and writing for a new task are left to another process.

    Args:
        files: those that were edited, where memories on them can still reach the model.
        known: the state as it was before.
        judging: of what was handed out before, by what was said since.
        unsaved: as of `session.hook.prompt.take`.

    Raises:
        Failure: the state cannot be read or written (STATE_...).
    """
    prepared: Prepared | None = None
    if files:
        from session.inject import project_context

        with Step(reached, "project"):
            now = clock.now_ms()
            before = known or schema.blank(session_id, turn["role"] or "interactive", now)
            asked = project_context.decide(before, files, cwd, config, now)["asked"]
            if asked is not None:
                unsaved.append(lambda: checkpoint.save(session_id, turn, config, defer=True))
                prepared = project_context.prepare(before, asked, reached)
    written: list[SessionState] = []
    handed_out = False

    def noted(current: SessionState) -> SessionState:
        nonlocal handed_out
        with Step(reached, "feedback"):
            current = judging.of(current)
        with Step(reached, "project"):
            if prepared is not None and not project_context.is_known(current, prepared):
                current = project_context.settled(current, prepared)
                handed_out = True
        written.append(current)
        return current

    saved = checkpoint.save(session_id, turn, config, reached, defer=True, also=noted)
    unsaved.clear()
    with Step(reached, "feedback"):
        judging.settle(session_id, reached)
    if zones.DEFERRED in (saved["recallReason"], saved["writeReason"]):
        from session import task_job

        with Step(reached, "task"):
            task_job.begin(session_id, config, reached)
    with Step(reached, "project"):
        if prepared is not None and handed_out:
            return written[0], project_context.told(written[0], prepared, reached)
    return written[0], None
