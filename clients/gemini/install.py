"""The settings of Gemini CLI."""

from __future__ import annotations

import os

from clients.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Gemini(Settings):
    def home(self) -> str:
        """Below the home that the variable names."""
        return os.path.join(os.environ.get(self.variable) or os.path.expanduser("~"), self.folder)

    def notes(self, settings: dict[str, Any], *, project: bool) -> list[str]:
        """Which folders it runs hooks in, and whether ours is switched off."""
        notes = [self.trusted_folder] if project else []
        config = settings.get("hooksConfig")
        if isinstance(config, dict):
            if config.get("enabled") is False:
                notes.append("hooks are switched off in this file by `hooksConfig.enabled`")
            elif isinstance(config.get("disabled"), list) and self.label in config["disabled"]:
                notes.append("our hook is switched off in this file by `hooksConfig.disabled`")
        return notes


SETTINGS = _Gemini(
    "gemini",
    "GEMINI_CLI_HOME",
    ".gemini",
    "settings.json",
    "takes effect when Gemini CLI is started anew",
    transcripts="tmp/*/chats/*.jsonl",
    timeout=5000,  # milliseconds
    comments=True,
    label="joelclaw",
)
