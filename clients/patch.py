"""The files that a patch of Codex's `apply_patch` names. Hot path."""

from __future__ import annotations

_BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_HEADS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def files_in(text: str) -> list[str]:
    """Paths that the patches in a text add, update, delete or move to, each once, in their order.

    The text is a patch, or a shell command that holds one (in a heredoc or in quotes). A line of a file's new content
    begins with a sign, so none is taken for a head.
    """
    if _BEGIN not in text:
        return []
    found: dict[str, None] = {}
    inside = False
    for line in text.split("\n"):
        if not inside:
            inside = _BEGIN in line
        elif line.startswith(_END):
            inside = False
        elif line.startswith(_HEADS):
            path = line.partition(": ")[2].strip()
            if path:
                found[path] = None
    return list(found)
