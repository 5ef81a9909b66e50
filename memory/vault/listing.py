"""What lies in a vault: its four parts (projects, decisions, inbox, resources), and its folders."""

from __future__ import annotations

import os
from typing import Any

from memory.vault import records

SECTIONS = {"projects": "Projects", "decisions": records.FOLDER, "inbox": "inbox", "resources": "Resources"}
"""The parts, and the folder of each."""
DEPTH = 2


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
    """The vault (a real path) and its folders, two deep, each with how deep it lies. No hidden ones, no links."""
    found: list[dict[str, Any]] = [{"path": ".", "depth": 0}]
    for first in filter(os.path.isdir, _below(vault)):
        found.append({"path": os.path.relpath(first, vault), "depth": 1})
        found += [{"path": os.path.relpath(one, vault), "depth": 2} for one in filter(os.path.isdir, _below(first))]
    return found


def _paths(vault: str, section: str) -> list[str]:
    folder = os.path.join(vault, SECTIONS[section])
    below = _below(folder)
    if section == "projects":
        indexes = [folder, *filter(os.path.isdir, below)]
        notes = [os.path.join(one, "index.md") for one in indexes]
        return [path for path in notes if os.path.isfile(path) and not os.path.islink(path)]
    if section == "resources":
        return [path for path in below if os.path.isdir(path)]
    if section == "decisions":
        return [path for path in below if path.endswith(".md") and os.path.isfile(path)]
    return below


def _below(folder: str) -> list[str]:
    """What lies in a folder, by name; nothing hidden, no links."""
    try:
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if not name.startswith(".")]
    except OSError:
        return []
    return [path for path in paths if not os.path.islink(path)]
