"""What lies in a vault: its four parts (projects, decisions, inbox, resources), and its folders."""

from __future__ import annotations

import os
from typing import Any

from memory.vault import records

SECTIONS = ("projects", "decisions", "inbox", "resources")
DEPTH = 2
_FOLDERS = {"projects": "Projects", "decisions": records.FOLDER, "inbox": "inbox", "resources": "Resources"}


def counts(vault: str) -> dict[str, int]:
    """How many entries each part has; 0 for one that is not there."""
    return {section: len(_paths(vault, section)) for section in SECTIONS}


def entries(vault: str, section: str) -> list[Any]:
    """The entries of a part: paths, of projects and decisions with the status that the note says it has."""
    paths = _paths(vault, section)
    if section in ("inbox", "resources"):
        return paths
    return [{"path": path, "status": records.status_of(path)} for path in paths]


def folders(vault: str) -> list[dict[str, Any]]:
    """The vault and its folders, two deep, by path: each relative to the vault, and how deep. No hidden ones, no links.

    Args:
        vault: its real path.
    """
    found = [{"path": ".", "depth": 0}]
    for first in _below(vault):
        found.append({"path": first, "depth": 1})
        found += [{"path": os.path.join(first, second), "depth": 2} for second in _below(os.path.join(vault, first))]
    return found


def _paths(vault: str, section: str) -> list[str]:
    folder = os.path.join(vault, _FOLDERS[section])
    if section == "projects":
        indexes = [os.path.join(folder, name, "index.md") for name in _below(folder)]
        return [path for path in [os.path.join(folder, "index.md"), *indexes] if _is_file(path)]
    if section == "resources":
        return [os.path.join(folder, name) for name in _below(folder)]
    names = [name for name in _names(folder) if not name.startswith(".")]
    paths = [os.path.join(folder, name) for name in names]
    if section == "decisions":
        return [path for path in paths if path.endswith(".md") and _is_file(path)]
    return [path for path in paths if not os.path.islink(path)]


def _below(folder: str) -> list[str]:
    """The folders in a folder, by name."""
    return [
        name
        for name in _names(folder)
        if not name.startswith(".")
        and os.path.isdir(os.path.join(folder, name))
        and not os.path.islink(os.path.join(folder, name))
    ]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _is_file(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)
