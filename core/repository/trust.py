"""The folders whose projects the user trusts: `joelclaw trust`. Kept in the user's home, never in a project. Hot path.

A folder is known by its real path, its device and its inode: what is put in its place later is not trusted.
"""

from __future__ import annotations

import os

from core import clock, files, json_text
from core.errors import Failure
from core.repository.project_file import TRUSTED, is_below, root_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    class Trusted(TypedDict):
        """A folder that is trusted; `at` is ms since the epoch."""

        path: str
        device: int
        inode: int
        at: int


_WAIT_S = 2.0


def _file() -> str:
    return os.path.join(files.home(), TRUSTED)


def every() -> list[Trusted]:
    """The folders that are trusted, in order; none where the file cannot be read."""
    try:
        with open(_file(), "rb") as handle:
            rows = json_text.loads(handle.read())["folders"]
        return [
            {"path": str(row["path"]), "device": int(row["device"]), "inode": int(row["inode"]), "at": int(row["at"])}
            for row in rows
        ]
    except (OSError, json_text.InvalidJSON, KeyError, TypeError, ValueError):
        return []


def is_trusted(root: str) -> bool:
    """Whether the user trusts the project. `root`: its real path, as `project_file.root_of` gives it."""
    return any(row["path"] == root and stands(row) for row in every())


def stands(row: Trusted) -> bool:
    """Whether a folder is still the one that was trusted."""
    try:
        status = os.lstat(row["path"])
    except (OSError, ValueError):
        return False
    return (status.st_dev, status.st_ino) == (row["device"], row["inode"])


def trust(folder: str) -> tuple[Trusted, bool]:
    """Trust the project around a folder; returns it, and whether it was not trusted before.

    Raises:
        Failure: TRUST_NO_FOLDER, TRUST_NO_REPOSITORY, TRUST_UNWRITABLE; nothing was changed.
    """
    root = root_of(folder)
    try:
        if not os.path.isdir(root):
            raise NotADirectoryError
        status = os.lstat(root)
    except (OSError, ValueError):
        raise Failure("TRUST_NO_FOLDER", f"there is no folder {folder}", "name the folder of a project") from None
    home = os.path.realpath(os.path.expanduser("~"))
    if not os.path.lexists(os.path.join(root, ".git")) or root == home or is_below(home, root):
        fix = "name a folder in a repository; of a project that is none yet make one: git init, in its folder"
        raise Failure("TRUST_NO_REPOSITORY", f"{root} is no repository, so no project of its own", fix)
    row: Trusted = {"path": root, "device": status.st_dev, "inode": status.st_ino, "at": clock.now_ms()}

    def add(rows: list[Trusted]) -> list[Trusted]:
        nonlocal row
        for known in rows:
            if known["path"] == root and stands(known):
                row = known
                return rows
        return [*(known for known in rows if known["path"] != root), row]

    return row, _change(add)


def revoke(folder: str) -> str:
    """Trust the project around a folder no more, be it there or not; returns its path, "" where it was not trusted.

    Raises:
        Failure: TRUST_UNWRITABLE; nothing was changed.
    """
    paths = (root_of(folder), os.path.realpath(folder))
    known = [row["path"] for row in every() if row["path"] in paths]
    if not known:
        return ""
    _change(lambda rows: [row for row in rows if row["path"] != known[0]])
    return known[0]


def _change(change: Callable[[list[Trusted]], list[Trusted]]) -> bool:
    """Write the folders anew where that changes any; whether it does."""
    path = _file()
    try:
        with files.FileLock(path + ".lock", _WAIT_S):
            before = every()
            after = change(before)
            if after == before:
                return False
            files.write_whole(path, json_text.dumps({"folders": after}).encode())
            return True
    except (OSError, files.LockTimeout) as error:
        raise Failure("TRUST_UNWRITABLE", f"{path} cannot be written: {error}", "check its folder") from None
