"""Gemini CLI."""

from clients import Client


class Gemini(Client):
    """It has no event after a compression, and its chat file records none (0.61.0)."""

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
