"""Gemini CLI (0.61.0): it has no event after a compression, and its transcript records none.

PreCompress comes before every request, so it says nothing. A compression shows at the next event: the last prompt is
far smaller than the one before.
"""

from __future__ import annotations

from clients import json_hooks
from clients.gemini import transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clients.event import Kind

KINDS: dict[str, Kind] = {
    "SessionStart": "start",
    "BeforeAgent": "prompt",
    "AfterTool": "tool",
    "AfterAgent": "turn",
    "SessionEnd": "end",
}
read = json_hooks.reader(KINDS, transcript.files_of)
answer = json_hooks.answer
