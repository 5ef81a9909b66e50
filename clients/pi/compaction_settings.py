"""What pi's own `settings.json` says of compactions: the user's file, and over it the project's. Hot path.

The project's file is a repository's: read within the project, and a fault in it leaves it out. It says numbers, and may
switch compactions off; on again, against the user, only in a folder that the user trusts.
"""

from __future__ import annotations

import os

from clients.pi.install import SETTINGS
from core import json_text
from core.repository import project_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.registry import CompactionSettings

_FILE = "settings.json"
_MOST_TOKENS = 100_000_000


def read(folder: str) -> CompactionSettings:
    """The settings in force for a session in `folder`; None for what no file says, or says wrongly."""
    own = _own(os.path.join(SETTINGS.home(), _FILE))
    root = project_file.root_of(folder)
    path = os.path.join(folder, SETTINGS.local_folder, _FILE)
    dropped: tuple[tuple[str, str], ...] = ()
    try:
        projects = _table(project_file.read(path, root, project_file.SETTINGS_BYTES))
    except project_file.Unusable as fault:
        projects, dropped = {}, ((path, fault.reason),)
    except ValueError:
        projects, dropped = {}, ((path, "is no JSON object"),)
    enabled = own.get("enabled") is not False
    if isinstance(projects.get("enabled"), bool) and projects["enabled"] != enabled:
        from core.repository import trust

        enabled = not enabled and trust.is_trusted(root)
    return {
        "reserve": _tokens(projects, own, "reserveTokens"),
        "keep": _tokens(projects, own, "keepRecentTokens"),
        "enabled": enabled,
        "dropped": dropped,
    }


def _own(path: str) -> dict[str, Any]:
    """The user's; a file that cannot be read says nothing, as to pi."""
    try:
        with open(path, "rb") as handle:
            return _table(handle.read(project_file.SETTINGS_BYTES + 1))
    except (OSError, ValueError):
        return {}


def _table(data: bytes | None) -> dict[str, Any]:
    """The table `compaction` of a file; empty where there is none.

    Raises:
        ValueError: it is no JSON object.
    """
    if data is None or not data.strip():
        return {}
    value = json_text.loads(data.decode())
    if not isinstance(value, dict):
        raise ValueError(_FILE)
    found = value.get("compaction")
    return found if isinstance(found, dict) else {}


def _tokens(projects: dict[str, Any], own: dict[str, Any], name: str) -> int | None:
    """A number of tokens as the project's file has it, else the user's; what is none is passed over."""
    for value in (projects.get(name), own.get(name)):
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS:
            return int(value)
    return None
