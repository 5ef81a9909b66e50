"""Gemini CLI: context reaches the model from SessionStart, BeforeAgent and AfterTool (measured with 0.61.0).

It has no event after a compression, and its transcript records none; PreCompress comes before every request. So a
compression is told by what the next event finds: the last prompt is far smaller than the one before.
"""

from __future__ import annotations

from memory.transcripts import gemini as transcript
from session.agents import payload as fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from session.agents.event import HookEvent, Kind, Text

_KINDS: dict[str, Kind] = {
    "SessionStart": "start",
    "BeforeAgent": "prompt",
    "AfterTool": "tool",
    "AfterAgent": "turn",
    "SessionEnd": "end",
}
COMPACTION_IS_SILENT = True
_REACHES_THE_MODEL = ("SessionStart", "BeforeAgent", "AfterTool")


def read(payload: dict[str, Any], name: str) -> HookEvent:
    """The event of a payload; `name` where it names none."""
    name = fields.text(payload, "hook_event_name") or name
    event = fields.event(payload, name, _KINDS.get(name, "ignored"))
    if name == "BeforeAgent":
        event["messages"] = fields.prompt(payload)
    elif name == "AfterTool":
        event["files"] = transcript.files_of(fields.text(payload, "tool_name"), fields.table(payload, "tool_input"))
    return event


def answer(event: HookEvent, texts: Sequence[Text]) -> str:
    """What is printed; empty where nothing is to be said, or would not reach the model."""
    if not texts or event["name"] not in _REACHES_THE_MODEL:
        return ""
    return fields.additional_context(event, fields.joined([text["content"] for text in texts]))
