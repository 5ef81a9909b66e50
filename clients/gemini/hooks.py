"""Gemini CLI (0.61.0): it has no event after a compression, and its transcript records none.

PreCompress comes before every request, so it says nothing. A compression shows at the next event: the last prompt is
far smaller than the one before.
"""

from __future__ import annotations

from clients import json_hooks
from clients.gemini import transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import HookEvent, Kind

KINDS: dict[str, Kind] = {
    "SessionStart": "start",
    "BeforeAgent": "prompt",
    "AfterTool": "tool",
    "AfterAgent": "turn",
    "SessionEnd": "end",
}
answer = json_hooks.answer


def read(payload: dict[str, Any], name: str) -> HookEvent:
    """The event of a payload; `name` where it names none."""
    return json_hooks.read(payload, name, KINDS, transcript.files_of)
