"""Codex: its hooks are those of Claude Code (0.169.0); a tool names its files in a patch."""

from __future__ import annotations

from memory.transcripts import codex as transcript
from session.agents import client_payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from session.agents.event import HookEvent, Kind

_KINDS: dict[str, Kind] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool",
    "Stop": "turn",
    "PreCompact": "before_compaction",
    "SessionEnd": "end",
}
answer = client_payload.answer


def read(payload: dict[str, Any], name: str) -> HookEvent:
    """The event of a payload; `name` where it names none."""
    return client_payload.read(payload, name, _KINDS, transcript.files_of)
