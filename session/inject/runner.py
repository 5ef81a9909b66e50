"""What every injection answers, and what it leaves in the state."""

from __future__ import annotations

import os

from core.errors import Failure
from core.quoting import cost
from session.state import state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from session.session_store import Store
    from session.state.schema import Memory, SessionState


NO_CHECKPOINT = "no-checkpoint"


def settle(current: SessionState, reached: Store, change: Callable[[SessionState], SessionState]) -> None:
    """After an injection, or none: the state as it is on disk now without its mark, with what `change` notes in it.

    A state that cannot be written is a fault of `reached`; the text goes out all the same.
    """
    try:
        with state_file.locked(current["sessionId"]):
            known, set_aside = state_file.load(current["sessionId"])
            if known is None and not set_aside:
                return
            known = known or current
            mark = known["injectionInFlight"]
            if mark is not None and mark["pid"] == os.getpid():
                known["injectionInFlight"] = None
            state_file.store(change(known))
    except Failure as failure:
        reached.faults.append({"step": "state", "code": failure.code, "message": failure.message})


def handed_out(current: SessionState, memories: Sequence[Memory], query: str) -> SessionState:
    """The state after an injection.

    Args:
        memories: those handed out, to see whether they are used.
        query: what they were recalled for.
    """
    current = {**current, "counts": {**current["counts"], "injections": current["counts"]["injections"] + 1}}
    return remember(current, memories, query)


def remember(current: SessionState, memories: Sequence[Memory], query: str) -> SessionState:
    """The state with what must be seen of these memories, handed out for a query, to tell whether they are used."""
    if not memories:
        return current
    from core import words
    from session.inject import feedback

    return feedback.remember(current, memories, words.split(query))


def injected(
    session_id: str, custom: str, content: str, told: Mapping[str, Any], reached: Store, set_aside: str = ""
) -> dict[str, Any]:
    """The result of an injection."""
    return {
        "injected": True,
        "reason": "injected",
        "customType": custom,
        "content": content,
        "display": False,
        "chars": len(content),
        "estimatedTokens": cost(content),
        "sessionId": session_id,
        **told,
        **_odd(reached, set_aside),
    }


def skipped(session_id: str, reason: str, reached: Store, set_aside: str = "") -> dict[str, Any]:
    """The result where nothing is injected."""
    return {
        "injected": False,
        "reason": reason,
        "customType": None,
        "content": "",
        "display": False,
        "chars": 0,
        "estimatedTokens": 0,
        "sessionId": session_id,
        **_odd(reached, set_aside),
    }


def _odd(reached: Store, set_aside: str) -> dict[str, Any]:
    """What did not go as it should: a damaged file, a store that could not be used."""
    odd: dict[str, Any] = {"setAside": set_aside} if set_aside else {}
    from session.session_store import errors_of

    return {**odd, **errors_of(reached.faults)}
