"""Claude Code: what PreCompact prints goes into the summariser's prompt, so nothing is printed there (2.1.329)."""

from __future__ import annotations

from memory.transcripts import claude as transcript
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
