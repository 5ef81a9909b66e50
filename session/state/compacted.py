"""What a compaction means to a session's state: counted, zones reset, cache kept, and not answered twice in a minute.

Pure functions of ADR-0203, stage 3 and "Double-compaction cascade".
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from session.state.schema import SessionState

GATEWAY = "gateway"
COMPONENT = "session-lifecycle"


def is_rapid(state: SessionState, now: int, cooldown_ms: float) -> bool:
    """Whether the last injection is so recent that its text is still in the context; not after the clock went back."""
    last = state["lastInjectionAt"]
    return last is not None and 0 <= now - last < cooldown_ms


def take_compaction(state: SessionState, now: int, *, injecting: bool) -> SessionState:
    """The state after a compaction: one more, the zones start anew, no timer waits, the recall cache stays."""
    checkpoint = state["checkpoint"]
    return {
        **state,
        "warmZoneEntered": False,
        "hotZoneEntered": False,
        "halfRefreshed": False,
        "idleTimer": None,
        "lastCompactionAt": now,
        "lastInjectionAt": now if injecting else state["lastInjectionAt"],
        "checkpoint": {**checkpoint, "compactionCount": checkpoint["compactionCount"] + 1},
        "updatedAt": now,
    }


def action(name: str, role: str) -> str:
    """The event's name: a gateway's compactions are told apart (`gateway.compaction.inject`)."""
    return f"gateway.{name}" if role == GATEWAY else name


def counted(state: SessionState) -> dict[str, Any]:
    """The number of compactions under the key that the mirrored events have for it."""
    key = "gwCompactionCount" if state["role"] == GATEWAY else "compactionCount"
    return {key: state["checkpoint"]["compactionCount"]}


def before(state: SessionState, now: int) -> dict[str, Any]:
    """The metadata of `compaction.before`."""
    checkpoint = state["checkpoint"]
    last = state["lastCompactionAt"]
    return {
        **counted(state),
        "contextPercent": checkpoint["contextPercentAtCapture"],
        "contextTokens": state["contextTokens"],
        "contextLimit": state["contextLimit"],
        "recallCacheSize": len(state["recallCache"]),
        "recallHits": len(checkpoint["recallHits"]),
        "filesCount": len(checkpoint["filesModified"]),
        "userMessageCount": state["counts"]["userMessages"],
        "timeSinceLastCompactionMs": None if last is None else max(0, now - last),
        "timeSinceSessionStartMs": max(0, now - state["startedAt"]),
    }
