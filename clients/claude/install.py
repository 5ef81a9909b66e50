"""The settings of Claude Code."""

from __future__ import annotations

import os

from clients import settings
from clients.settings import Obstacle, read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MANAGED = ("/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json")
"""What an administrator decides, on Linux and on macOS."""


class Settings(settings.Settings):
    """Of Claude Code."""

    variable = "CLAUDE_CONFIG_DIR"
    folder = ".claude"
    file = "settings.json"
    applies = "takes effect in the next session of Claude Code"
    transcripts = "projects/*.jsonl"
    timeout = 5  # seconds
    edit_tools = "Edit|Write|MultiEdit|NotebookEdit"
    allowed = ("permissions", "allow")
    rule = "Bash({}:*)"
    skill = "skills/joelclaw/SKILL.md"
    servers_file = ".claude.json"
    has_servers = True

    def servers(self, *, project: bool) -> str:
        """A project's own file beside its folder; the user's in his home, or in the folder that the variable names."""
        if project:
            return os.path.abspath(".mcp.json")
        return os.path.join(os.path.abspath(os.environ.get(self.variable) or os.path.expanduser("~")), ".claude.json")

    def server(self, command: str) -> dict[str, Any]:
        """With its type, as `claude mcp add` writes it."""
        return {"type": "stdio", **super().server(command)}

    def switched_off(self, *, project: bool) -> list[Obstacle]:  # noqa: ARG002  # all files count for either
        """`disableAllHooks`, which the nearest file decides, an administrator's rules, and the bare mode."""
        found = []
        for path in _MANAGED:
            rules = read_settings(path)
            found += [
                Obstacle(f"hooks are switched off by `{name}` in {path}", f"ask the administrator of {path}")
                for name in ("disableAllHooks", "allowManagedHooksOnly", "strictPluginOnlyCustomization")
                if rules.get(name)
            ]
        for path in self._nearest_first():
            value = read_settings(path).get("disableAllHooks")
            if value is True:
                about = f"hooks are switched off by `disableAllHooks` in {path}"
                found.append(Obstacle(about, f"delete the line `disableAllHooks` in {path}"))
            if value is not None:
                break
        if os.environ.get("CLAUDE_CODE_SIMPLE", "") not in ("", "0", "false"):
            found.append(Obstacle("CLAUDE_CODE_SIMPLE is set: no hook runs", "unset CLAUDE_CODE_SIMPLE"))
        return found

    def settings_beside(self, *, project: bool) -> list[str]:
        """The files that count beside the one with our hooks."""
        own = self.path(project=project)
        return [path for path in dict.fromkeys(self._nearest_first()) if path != own]

    def _nearest_first(self) -> tuple[str, ...]:
        local = os.path.abspath(os.path.join(self.folder, "settings.local.json"))
        return (local, self.path(project=True), self.path(project=False))
