"""The folders whose projects the user trusts: `joelclaw trust`. Kept in the user's home, never in a project. Hot path.

A folder is known by its real path, its device and inode, and a mark in its `.git`, which no clone brings along: what is
put in its place later is not trusted, even where the file system gives its inode anew.
"""

from __future__ import annotations

import os

from core import TYPE_CHECKING, clock, files, json_text
from core.errors import Failure
from core.repository.project_file import TRUSTED, is_below, root_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

    class Trusted(TypedDict):
        """A folder that is trusted; `at` is ms since the epoch."""

        path: str
        device: int
        inode: int
        mark: str
        """The text of its mark; "" if there was none, or it could not be written."""
        at: int


_MARK = "joelclaw-trusted"
_MARK_BYTES = 64
_POINTER_BYTES = 4_096
_CHANGE_WAIT_S = 2.0


def every() -> list[Trusted]:
    """The trusted folders, in order; none if the file cannot be read."""
    try:
        with open(os.path.join(files.home(), TRUSTED), "rb") as handle:
            rows = json_text.loads(handle.read())["folders"]
        return [
            {
                "path": str(row["path"]), "device": int(row["device"]), "inode": int(row["inode"]),
                "mark": str(row.get("mark", "")), "at": int(row["at"]),
            }
            for row in rows
        ]  # fmt: skip
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
    if (status.st_dev, status.st_ino) != (row["device"], row["inode"]):
        return False
    return not row["mark"] or files.start_of(_mark_of(row["path"]), _MARK_BYTES, links=False) == row["mark"]


def trust(folder: str) -> tuple[Trusted, bool]:
    """Trust the project around a folder; returns it, and whether that is new."""
    root = root_of(folder)
    try:
        if not os.path.isdir(root):
            raise NotADirectoryError
        status = os.lstat(root)
    except (OSError, ValueError):
        raise Failure("TRUST_NO_FOLDER", f"there is no folder {folder}", "name the folder of a project") from None
    home = os.path.realpath(os.path.expanduser("~"))
    if not os.path.lexists(os.path.join(root, ".git")) or root == home or is_below(home, root):
        fix = "name a folder inside a repository; to make one of a project: git init, in its folder"
        raise Failure("TRUST_NO_REPOSITORY", f"{root} is not in a repository, so it is no project", fix)
    row: Trusted = {"path": root, "device": status.st_dev, "inode": status.st_ino, "mark": "", "at": clock.now_ms()}

    def add(rows: list[Trusted]) -> list[Trusted]:
        nonlocal row
        for known in rows:
            if known["path"] == root and stands(known):
                row = known
                return rows
        row["mark"] = _write_mark(root)
        return [*(known for known in rows if known["path"] != root), row]

    changed = _change(add)
    return row, changed


def revoke(folder: str) -> str:
    """No longer trust the project around a folder; returns its path, "" if it was not trusted."""
    paths = (root_of(folder), os.path.realpath(folder))
    known = [row["path"] for row in every() if row["path"] in paths]
    if not known:
        return ""
    _change(lambda rows: [row for row in rows if row["path"] != known[0]])
    return known[0]


def _mark_of(root: str) -> str:
    """The path of a repository's mark: in its `.git`, for a worktree or submodule in the folder that file names."""
    git = os.path.join(root, ".git")
    if os.path.isdir(git) and not os.path.islink(git):
        return os.path.join(git, _MARK)
    named = files.start_of(git, _POINTER_BYTES, links=False).removeprefix("gitdir:").strip()
    return os.path.join(root, named, _MARK) if named else ""


def _write_mark(root: str) -> str:
    """Mark a repository; returns the mark's text, "" if it cannot be written."""
    said = os.urandom(16).hex()
    try:
        mark = _mark_of(root)
        if os.path.isfile(mark) and not os.path.islink(mark):
            os.unlink(mark)  # it may have another name, which stays as it is
        with open(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(said.encode())
    except (OSError, ValueError):
        return ""
    return said


def _change(change: Callable[[list[Trusted]], list[Trusted]]) -> bool:
    """Write the folders if this changes any; returns whether it does."""
    return change_json(
        os.path.join(files.home(), TRUSTED),
        lambda: {"folders": every()},
        lambda found: {"folders": change(found["folders"])},
        "TRUST_UNWRITABLE",
    )


def change_json(path: str, read: Callable[[], Any], change: Callable[[Any], Any], code: str) -> bool:
    """Under the file's lock, write `change(read())` if it differs; whether it did. Raises Failure `code`."""
    try:
        with files.FileLock(path + ".lock", _CHANGE_WAIT_S):
            before = read()
            after = change(before)
            if after == before:
                return False
            files.write_whole(path, json_text.dumps(after).encode("utf-8", "surrogatepass"))
            return True
    except (OSError, files.LockTimeout) as error:
        raise Failure(code, f"{path} cannot be written: {error}", "check its folder") from None
