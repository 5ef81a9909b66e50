"""The timers of idle compaction (OpenClaw's idle trigger), which lie in the state of their sessions. Hot path."""

from __future__ import annotations

import os

import clients
from core import TYPE_CHECKING, clock, files
from session.faults import fault_boundary
from session.state import state_file
from session.step import Step

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clients.event import HookEvent
    from core.config import Config
    from session.records import ContextUsage, SessionState
    from session.records import IdleTimer as Timer
    from session.step import Context

RUNNING = "JOELCLAW_IDLE_RUN"
"""Set in the environment of a compaction command: hooks that run inside it report no turn of the user."""
SCHEDULED, OFF, UNKNOWN, BELOW = "scheduled", "off", "percent-unknown", "below-threshold"
SWITCHED_OFF = "switched-off"
"""The client's own settings let it compact only when it is told to."""
NONE, WAITING, DUE, TURN_RUNNING, IN_PROGRESS = "none", "waiting", "due", "turn-running", "in-progress"
MINUTE_MS = 60_000
STALE_MS = 60 * MINUTE_MS
"""A turn without a sign of life for so long is over: its agent was killed."""
_ROUNDING = 1e-9


class IdleTimer(Step):
    """What a hook's event means to the timer: a prompt takes it away, the end of a turn sets it anew."""

    name = "idle"

    def __init__(self, context: Context, event: HookEvent, usage: ContextUsage | None) -> None:
        self._context = context
        self._event = event
        self._usage = usage

    def change(self, state: SessionState) -> SessionState:
        """The state with its timer; what a compaction command's own hooks tell is no user's turn."""
        if os.environ.get(RUNNING):
            return state
        event, usage, now = self._event, self._usage, self._context.now
        if event["kind"] == "prompt":
            return turn_began(state, now)
        state = {**state, "turnBeganAt": None}
        if event["kind"] == "turn" and usage is not None:
            with fault_boundary(self._context.faults, self.name):
                used = ratio(usage["percent"], usage["tokens"], usage["window"])
                agent, cwd, transcript = self._context.agent, event["cwd"], event["transcript"]
                config = self._context.config
                state, _ = with_timer(state, used, config, now, agent=agent, cwd=cwd, transcript=transcript)
        return state


def schedule(
    session_id: str, config: Config, used: float | None, *, minutes: int = 0, agent: str = "", cwd: str = ""
) -> dict[str, Any]:
    """Set the session's timer, as the end of a turn does; returns what the command prints."""
    now = clock.now_ms()
    with state_file.locked(session_id):
        known, _ = state_file.load(session_id)
        current = known or state_file.blank(session_id, "interactive", now)
        if used is None:
            used = ratio(current["checkpoint"]["contextPercentAtCapture"], None, None)
        old = current["idleTimer"]
        agent, cwd = agent or current["agent"], cwd or current["cwd"] or files.current_folder()
        transcript = old["transcript"] if old else ""
        after, reason = with_timer(
            {**current, "agent": agent}, used, config, now, minutes=minutes, agent=agent, cwd=cwd, transcript=transcript
        )
        if after != current:
            state_file.write(after)
    timer = after["idleTimer"] if reason == SCHEDULED else None
    return {
        "sessionId": session_id,
        "scheduled": timer is not None,
        "reason": reason,
        "ratio": used,
        "threshold": config.get_float("compaction.idle_trigger_percent"),
        "replaced": timer is not None and old is not None,
        "dueAt": timer and timer["dueAt"],
    }


def cancel(session_id: str) -> dict[str, Any]:
    """Remove the session's timer; returns what the command prints."""
    result = {"sessionId": session_id, "known": state_file.exists(session_id), "cancelled": False}
    if result["known"]:
        with state_file.locked(session_id):
            known, _ = state_file.load(session_id)
            if known is not None and known["idleTimer"] is not None:
                state_file.write(without_timer(known))
                result["cancelled"] = True
    return result


def ratio(percent: float | None, tokens: int | None, window: int | None) -> float | None:
    """The share of the context window in use; from tokens where given, since a percentage may be rounded."""
    if tokens is not None and window:
        return tokens / window
    return None if percent is None else percent / 100


def with_timer(
    state: SessionState,
    used: float | None,
    config: Config,
    now: int,
    *,
    minutes: int = 0,
    agent: str = "",
    cwd: str = "",
    transcript: str = "",
) -> tuple[SessionState, str]:
    """The state with a timer, and SCHEDULED or why there is none; `minutes` and `used` as `schedule` has them."""
    minutes = minutes or config.get_int("compaction.idle_trigger_minutes")
    if not minutes:
        return state, OFF
    state, where = without_timer(state), cwd or state["cwd"]
    if not clients.row(agent).compaction(where)["enabled"]:
        return state, SWITCHED_OFF
    if used is None or used + _ROUNDING < config.get_float("compaction.idle_trigger_percent"):
        return state, UNKNOWN if used is None else BELOW
    timer: Timer = {
        "scheduledAt": now,
        "dueAt": now + minutes * MINUTE_MS,
        "ratio": round(used, 4),
        "cwd": _path(where),
        "transcript": _path(transcript),
    }
    return {**state, "idleTimer": timer}, SCHEDULED


def without_timer(state: SessionState) -> SessionState:
    """The state without its timer."""
    return {**state, "idleTimer": None}


def turn_began(state: SessionState, now: int) -> SessionState:
    """The state after a new message: without a timer, and with a turn that runs."""
    return {**without_timer(state), "turnBeganAt": now}


def status(state: SessionState, now: int, *, busy: bool) -> str:
    """The status of the session's timer: NONE, WAITING, DUE, TURN_RUNNING, or IN_PROGRESS where it is `busy`."""
    timer, began = state["idleTimer"], state["turnBeganAt"]
    if timer is None:
        return NONE
    for happened in (state["lastMessageAt"], state["lastCompactionAt"]):
        if happened is not None and happened > timer["scheduledAt"]:
            return NONE  # told by an agent whose hooks know no timers
    if now < timer["dueAt"]:
        return WAITING
    if busy:
        return IN_PROGRESS
    is_running = began is not None and now - max(began, state["updatedAt"]) < STALE_MS
    return TURN_RUNNING if is_running else DUE


def words(template: str, values: Mapping[str, str]) -> list[str]:
    """The words of a command line with each `{name}` replaced, to be run without a shell. Raises ValueError."""
    import shlex

    found = shlex.split(template)
    for name, value in values.items():
        found = [word.replace("{" + name + "}", value) for word in found]
    return found


def _path(path: str) -> str:
    from core.redaction import redact
    from core.words import clean

    return redact(clean(path))[0][: state_file.PATH_CHARS]
