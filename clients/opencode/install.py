"""Where OpenCode looks for plugins."""

import os

from clients import settings


class Settings(settings.Settings):
    """Of OpenCode."""

    variable = "OPENCODE_CONFIG_DIR"
    folder = ".config/opencode"
    local_folder = ".opencode"
    file = "plugin/joelclaw.js"
    applies = "takes effect when OpenCode restarts"

    def home(self) -> str:
        """As OpenCode finds it: without its own variable, below the folder of all configuration."""
        if os.environ.get("XDG_CONFIG_HOME") and not os.environ.get(self.variable):
            return os.path.join(os.environ["XDG_CONFIG_HOME"], "opencode")
        return super().home()
