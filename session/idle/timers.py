"""Sets and removes the timers of idle compaction, which lie in the state of their sessions. Hot path.

Hooks import this only where `compaction.idle_trigger_minutes` is set.
"""

from __future__ import annotations

import os

from clients import registry
from core import clock, files
from session.faults import fault_boundary
from session.idle import rules
from session.state import schema, state_file
from session.step import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import HookEvent
    from core.config import Config
    from session.context import Context
    from session.records import ContextUsage, SessionState

RUNNING = "JOELCLAW_IDLE_RUN"
"""Set in the environment of a compaction command: hooks that run inside it report no turn of the user."""


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
            return rules.turn_began(state, now)
        state = {**state, "turnBeganAt": None}
        if event["kind"] == "turn" and usage is not None:
            with fault_boundary(self._context.faults, self.name):
                used = rules.ratio(usage["percent"], usage["tokens"], usage["window"])
                where = self._context.agent, event["cwd"], event["transcript"]
                state, _ = _scheduled(state, used, 0, *where, self._context.config, now)
        return state


def schedule(
    session_id: str,
    config: Config,
    *,
    percent: float | None = None,
    tokens: int | None = None,
    window: int | None = None,
    minutes: int = 0,
    agent: str = "",
    cwd: str = "",
) -> dict[str, Any]:
    """Set the session's timer, as the end of a turn does; returns what the command prints.

    Args:
        percent: context usage; without it and tokens, the session's last known one.
        minutes: 0 for `compaction.idle_trigger_minutes`.
    """
    now = clock.now_ms()
    with state_file.locked(session_id):
        known, _ = state_file.load(session_id)
        current = known or schema.blank(session_id, "interactive", now)
        used = rules.ratio(percent, tokens, window)
        if used is None:
            last = current["checkpoint"]["contextPercentAtCapture"]
            used = rules.ratio(last, None, None)
        old = current["idleTimer"]
        transcript = old["transcript"] if old else ""
        agent = agent or current["agent"]
        where = agent, cwd or current["cwd"] or files.current_folder(), transcript
        after, reason = _scheduled(current, used, minutes, *where, config, now)
        after = {**after, "agent": agent or after["agent"]}
        if after != current:
            state_file.write(after)
    scheduled = reason == rules.SCHEDULED
    return {
        "sessionId": session_id,
        "scheduled": scheduled,
        "reason": reason,
        "ratio": used,
        "threshold": config.get_float("compaction.idle_trigger_percent"),
        "replaced": scheduled and old is not None,
        "dueAt": after["idleTimer"]["dueAt"] if scheduled and after["idleTimer"] else None,
    }


def cancel(session_id: str) -> dict[str, Any]:
    """Remove the session's timer; returns what the command prints."""
    result = {"sessionId": session_id, "known": os.path.exists(state_file.path_of(session_id)), "cancelled": False}
    if result["known"]:
        with state_file.locked(session_id):
            known, _ = state_file.load(session_id)
            if known is not None and known["idleTimer"] is not None:
                state_file.write(rules.cancel(known))
                result["cancelled"] = True
    return result


def _scheduled(
    current: SessionState,
    used: float | None,
    minutes: int,
    agent: str,
    cwd: str,
    transcript: str,
    config: Config,
    now: int,
) -> tuple[SessionState, str]:
    folder = cwd or current["cwd"]
    return rules.schedule(
        current,
        used=used,
        enabled=registry.row(agent).compaction(folder)["enabled"],
        minutes=minutes or config.get_int("compaction.idle_trigger_minutes"),
        least=config.get_float("compaction.idle_trigger_percent"),
        now=now,
        cwd=_path(cwd) or current["cwd"],
        transcript=_path(transcript),
    )


def _path(path: str) -> str:
    """A path as it is stored: redacted, and of limited length."""
    from core.redaction import redact
    from core.words import clean

    return redact(clean(path))[0][: schema.PATH_CHARS]
