"""Tells the user that a compaction starts: on the agent's own screen where that is harmless, else by a command.

Harmless: pi and OpenCode, where our extension shows it. Not Claude Code: what PreCompact prints, `systemMessage` too,
goes into the summariser's prompt (measured with 2.1.329). Codex and Gemini CLI were not seen to show any. The hook does
not wait: the command runs in a process of its own.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import Text
    from core.config import Config

_SECONDS = 10
"""How long the command may take."""
_STOP_S = 15
_MOST_CHARS = 500


def text(config: Config) -> str:
    """`compaction.notify_on_start_text` on one line, at most 500 characters."""
    from core.quoting import clip, one_line

    return clip(one_line(config.text("compaction.notify_on_start_text")), _MOST_CHARS)


def begin(agent: str, config: Config) -> list[Text]:
    """Announce a compaction; returns the text that the agent's extension shows, where it is the one to do it.

    Only where `compaction.notify_on_start` is set, and not in a compaction that `joelclaw idle run` has announced.
    """
    from clients import registry
    from session.idle import timers

    if not config.flag("compaction.notify_on_start") or os.environ.get(timers.RUNNING):
        return []
    if registry.row(agent).extension:
        from clients.extension_hooks import NOTICE

        said = text(config)
        return [{"customType": NOTICE, "content": said}] if said else []
    start_command(config)
    return []


def start_command(config: Config) -> bool:
    """Start a background process that runs `notify.command`; returns whether that runs."""
    if not config.text("notify.command").strip():
        return False
    from core import files
    from core.process import background_process

    return background_process.begin(
        os.path.join(files.home(), "sessions", ".work", "notify"), ["background", "notice"], _STOP_S
    )


def deliver(config: Config) -> dict[str, Any]:
    """Run `notify.command` with the text for `{text}`, else on its stdin, for at most 10 s.

    Records an event; returns what the command prints.
    """
    from core import clock
    from core.process import process_group
    from otel.event import new_event
    from session.idle import rules
    from session.session_store import SessionStore

    command, said = config.text("notify.command"), text(config)
    result: dict[str, Any] = {"delivered": False, "text": said, "reason": "no-command", "exitStatus": None}
    if not command.strip():
        return result
    try:
        words = rules.words(command, {"text": said})
    except ValueError as error:
        ended = process_group.Ended(None, f"notify.command: {error}", "not-started")
    else:
        data = b"" if "{text}" in command else said.encode() + b"\n"
        ended = process_group.run(words, seconds=_SECONDS, data=data)
    result["delivered"] = ended.status == 0
    result["reason"] = "delivered" if ended.status == 0 else ended.reason or "failed"
    result["exitStatus"] = ended.status
    SessionStore(config, clock.now_ms()).append(
        [
            new_event(
                "compaction.notify.completed" if result["delivered"] else "compaction.notify.failed",
                source="interactive",
                component="session-lifecycle",
                level="info" if result["delivered"] else "warn",
                success=result["delivered"],
                error=None if result["delivered"] else ended.explained(),
                now=clock.now_ms(),
            )
        ]
    )
    return result
