"""Whether the agent used what it was handed: echo and fizzle, told from the turns that follow an injection.

A memory is kept with up to twelve distinctive words, those that the session itself had not said. When the agent then
says half of them, and three at least, before the user does, the memory has echoed; after three turns without, it has
fizzled. Either is judged once (the mirrored CLI: +.1 and -.05 of priority).
"""

from __future__ import annotations

from core.quoting import DELIMITER
from memory.noise import is_own
from session.faults import fault_boundary
from session.inject import distinctive_words
from session.state import schema
from session.step import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clients.event import Item, Said
    from session.context import Context
    from session.session_store import Verdict
    from session.state.schema import Memory, Pending, SessionState


TURNS = 3
TERMS_LEAST = 3


class Feedback(Step):
    """Judges memories that were injected before by what a transcript has that is new.

    Args:
        items: what is new, in order.
        ended: whether the agent's turn is over.
    """

    name = "feedback"

    def __init__(self, context: Context, items: Sequence[Item], *, ended: bool) -> None:
        self._context = context
        self._items = items
        self._ended = ended
        self._verdicts: list[Verdict] = []

    def change(self, state: SessionState) -> SessionState:
        """What is still pending; the verdicts of the last call count."""
        self._verdicts = []
        if self._items and state["pendingFeedback"] and not self._context.is_late:
            with fault_boundary(self._context.faults, self.name):
                state, self._verdicts = judge(state, self._items, ended=self._ended)
        return state

    def follow_up(self, state: SessionState) -> None:
        """Move the priorities of what was judged."""
        if self._verdicts:
            self._context.store.move_priorities(self._verdicts, role=state["role"], session=state["sessionId"])


def remember(state: SessionState, memories: Sequence[Memory], known_words: Collection[str]) -> SessionState:
    """The state with memories that are handed to the agent now; one that was pending is judged anew.

    A memory with fewer than three distinctive words is left out: nothing could be said of it.

    Args:
        known_words: what else the agent has before it, such as the query's words (`core.words.split`).
    """
    known = {*known_words, *distinctive_words.spoken(state["checkpoint"]["currentTask"])}
    for text in (*(entry["text"] for entry in state["messages"]), *state["files"]):
        known.update(distinctive_words.spoken(text))
    given = {memory["id"]: memory for memory in memories}
    pending = [entry for entry in state["pendingFeedback"] if entry["id"] not in given]
    for memory in given.values():
        telling = distinctive_words.distinctive(memory["text"], known)[: schema.TERMS_KEPT]
        if len(telling) >= TERMS_LEAST:
            pending.append({"id": memory["id"], "terms": telling, "used": 0, "asked": False, "turns": 0})
    return schema.bounded({**state, "pendingFeedback": pending})


def judge(state: SessionState, items: Sequence[Item], *, ended: bool = True) -> tuple[SessionState, list[Verdict]]:
    """The state after new items of the transcript, and the memories that can be judged by them.

    Only what the assistant says, runs and edits counts as use, and what the user said before it does not.

    Args:
        items: in order; those from before the injection must have been taken before `remember`.
        ended: whether the agent's turn is over; in the middle of one nothing fizzles yet.
    """
    pending = state["pendingFeedback"]
    if not pending:
        return state, []
    verdicts: list[Verdict] = []
    for item in items:
        if item["kind"] != "said" or not pending:
            continue
        if item["role"] == "user":
            if not is_own(item["text"]):
                pending = _asked(pending, distinctive_words.spoken(item["text"]), verdicts)
        else:
            pending = _answered(pending, _shown(item), verdicts)
    if ended:
        pending = _without_fizzled(pending, verdicts)
    return {**state, "pendingFeedback": pending}, verdicts


def _asked(pending: list[Pending], said: set[str], verdicts: list[Verdict]) -> list[Pending]:
    """A user message ends the turn before it, and what it says is no sign of use any more."""
    kept: list[Pending] = []
    for entry in _without_fizzled(pending, verdicts):
        left = [term for term in entry["terms"] if term not in said]
        if len(left) + entry["used"] >= TERMS_LEAST:
            kept.append({**entry, "terms": left, "asked": True})
    return kept


def _answered(pending: list[Pending], said: set[str], verdicts: list[Verdict]) -> list[Pending]:
    kept: list[Pending] = []
    for entry in pending:
        left = [term for term in entry["terms"] if term not in said]
        used = entry["used"] + len(entry["terms"]) - len(left)
        if used >= TERMS_LEAST and used >= len(left):
            verdicts.append((entry["id"], "echo", used))
            continue
        turns = entry["turns"] + entry["asked"]
        kept.append({**entry, "terms": left, "used": used, "asked": False, "turns": turns})
    return kept


def _without_fizzled(pending: list[Pending], verdicts: list[Verdict]) -> list[Pending]:
    fizzled = [entry for entry in pending if entry["turns"] >= TURNS]
    verdicts.extend((entry["id"], "fizzle", entry["used"]) for entry in fizzled)
    return [entry for entry in pending if entry["turns"] < TURNS]


def _shown(said: Said) -> set[str]:
    """The words of what the assistant said and did; looking a memory up, or quoting our frame, is no use of it."""
    found: set[str] = set() if DELIMITER in said["text"] else distinctive_words.spoken(said["text"])
    for tool in said["tools"]:
        if "joelclaw" not in tool["command"]:
            found |= distinctive_words.spoken(tool["command"])
        for path in tool["files"]:
            found |= distinctive_words.spoken(path)
    return found
