"""When a session that nobody talks to may be compacted (OpenClaw's idle trigger). Functions from state to state.

A turn's end schedules, at most one timer a session; a message or a compaction does away with it. A timer that has come
due is run once, whatever comes of it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Literal

    from session.state.schema import SessionState

    Standing = Literal["none", "waiting", "due", "turn-running", "in-progress"]

SCHEDULED, OFF, UNKNOWN, BELOW = "scheduled", "off", "percent-unknown", "below-threshold"
NONE, WAITING, DUE, TURN_RUNNING, IN_PROGRESS = "none", "waiting", "due", "turn-running", "in-progress"
MINUTE_MS = 60_000
STALE_MS = 60 * MINUTE_MS
"""A turn of which nothing was heard for so long has ended without a word: the agent was killed."""
MARGIN_MS = MINUTE_MS
"""Beyond the command's own time limit, after which a mark of work in flight is void."""
LONGEST_PAUSE_S = 1.0
_SHORTEST_PAUSE_S = 0.02
_ROUNDING = 1e-9


def ratio(percent: float | None, tokens: int | None, window: int | None) -> float | None:
    """Share of the context window in use; from tokens where they are told, since a percentage may be rounded."""
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
    cwd: str = "",
    transcript: str = "",
) -> tuple[SessionState, str]:
    """The state after the end of a turn, and SCHEDULED or why there is no timer.

    Args:
        used: share of the context window in use, None where it is not known.
        minutes: how long nothing may be said until the timer is due; 0: no timer is ever made.
        least: the share from which on a timer is made.
        now: ms since the epoch.
    """
    if not minutes:
        return state, OFF
    if used is None or used + _ROUNDING < least:
        return {**state, "idleTimer": None}, UNKNOWN if used is None else BELOW
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
    """The state after a new message: no timer, and a turn runs."""
    return {**cancel(state), "turnBeganAt": now}


def turn_ended(state: SessionState) -> SessionState:
    """The state after the end of a turn."""
    return {**state, "turnBeganAt": None}


def is_running(state: SessionState, now: int) -> bool:
    """Whether a turn runs; not where nothing was heard of it for STALE_MS."""
    began = state["turnBeganAt"]
    return began is not None and now - max(began, state["updatedAt"]) < STALE_MS


def standing(state: SessionState, now: int, alive: Callable[[int], bool], longest_ms: int) -> Standing:
    """How it stands with the session's timer.

    Args:
        alive: whether a process runs.
        longest_ms: what a compaction may take.
    """
    timer = state["idleTimer"]
    if timer is None:
        return "none"
    for happened in (state["lastMessageAt"], state["lastCompactionAt"]):
        if happened is not None and happened > timer["scheduledAt"]:
            return "none"  # by one who knows of no timers
    if now < timer["dueAt"]:
        return "waiting"
    if is_busy(state, now, alive, longest_ms):
        return "in-progress"
    return "turn-running" if is_running(state, now) else "due"


def is_busy(state: SessionState, now: int, alive: Callable[[int], bool], longest_ms: int) -> bool:
    """Whether this session is being compacted: by a process that is there, and no longer than that may take."""
    mark = state["idleInFlight"]
    return mark is not None and 0 <= now - mark["startedAt"] < longest_ms + MARGIN_MS and alive(mark["pid"])


def claim(state: SessionState, pid: int, now: int) -> SessionState:
    """The state with the mark that a process is at its compaction; the timer stays until that is over."""
    return {**state, "idleInFlight": {"hash": "idle", "pid": pid, "startedAt": now}}


def is_claimed(state: SessionState, pid: int, scheduled_at: int) -> bool:
    """Whether the claim of a process still stands, with the timer for which it was made."""
    mark, timer = state["idleInFlight"], state["idleTimer"]
    return mark is not None and mark["pid"] == pid and timer is not None and timer["scheduledAt"] == scheduled_at


def finish(state: SessionState, pids: Iterable[int], scheduled_at: int, *, again: bool = False) -> SessionState:
    """The state after an attempt: without its mark, and without the timer that led to it. A newer one stays.

    Args:
        pids: those under which this attempt was marked.
        again: it was not made, and is still due.
    """
    mark, timer = state["idleInFlight"], state["idleTimer"]
    if mark is not None and mark["pid"] in pids:
        mark = None
    if timer is not None and timer["scheduledAt"] == scheduled_at and not again:
        timer = None
    return {**state, "idleInFlight": mark, "idleTimer": timer}


def pause(due: Iterable[int], now: int) -> float:
    """Seconds until the next look: until a timer comes due, at most one, since a timer may be set meanwhile.

    Args:
        due: when the timers come due, in ms since the epoch, like `now`.
    """
    left = min((at - now for at in due), default=MINUTE_MS) / 1000
    return min(LONGEST_PAUSE_S, max(_SHORTEST_PAUSE_S, left))


def words(template: str, values: Mapping[str, str]) -> list[str]:
    """The words of a command, each `{name}` in them replaced; no shell reads them.

    Raises:
        ValueError: a quotation mark is not closed.
    """
    import shlex

    found = shlex.split(template)
    for name, value in values.items():
        found = [word.replace("{" + name + "}", value) for word in found]
    return found
