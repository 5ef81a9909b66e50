"""Claude Code: what PreCompact prints goes into the summariser's prompt, so nothing is printed there (2.1.329)."""

from __future__ import annotations

from clients import json_hooks
from clients.claude import transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import HookEvent, Kind

KINDS: dict[str, Kind] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool",
    "Stop": "turn",
    "PreCompact": "before_compaction",
    "SessionEnd": "end",
}
answer = json_hooks.answer


def read(payload: dict[str, Any], name: str) -> HookEvent:
    """The event of a payload; `name` where it names none."""
    return json_hooks.read(payload, name, KINDS, transcript.files_of)
