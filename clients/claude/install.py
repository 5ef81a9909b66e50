"""The settings of Claude Code."""

from __future__ import annotations

from clients.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Claude(Settings):
    def notes(self, settings: dict[str, Any], *, project: bool) -> list[str]:  # noqa: ARG002
        """Whether hooks are switched off."""
        off = settings.get("disableAllHooks") is True
        return ["hooks are switched off in this file by `disableAllHooks`"] if off else []


SETTINGS = _Claude(
    "claude",
    "CLAUDE_CONFIG_DIR",
    ".claude",
    "settings.json",
    "takes effect in the next session of Claude Code",
    transcripts="projects/**/*.jsonl",
    timeout=5,  # seconds
)
