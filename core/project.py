"""Which project a folder belongs to: all worktrees of a repository are one project. Hot path."""

from __future__ import annotations

import os

_WORKTREES = ("/.worktrees/", "/.claude/worktrees/", ".worktrees/")
_MOST_UP = 40


def name_of(cwd: str) -> str:
    """The name of the project that is worked on in a folder, be it there or not; "" for none."""
    return os.path.basename(_root(cwd))


def folder_of(cwd: str) -> str:
    """The top folder of the working tree, to which the paths of its files are relative; `cwd` where there is none."""
    here = os.path.normpath(cwd) if cwd else ""
    for _ in range(_MOST_UP):
        if os.path.lexists(here + "/.git"):
            return here
        above = os.path.dirname(here)
        if above == here or not above:
            break
        here = above
    return os.path.normpath(cwd) if cwd else ""


def _root(cwd: str) -> str:
    folder = folder_of(cwd)
    try:
        with open(folder + "/.git", encoding="utf-8") as file:
            # of a worktree, `.git` is a file: gitdir: /repository/.git/worktrees/name
            folder = file.read(4096).strip().removeprefix("gitdir: ").partition("/.git/")[0]
    except (OSError, ValueError):
        pass
    for mark in _WORKTREES:
        if mark in folder:
            return folder.partition(mark)[0]
    return folder
