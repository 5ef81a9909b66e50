"""pi, in which our extension runs (`extension.js`)."""

from __future__ import annotations

from clients.extension_hooks import ExtensionClient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clients.event import CompactionSettings


class Pi(ExtensionClient):
    """Its settings say when it compacts."""

    name = "pi"
    title = "pi"
    home_variable = "PI_CODING_AGENT_DIR"
    home_folder = ".pi/agent"
    project_folder = ".pi"
    settings_file = "extensions/joelclaw.ts"
    transcripts = "sessions/*.jsonl"
    session_file = "session file"
    has_entries = True
    own_rules = True
    takes_summary = True

    def compaction(self, folder: str) -> CompactionSettings:
        """What the user's settings say, and over them the project's."""
        if not folder or "\0" in folder:
            return super().compaction(folder)
        from clients.pi import compaction_settings

        return compaction_settings.read(self, folder)
