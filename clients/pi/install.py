"""Where pi looks for extensions, and what its own `settings.json` says of compactions. Hot path before a compaction.

A project's `settings.json` is a repository's: read within the project, and a fault in it leaves it out. It says
numbers, and may switch compactions off, but not on again against the user.
"""

from __future__ import annotations

import os

from clients import content, settings
from clients.settings import Obstacle, read_settings
from core.repository import project_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients import Client
    from clients.event import CompactionSettings

_FILE = "settings.json"
_MOST_TOKENS = 100_000_000


class Settings(settings.Settings):
    """Of pi."""

    variable = "PI_CODING_AGENT_DIR"
    folder = ".pi/agent"
    local_folder = ".pi"
    file = "extensions/joelclaw.ts"
    applies = "takes effect when pi starts next, or after /reload"
    transcripts = "sessions/*.jsonl"

    def switched_off(self, *, project: bool) -> list[Obstacle]:
        """An entry of `extensions` in its settings that takes ours out (`-extensions/joelclaw.ts`, or with `!`)."""
        path = self.below(_FILE, project=project)
        listed = read_settings(path).get("extensions")
        texts = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
        out = [one for one in texts if one[:1] in "-!" and one.endswith(os.path.basename(self.file))]
        about = f"our extension is switched off by `extensions` in {path}"
        return [Obstacle(about, f"take `{out[0]}` out of `extensions` in {path}")] if out else []

    def settings_beside(self, *, project: bool) -> list[str]:
        """What lists the extensions that are left out."""
        return [self.below(_FILE, project=project)]


def compaction(client: Client, folder: str) -> CompactionSettings:
    """The settings in force for a session in `folder`; None for what no file says, or says wrongly."""
    about = Settings(client.name, client.events)
    try:
        with open(about.below(_FILE, project=False), "rb") as handle:
            own = _table(handle.read(project_file.SETTINGS_BYTES + 1))
    except (OSError, ValueError):  # it says nothing, as to pi
        own = {}
    root = project_file.root_of(folder)
    path = os.path.join(folder, about.local_folder, _FILE)
    projects: dict[str, Any] = {}
    dropped: tuple[tuple[str, str], ...] = ()
    try:
        projects = _table(project_file.read(path, root, project_file.SETTINGS_BYTES))
    except project_file.Unusable as fault:
        dropped = ((path, fault.reason),)
    except ValueError:
        dropped = ((path, "is not a JSON object"),)
    enabled = own.get("enabled") is not False
    if projects.get("enabled") is False:
        enabled = False
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
        raise ValueError(_FILE)
    return content.table(value.get("compaction"))


def _tokens(projects: dict[str, Any], own: dict[str, Any], name: str) -> int | None:
    """A number of tokens as the project's file has it, else the user's; what is none is passed over."""
    for value in (projects.get(name), own.get(name)):
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS:
            return int(value)
    return None
