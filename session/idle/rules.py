"""The rules of idle compaction (OpenClaw's idle trigger), as functions from session state to session state. Hot path.

The end of a turn sets the session's only timer; a message or a compaction removes it. A timer that is due is run once,
whether the compaction succeeds or not.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from session.records import SessionState

SCHEDULED, OFF, UNKNOWN, BELOW = "scheduled", "off", "percent-unknown", "below-threshold"
SWITCHED_OFF = "switched-off"
"""The client's own settings let it compact only when it is told to."""
NONE, WAITING, DUE, TURN_RUNNING, IN_PROGRESS = "none", "waiting", "due", "turn-running", "in-progress"
MINUTE_MS = 60_000
STALE_MS = 60 * MINUTE_MS
"""A turn without a sign of life for so long is over: its agent was killed."""
_ROUNDING = 1e-9


def ratio(percent: float | None, tokens: int | None, window: int | None) -> float | None:
    """The share of the context window in use; from tokens where given, since a percentage may be rounded."""
    if tokens is not None and window:
        return tokens / window
    return None if percent is None else percent / 100


def schedule(
    state: SessionState,
    *,
    used: float | None,
    minutes: int,
    least: float,
    now: int,
    enabled: bool = True,
    cwd: str = "",
    transcript: str = "",
) -> tuple[SessionState, str]:
    """Set the timer at the end of a turn; returns the state, and SCHEDULED or why there is no timer.

    Args:
        used: share of the context window in use, None where it is not known.
        minutes: silence after which the timer is due; 0 switches timers off.
        least: the smallest share for which a timer is set.
        enabled: the client may be compacted unasked.
    """
    if not minutes:
        return state, OFF
    if not enabled:
        return cancel(state), SWITCHED_OFF
    if used is None or used + _ROUNDING < least:
        return cancel(state), UNKNOWN if used is None else BELOW
    timer = {
        "scheduledAt": now,
        "dueAt": now + minutes * MINUTE_MS,
        "ratio": round(used, 4),
        "cwd": cwd,
        "transcript": transcript,
    }
    return {**state, "idleTimer": timer}, SCHEDULED  # type: ignore[typeddict-item]  # the fields are those of IdleTimer


def cancel(state: SessionState) -> SessionState:
    """The state without its timer."""
    return {**state, "idleTimer": None}


def turn_began(state: SessionState, now: int) -> SessionState:
    """The state after a new message: without a timer, and with a turn that runs."""
    return {**cancel(state), "turnBeganAt": now}


def is_running(state: SessionState, now: int) -> bool:
    """Whether a turn runs; one without a sign of life for STALE_MS does not."""
    began = state["turnBeganAt"]
    return began is not None and now - max(began, state["updatedAt"]) < STALE_MS


def status(state: SessionState, now: int, *, busy: bool) -> str:
    """The status of the session's timer: NONE, WAITING, DUE, TURN_RUNNING, or IN_PROGRESS where it is `busy`."""
    timer = state["idleTimer"]
    if timer is None:
        return NONE
    for happened in (state["lastMessageAt"], state["lastCompactionAt"]):
        if happened is not None and happened > timer["scheduledAt"]:
            return NONE  # told by an agent whose hooks know no timers
    if now < timer["dueAt"]:
        return WAITING
    if busy:
        return IN_PROGRESS
    return TURN_RUNNING if is_running(state, now) else DUE


def words(template: str, values: Mapping[str, str]) -> list[str]:
    """The words of a command line with each `{name}` replaced, to be run without a shell.

    Raises:
        ValueError: a quotation mark is not closed.
    """
    import shlex

    found = shlex.split(template)
    for name, value in values.items():
        found = [word.replace("{" + name + "}", value) for word in found]
    return found
