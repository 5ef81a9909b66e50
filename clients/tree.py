"""A tree of entries: the way from an entry to the first one, also where parents are missing or go round."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clients.entry import Entry
    from clients.lines import Problems


def path_to(leaf: str, tree: Mapping[str, Entry], problems: Problems) -> list[Entry]:
    """The entries from the first one to `leaf`, oldest first; none where there is no such entry."""
    path: list[Entry] = []
    seen: set[str] = set()
    entry = tree.get(leaf)
    while entry is not None:
        if entry.id in seen:
            problems.add(f"the parents of {entry.id} go round in a circle; the branch begins at {path[-1].id}")
            break
        seen.add(entry.id)
        path.append(entry)
        if entry.parent and entry.parent not in tree:
            problems.add(f"{entry.parent}, the parent of {entry.id}, is not in the file; the branch begins there")
        entry = tree.get(entry.parent)
    path.reverse()
    return path
