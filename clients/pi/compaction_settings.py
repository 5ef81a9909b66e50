"""What pi's own `settings.json` says of compactions. Hot path before a compaction.

The file of a project belongs to a repository: it is read within the project, and left out if it is faulty. It may give
numbers and switch compactions off, but not on again against the user.
"""

from __future__ import annotations

import os

from clients import content
from core import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients import Client
    from clients.event import CompactionSettings

SETTINGS_FILE = "settings.json"
MAX_BYTES = 65_536  # of a settings file
MAX_TOKENS = 100_000_000  # a larger number is a mistake


def read(client: Client, folder: str) -> CompactionSettings:
    """The settings in force for a session in `folder`; None for what no file says, or says wrongly."""
    try:
        with open(os.path.join(client.home(), SETTINGS_FILE), "rb") as handle:
            own = _table(handle.read(MAX_BYTES + 1))
    except (OSError, ValueError):  # it says nothing, as to pi
        own = {}
    root = project.real_root(folder)
    path = os.path.join(folder, client.project_folder, SETTINGS_FILE)
    projects: dict[str, Any] = {}
    dropped: tuple[tuple[str, str], ...] = ()
    try:
        projects = _table(project.read_file(path, root, MAX_BYTES))
    except project.UnusableFile as fault:
        dropped = ((path, fault.reason),)
    except ValueError:
        dropped = ((path, "is not a JSON object"),)
    enabled = own.get("enabled") is not False and projects.get("enabled") is not False
    return {
        "reserve": _tokens(projects, own, "reserveTokens"),
        "keep": _tokens(projects, own, "keepRecentTokens"),
        "enabled": enabled,
        "dropped": dropped,
    }


def _table(data: bytes | None) -> dict[str, Any]:
    """The table `compaction` of a file, empty where there is none; ValueError where the file is not a JSON object."""
    if data is None or not data.strip():
        return {}
    value = content.parsed(data)
    if value is None:
        raise ValueError(SETTINGS_FILE)
    return content.table(value.get("compaction"))


def _tokens(projects: dict[str, Any], own: dict[str, Any], name: str) -> int | None:
    """A number of tokens as the project's file has it, else the user's; what is none is passed over."""
    for value in (projects.get(name), own.get(name)):
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS:
            return int(value)
    return None
