"""Claude Code: context reaches the model from SessionStart, UserPromptSubmit and PostToolUse only.

What PreCompact prints goes into the summariser's prompt, so nothing is printed there (measured with 2.1.329).
"""

from __future__ import annotations

from memory.transcripts import claude as transcript
from session.agents import payload as fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from session.agents.event import HookEvent, Kind, Text

_KINDS: dict[str, Kind] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool",
    "Stop": "turn",
    "PreCompact": "before_compaction",
    "SessionEnd": "end",
}
_REACHES_THE_MODEL = ("SessionStart", "UserPromptSubmit", "PostToolUse")


def read(payload: dict[str, Any], name: str) -> HookEvent:
    """The event of a payload; `name` where it names none."""
    name = fields.text(payload, "hook_event_name") or name
    event = fields.event(payload, name, _KINDS.get(name, "ignored"))
    if name == "SessionStart" and event["source"] == "compact":
        event["kind"] = "after_compaction"
    elif name == "UserPromptSubmit":
        event["messages"] = fields.prompt(payload)
    elif name == "PostToolUse":
        event["files"] = transcript.files_of(fields.text(payload, "tool_name"), fields.table(payload, "tool_input"))
    return event


def answer(event: HookEvent, texts: Sequence[Text]) -> str:
    """What is printed; empty where nothing is to be said, or would not reach the model."""
    if not texts or event["name"] not in _REACHES_THE_MODEL:
        return ""
    return fields.additional_context(event, fields.joined([text["content"] for text in texts]))
