"""What a client is told that asks before it compacts: leave it out, take a summary of ours, show a notice. Hot path.

A notice is shown by our extension in pi and OpenCode; in Claude Code what PreCompact prints goes into the summariser's
prompt (measured with 2.1.329), so there a process of its own runs `notify.command`.
"""

from __future__ import annotations

import os

import clients
from session.session import COMPONENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import HookEvent, Text
    from core.config import Config
    from session.session import Session

NOTHING_SINCE = "nothing-since-compaction"
ACTION = "compaction.cancelled"
_SAID = "Nothing was said since the last compaction: another one would only drop what that one kept."
_EXTRACT_MS = 30_000
_MODEL_CALLS = 2  # a split turn has two summaries
_NOTIFY_S, _STOP_S = 10, 15  # of `notify.command`, and of the process that runs it
_MOST_CHARS = 500


def cancelled(event: HookEvent, session: Session) -> list[Text]:
    """What the extension is told if the compaction is to be left out, with an event; [] if it is not."""
    if event["said"] != 0 or not clients.row(session.agent).takes_summary:
        return []
    from clients.extension import CANCEL, NOTICE

    about = {"reason": NOTHING_SINCE, "instructed": bool(event["instructions"])}
    name = session.state.compaction_event(ACTION)
    session.queue_event(session.event(name, {**session.state.compaction_metadata, **about}))
    return [{"customType": CANCEL, "content": NOTHING_SINCE}, {"customType": NOTICE, "content": _SAID}]


def summary(event: HookEvent, session: Session) -> list[Text]:
    """How long (ms) the extension may wait for a summary of ours; [] where instructions need the client's own model."""
    config = session.config
    if config.get_str("compaction.summary") != "joelclaw" or not clients.row(session.agent).takes_summary:
        return []
    has_model = bool(config.get_str("model.command").strip())
    if event["instructions"].strip() and not has_model:
        return []
    from clients.extension import SUMMARY

    asked = config.get_int("model.timeout_seconds") * 1000 * _MODEL_CALLS if has_model else 0
    return [{"customType": SUMMARY, "content": str(_EXTRACT_MS + asked)}]


def announce(agent: str, config: Config) -> list[Text]:
    """Announce a compaction that is not `idle run`'s; returns the text that the agent's extension shows."""
    from session import idle_timers

    if not config.get_bool("compaction.notify_on_start") or os.environ.get(idle_timers.RUNNING):
        return []
    if clients.row(agent).extension:
        from clients.extension import NOTICE

        said = _notice(config)
        return [{"customType": NOTICE, "content": said}] if said else []
    start_notify_command(config)
    return []


def _notice(config: Config) -> str:
    from core.quoting import clip, one_line

    return clip(one_line(config.get_str("compaction.notify_on_start_text")), _MOST_CHARS)


def start_notify_command(config: Config) -> None:
    """Start a background process that runs `notify.command`, where there is one."""
    if not config.get_str("notify.command").strip():
        return
    from core import files
    from core.process import background

    folder = os.path.join(files.home(), "sessions", ".work", "notify")
    background.start(["background", "notice"], _STOP_S, folder)


def notify(config: Config) -> dict[str, Any]:
    """Run `notify.command` with the text for `{text}`, else on its stdin, for at most 10 s, and record an event."""
    from core import clock
    from core.process.command import Command, Ended
    from otel import log
    from otel.event import new_event
    from session import idle_timers

    command, said = config.get_str("notify.command"), _notice(config)
    if not command.strip():
        return {"delivered": False, "reason": "no-command"}
    try:
        words = idle_timers.split_command(command, {"text": said})
    except ValueError as error:
        ended = Ended(None, f"notify.command: {error}".encode(), "not-started")
    else:
        ended = Command(words, seconds=_NOTIFY_S, data=b"" if "{text}" in command else said.encode() + b"\n").run()
    is_done = ended.status == 0
    now, name = clock.now_ms(), f"compaction.notify.{'completed' if is_done else 'failed'}"
    level, why = ("info", None) if is_done else ("warn", ended.explain())
    event = new_event(name, source="interactive", component=COMPONENT, level=level, success=is_done, error=why, now=now)
    log.store_spooled([event])  # nobody waits for this
    return {"delivered": is_done, "reason": "" if is_done else ended.reason or "failed"}
