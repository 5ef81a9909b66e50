"""OpenCode, in which our plugin runs (`extension.js`)."""

from clients.extension_hooks import ExtensionClient


class OpenCode(ExtensionClient):
    """It keeps its sessions in a database of its own."""

    name = "opencode"
    title = "OpenCode"
