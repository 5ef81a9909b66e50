"""OpenCode, in which our plugin runs. It keeps its sessions in a database of its own. Hot path."""

from __future__ import annotations

import os

from clients.extension import ExtensionClient


class OpenCode(ExtensionClient):
    """Its plugin sends the new messages with each event."""

    name = "opencode"
    title = "OpenCode"
    home_variable = "OPENCODE_CONFIG_DIR"
    home_folder = ".config/opencode"
    project_folder = ".opencode"
    settings_file = "plugin/joelclaw.js"

    def home(self) -> str:
        """Its configuration folder; without its own variable it is below `XDG_CONFIG_HOME`, if that is set."""
        if os.environ.get("XDG_CONFIG_HOME") and not os.environ.get(self.home_variable):
            return os.path.join(os.environ["XDG_CONFIG_HOME"], "opencode")
        return super().home()
