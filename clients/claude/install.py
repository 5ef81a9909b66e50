"""The settings of Claude Code."""

from __future__ import annotations

import os

from clients.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Claude(Settings):
    def notes(self, settings: dict[str, Any], *, project: bool) -> list[str]:  # noqa: ARG002
        """Whether hooks are switched off."""
        off = settings.get("disableAllHooks") is True
        return ["hooks are switched off in this file by `disableAllHooks`"] if off else []

    def servers(self, *, project: bool) -> str:
        """A project's own file beside its folder; the user's in his home, or in the folder that the variable names."""
        if project:
            return os.path.abspath(".mcp.json")
        return os.path.join(os.path.abspath(os.environ.get(self.variable) or os.path.expanduser("~")), ".claude.json")

    def server(self, command: str) -> dict[str, Any]:
        """With its type, as `claude mcp add` writes it."""
        return {"type": "stdio", **super().server(command)}


SETTINGS = _Claude(
    "claude",
    "CLAUDE_CONFIG_DIR",
    ".claude",
    "settings.json",
    "takes effect in the next session of Claude Code",
    transcripts="projects/**/*.jsonl",
    timeout=5,  # seconds
    allowed=("permissions", "allow"),
    rule="Bash({}:*)",
    skill="skills/joelclaw/SKILL.md",
    servers_file=".claude.json",
    has_servers=True,
)
