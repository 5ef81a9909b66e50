"""OpenCode, in which our plugin runs (`extension.js`)."""

import os

from clients.extension_hooks import ExtensionClient


class OpenCode(ExtensionClient):
    """It keeps its sessions in a database of its own."""

    name = "opencode"
    title = "OpenCode"
    home_variable = "OPENCODE_CONFIG_DIR"
    home_folder = ".config/opencode"
    project_folder = ".opencode"
    settings_file = "plugin/joelclaw.js"

    def home(self) -> str:
        """Its configuration folder: without its own variable, below the folder of all configuration."""
        if os.environ.get("XDG_CONFIG_HOME") and not os.environ.get(self.home_variable):
            return os.path.join(os.environ["XDG_CONFIG_HOME"], "opencode")
        return super().home()
