"""A plugin of the client, with the hooks and our MCP server: `python -m session.install.plugin CLIENT FOLDER`.

The folder is a marketplace of one plugin, as `/plugin` takes it. It calls `joelclaw` by name, since it may be copied to
another machine.
"""

import json
import os
import sys
from typing import Any

import clients
from core import VERSION
from session import own_command
from session.install import client_settings, entries

_NAME = own_command.NAME
_ABOUT = "Keeps what a compaction throws away: recall, checkpoints, a recovery note."
_OWNER = {"name": "The joelclaw authors"}


def files(name: str) -> dict[str, str]:
    """The text of each file, by its path in the folder."""
    client = client_settings.settings_of(clients.row(name))
    plugin = {"name": _NAME, "version": VERSION, "description": _ABOUT, "author": _OWNER, "license": "MIT"}
    listed: dict[str, Any] = {"name": _NAME, "source": "./", "description": _ABOUT}
    hooks = {event: [group] for event, group in entries.hook_groups(client, _NAME).items()}
    parts = {
        ".claude-plugin/plugin.json": plugin,
        ".claude-plugin/marketplace.json": {"name": _NAME, "description": _ABOUT, "owner": _OWNER, "plugins": [listed]},
        "hooks/hooks.json": {"description": _ABOUT, "hooks": hooks},
        ".mcp.json": {"mcpServers": {_NAME: {"type": "stdio", "command": _NAME, "args": ["mcp"]}}},
    }
    texts = {path: json.dumps(value, indent=2) + "\n" for path, value in parts.items()}
    skill = next(text for path, text, _ in entries.own_files(client, _NAME, project=True) if path.endswith("SKILL.md"))
    return {**texts, f"skills/{_NAME}/SKILL.md": skill}


if __name__ == "__main__":
    for path, text in files(sys.argv[1]).items():
        place = os.path.join(sys.argv[2], path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
