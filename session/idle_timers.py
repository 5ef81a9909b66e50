"""The timers of idle compaction (OpenClaw's idle trigger). They are kept in the state of their sessions. Hot path."""

from __future__ import annotations

import clients
from core import TYPE_CHECKING, clock, files
from session.state import PATH_CHARS, SessionState
from session.state_file import has_state, load_state, state_lock, write_state

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.config import Config

RUNNING = "JOELCLAW_IDLE_RUN"
"""An environment variable of the compaction command: hooks that run inside it report no turn of the user."""
# Results of `set_timer`. The client's own settings may allow a compaction only when the user asks for it.
SCHEDULED = "scheduled"
OFF = "off"
UNKNOWN = "percent-unknown"
BELOW = "below-threshold"
SWITCHED_OFF = "switched-off"
# Results of `status`.
NONE = "none"
WAITING = "waiting"
DUE = "due"
TURN_RUNNING = "turn-running"
IN_PROGRESS = "in-progress"


def schedule(
    session_id: str, config: Config, used: float | None, *, minutes: int = 0, agent: str = "", cwd: str = ""
) -> dict[str, Any]:
    """Set a session's timer as the end of a turn does. Returns what the command prints."""
    now = clock.now_ms()
    with state_lock(session_id):
        known, _ = load_state(session_id)
        state = known or SessionState(session_id, "interactive", now)
        if used is None:
            used = ratio(state.percent, None, None)
        previous, before = state.idle_timer, state.to_json()
        state.agent = agent or state.agent
        cwd = cwd or state.cwd or files.current_folder()
        transcript = previous["transcript"] if previous else ""
        reason = set_timer(state, used, config, minutes=minutes, cwd=cwd, transcript=transcript)
        if state.to_json() != before:
            write_state(state)
    timer = state.idle_timer if reason == SCHEDULED else None
    return {
        "sessionId": session_id,
        "scheduled": timer is not None,
        "reason": reason,
        "ratio": used,
        "threshold": config.get_float("compaction.idle_trigger_percent"),
        "replaced": timer is not None and previous is not None,
        "dueAt": timer and timer["dueAt"],
    }


def cancel(session_id: str) -> dict[str, Any]:
    """Remove a session's timer. Returns what the command prints."""
    result = {"sessionId": session_id, "known": has_state(session_id), "cancelled": False}
    if result["known"]:
        with state_lock(session_id):
            state, _ = load_state(session_id)
            if state is not None and state.idle_timer is not None:
                state.idle_timer = None
                write_state(state)
                result["cancelled"] = True
    return result


def ratio(percent: float | None, tokens: int | None, window: int | None) -> float | None:
    """How full the context is, 0 to 1; from the tokens if they are given, since a percentage may be rounded."""
    if tokens is not None and window:
        return tokens / window
    return None if percent is None else percent / 100


def set_timer(
    state: SessionState, used: float | None, config: Config, *, minutes: int = 0, cwd: str = "", transcript: str = ""
) -> str:
    """Set the timer of a session that uses the share `used` of its context. Returns SCHEDULED or why it was not set.

    `minutes`: until it is due; by default `compaction.idle_trigger_minutes`, 0 for never.
    """
    minutes = minutes or config.get_int("compaction.idle_trigger_minutes")
    if not minutes:
        return OFF
    cwd = cwd or state.cwd
    state.idle_timer = None
    if not clients.row(state.agent).compaction(cwd)["enabled"]:
        return SWITCHED_OFF
    if used is None:
        return UNKNOWN
    if used + 1e-9 < config.get_float("compaction.idle_trigger_percent"):  # 0.7 may be computed as 0.6999…
        return BELOW
    now = clock.now_ms()
    state.idle_timer = {
        "scheduledAt": now,
        "dueAt": now + minutes * 60_000,
        "ratio": round(used, 4),
        "cwd": _stored_path(cwd),
        "transcript": _stored_path(transcript),
    }
    return SCHEDULED


def status(state: SessionState, now: int, *, in_progress: bool) -> str:
    """The status of a session's timer: NONE, WAITING, DUE, TURN_RUNNING or IN_PROGRESS. `now` is in ms."""
    timer, began = state.idle_timer, state.turn_began_at
    if timer is None:
        return NONE
    for at in (state.last_message_at, state.last_compaction_at):
        if at is not None and at > timer["scheduledAt"]:
            return NONE  # reported by commands that do not know about timers
    if now < timer["dueAt"]:
        return WAITING
    if in_progress:
        return IN_PROGRESS
    # A turn without any sign of life for an hour is over: its agent was killed.
    is_running = began is not None and now - max(began, state.updated_at) < clock.HOUR_MS
    return TURN_RUNNING if is_running else DUE


def split_command(template: str, values: Mapping[str, str]) -> list[str]:
    """The words of a command with each `{name}` replaced, to run without a shell. Raises ValueError."""
    import shlex

    words = shlex.split(template)
    for name, value in values.items():
        words = [word.replace("{" + name + "}", value) for word in words]
    return words


def _stored_path(path: str) -> str:
    from core.redaction import redact
    from core.words import clean

    return redact(clean(path))[0][:PATH_CHARS]
