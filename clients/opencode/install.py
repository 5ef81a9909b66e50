"""Where OpenCode looks for plugins."""

from __future__ import annotations

import os

from clients.settings import Settings


class _OpenCode(Settings):
    def home(self) -> str:
        """As OpenCode finds it: without its own variable, below the folder of all configuration."""
        if os.environ.get("XDG_CONFIG_HOME") and not os.environ.get(self.variable):
            return os.path.join(os.environ["XDG_CONFIG_HOME"], "opencode")
        return super().home()


SETTINGS = _OpenCode(
    "opencode",
    "OPENCODE_CONFIG_DIR",
    ".config/opencode",
    "plugin/joelclaw.js",
    "takes effect when OpenCode is started anew",
    local_folder=".opencode",
)
