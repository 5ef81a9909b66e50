"""Whether memories that were handed out before were used, told from what a transcript has that is new.

Judged in the write of the state that a hook makes anyhow: replacing the file once more would cost 2 ms.
"""

from __future__ import annotations

from session.state import state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.item import Item
    from session.inject.feedback import Verdict
    from session.session_store import Store
    from session.state.schema import SessionState


class Judging:
    """One look at what was said.

    Args:
        items: what is new, in order.
        ended: whether the agent's turn is over.
        role: that of the environment, "" for the session's.
    """

    __slots__ = ("_ended", "_items", "_role", "_verdicts")

    def __init__(self, items: Sequence[Item], *, ended: bool, role: str) -> None:
        self._items = items
        self._ended = ended
        self._role = role
        self._verdicts: list[Verdict] = []

    def of(self, current: SessionState) -> SessionState:
        """The state after it; the same one where there is nothing to judge. The last call's verdicts count."""
        self._verdicts = []
        if not self._items or not current["pendingFeedback"]:
            return current
        from session.inject import feedback

        self._role = self._role or current["role"]
        after, self._verdicts = feedback.judge(current, self._items, ended=self._ended)
        return after

    def settle(self, session_id: str, reached: Store) -> None:
        """Move the priorities of what was judged, once the state is written."""
        if self._verdicts:
            reached.settle(self._verdicts, role=self._role, session=session_id)

    def alone(self, session_id: str, reached: Store) -> None:
        """Both, where nothing else is noted in the state.

        Raises:
            Failure: the state cannot be read or written (STATE_...).
        """
        with state_file.locked(session_id):
            current, _ = state_file.load(session_id)
            if current is None:
                return
            after = self.of(current)
            if after is not current:
                state_file.store(after)
        self.settle(session_id, reached)
