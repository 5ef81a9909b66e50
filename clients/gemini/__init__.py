"""Gemini CLI."""

from __future__ import annotations

from clients.client import Client


class Gemini(Client):
    """It has no event after a compression, and its chat file records none (0.61.0).

    PreCompress comes before every request, so it says nothing. A compression shows at the next event: the last prompt
    is far smaller than the one before.
    """

    name = "gemini"
    title = "Gemini CLI"
    events = {
        "SessionStart": "start",
        "BeforeAgent": "prompt",
        "AfterTool": "tool",
        "AfterAgent": "turn",
        "SessionEnd": "end",
    }
    session_file = "chat file"
    silent = True
    window = 1_048_576
