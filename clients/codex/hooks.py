"""Codex: its hooks are those of Claude Code (0.169.0); a tool names its files in a patch."""

from __future__ import annotations

from clients import json_hooks
from clients.codex import transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clients.event import Kind

KINDS: dict[str, Kind] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool",
    "Stop": "turn",
    "PreCompact": "before_compaction",
    "SessionEnd": "end",
}
read = json_hooks.reader(KINDS, transcript.files_of)
answer = json_hooks.answer
