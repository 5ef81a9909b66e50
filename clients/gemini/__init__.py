"""Gemini CLI."""

import os

from clients import Client


class Gemini(Client):
    """It has no event after a compression, and its chat file records none (0.61.0)."""

    name = "gemini"
    title = "Gemini CLI"
    home_variable = "GEMINI_CLI_HOME"
    home_folder = ".gemini"
    settings_file = "settings.json"
    hook_timeout = 5000  # milliseconds
    transcripts = "tmp/*.jsonl"
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

    def home(self) -> str:
        """Its configuration folder, which is below the home that the variable names."""
        return os.path.join(os.environ.get(self.home_variable) or os.path.expanduser("~"), self.home_folder)
