"""Claude Code: what PreCompact prints goes into the summariser's prompt, so nothing is printed there (2.1.329)."""

from __future__ import annotations

from clients import json_hooks
from clients.claude import transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clients.event import Kind

KINDS: dict[str, Kind] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool",
    "Stop": "turn",
    "PreCompact": "before_compaction",
    "SubagentStop": "summary",
    "SessionEnd": "end",
}
read = json_hooks.reader(KINDS, transcript.files_of)
answer = json_hooks.answer
