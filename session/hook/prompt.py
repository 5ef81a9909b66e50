"""What the user says: noted, and answered with a refresh where one is due, in one write of the state.

The agent waits for the answer, and each replacement of a file costs 2 ms. So the recall comes first, for what the
state says without its lock; whether its outcome is handed out is decided under the lock, with the prompt.
"""

from __future__ import annotations

from core import clock
from session import checkpoint
from session.inject import refresh
from session.session_store import Step
from session.state import schema, zones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from core.config import Config
    from session.inject.judging import Judging
    from session.inject.refresh import Decided, Prepared
    from session.session_store import Store
    from session.state.schema import SessionState
    from session.state.zones import Turn


def take(
    session_id: str,
    turn: Turn,
    config: Config,
    reached: Store,
    *,
    message: str,
    known: SessionState | None,
    judging: Judging,
    unsaved: list[Callable[[], object]],
) -> dict[str, Any] | None:
    """Note a prompt. The result of the refresh (`refreshing.refresh`) where one was due, else None.

    The recall for a new task is left to the next event of the turn.

    Args:
        message: what the user said, as typed.
        known: the state as it was before this prompt.
        judging: of what was handed out before, by what was said since.
        unsaved: gets what notes the prompt alone, as long as that is still to be done when the time is over.

    Raises:
        Failure: the state cannot be read or written (STATE_...).
    """
    now = clock.now_ms()
    active_at = known["updatedAt"] if known is not None else None

    def decided(current: SessionState) -> Decided:
        return refresh.decide(current, config, now, message=message, percent=turn["percent"], active_at=active_at)

    def stamped(current: SessionState) -> SessionState:
        return {**current, "lastMessageAt": now} if message.strip() else current

    prepared: Prepared | None = None
    with Step(reached, "refresh"):
        ahead = judging.of(zones.take_turn(known or schema.blank(session_id, "interactive", now), turn))
        due = decided(ahead)
        if due["begun"]:
            unsaved.append(lambda: checkpoint.save(session_id, turn, config, defer=True, also=stamped))
            prepared = refresh.prepare(ahead, due, config, reached)
    handed_out: list[SessionState] = []

    def noted(current: SessionState) -> SessionState:
        with Step(reached, "feedback"):
            current = judging.of(current)
        # Another process may have handed one out, or be at it.
        with Step(reached, "refresh"):
            if prepared is not None and decided(current)["begun"]:
                current = refresh.settled(current, prepared)
                handed_out.append(current)
        return stamped(current)

    checkpoint.save(session_id, turn, config, reached, defer=True, also=noted)
    unsaved.clear()
    with Step(reached, "feedback"):
        judging.settle(session_id, reached)
    with Step(reached, "refresh"):
        if prepared is not None and handed_out:
            return refresh.told(handed_out[0], prepared, reached)
    return None
