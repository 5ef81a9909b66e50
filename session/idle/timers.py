"""The timers of idle compaction (OpenClaw's idle trigger), which lie in the state of their sessions. Hot path."""

from __future__ import annotations

import clients
from core import TYPE_CHECKING, clock, files
from session.state import PATH_CHARS, SessionState
from session.state_file import has_state, load_state, state_lock, write_state

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.config import Config
    from session.state import IdleTimer

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


def schedule(
    session_id: str, config: Config, used: float | None, *, minutes: int = 0, agent: str = "", cwd: str = ""
) -> dict[str, Any]:
    """Set the session's timer, as the end of a turn does; returns what the command prints."""
    now = clock.now_ms()
    with state_lock(session_id):
        known, _ = load_state(session_id)
        state = known or SessionState(session_id, "interactive", now)
        if used is None:
            used = ratio(state.percent, None, None)
        old, before = state.idle_timer, state.to_json()
        state.agent = agent or state.agent
        cwd = cwd or state.cwd or files.current_folder()
        transcript = old["transcript"] if old else ""
        reason = set_timer(state, used, config, now, minutes=minutes, agent=state.agent, cwd=cwd, transcript=transcript)
        if state.to_json() != before:
            write_state(state)
    timer = state.idle_timer if reason == SCHEDULED else None
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
    result = {"sessionId": session_id, "known": has_state(session_id), "cancelled": False}
    if result["known"]:
        with state_lock(session_id):
            known, _ = load_state(session_id)
            if known is not None and known.idle_timer is not None:
                known.idle_timer = None
                write_state(known)
                result["cancelled"] = True
    return result


def ratio(percent: float | None, tokens: int | None, window: int | None) -> float | None:
    """The share of the context window in use; from tokens where given, since a percentage may be rounded."""
    if tokens is not None and window:
        return tokens / window
    return None if percent is None else percent / 100


def set_timer(
    state: SessionState,
    used: float | None,
    config: Config,
    now: int,
    *,
    minutes: int = 0,
    agent: str = "",
    cwd: str = "",
    transcript: str = "",
) -> str:
    """Set the timer of a session; returns SCHEDULED, or why there is none; `minutes` and `used` as in `schedule`."""
    minutes = minutes or config.get_int("compaction.idle_trigger_minutes")
    if not minutes:
        return OFF
    cwd = cwd or state.cwd
    state.idle_timer = None
    if not clients.row(agent).compaction(cwd)["enabled"]:
        return SWITCHED_OFF
    if used is None or used + _ROUNDING < config.get_float("compaction.idle_trigger_percent"):
        return UNKNOWN if used is None else BELOW
    timer: IdleTimer = {
        "scheduledAt": now,
        "dueAt": now + minutes * MINUTE_MS,
        "ratio": round(used, 4),
        "cwd": _path(cwd),
        "transcript": _path(transcript),
    }
    state.idle_timer = timer
    return SCHEDULED


def status(state: SessionState, now: int, *, busy: bool) -> str:
    """The status of the session's timer: NONE, WAITING, DUE, TURN_RUNNING, or IN_PROGRESS where it is `busy`."""
    timer, began = state.idle_timer, state.turn_began_at
    if timer is None:
        return NONE
    for happened in (state.last_message_at, state.last_compaction_at):
        if happened is not None and happened > timer["scheduledAt"]:
            return NONE  # told by an agent whose hooks know no timers
    if now < timer["dueAt"]:
        return WAITING
    if busy:
        return IN_PROGRESS
    is_running = began is not None and now - max(began, state.updated_at) < STALE_MS
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

    return redact(clean(path))[0][:PATH_CHARS]
