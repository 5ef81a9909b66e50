"""The markdown files below a folder: finding them without leaving it, and reading one as text."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

ENDINGS = (".md", ".mdx", ".markdown")
LARGEST = 2 * 1024 * 1024
"""Bytes of a file that are read."""
_SKIPPED = ("node_modules", "__pycache__")
_SNIFFED = 8192


@dataclass
class Found:
    """What lies below a folder.

    Args:
        files: path → its status, in order of the path.
        problems: what was skipped, as (path, reason).
        unread: folders that could not be listed; what lies below them is unknown.
        complete: False where the walk was stopped by `until`.
    """

    files: dict[str, os.stat_result] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    complete: bool = True


def below(folder: str, *, until: float | None = None) -> Found:
    """The markdown files below a folder, without hidden folders, `node_modules` and links.

    A link to a place below the folder leads to nothing new; one that leads out of it is a problem.

    Args:
        folder: a real path.
        until: `time.monotonic()` at which to stop.
    """
    import time

    found = Found()
    folders = [folder]
    while folders:
        if until is not None and time.monotonic() > until:
            found.complete = False
            break
        here = folders.pop()
        try:
            with os.scandir(here) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            found.problems.append((here, f"cannot be listed: {error.strerror}"))
            found.unread.append(here)
            continue
        deeper: list[str] = []
        for entry in listed:
            _look_at(entry, folder, found, deeper)
        folders += reversed(deeper)
    return found


def _look_at(entry: os.DirEntry[str], folder: str, found: Found, deeper: list[str]) -> None:
    if entry.name.startswith(".") or entry.name in _SKIPPED:
        return
    markdown = entry.name.lower().endswith(ENDINGS)
    try:
        if entry.is_symlink():
            if (markdown or entry.is_dir()) and not is_below(os.path.realpath(entry.path), folder):
                found.problems.append((entry.path, "a link out of the folder is not followed"))
        elif entry.is_dir(follow_symlinks=False):
            deeper.append(entry.path)
        elif markdown:
            if entry.is_file(follow_symlinks=False):
                found.files[entry.path] = entry.stat(follow_symlinks=False)
            else:
                found.problems.append((entry.path, "no regular file"))
    except OSError as error:
        found.problems.append((entry.path, f"cannot be looked at: {error.strerror}"))
        found.unread.append(entry.path)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is the folder or lies below it; both real, or both not."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def read(path: str, most: int = LARGEST) -> tuple[bytes, bool]:
    """The first `most` bytes of a regular file, and whether there are more.

    Raises:
        OSError: it cannot be read, or is no regular file (a pipe is not waited for).
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as handle:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "no regular file")
        data = handle.read(most + 1)
    return data[:most], len(data) > most


def decode(data: bytes) -> str | None:
    """Bytes as text: UTF-8 with or without a mark, UTF-16 with one; None for what is binary.

    Bytes that are not UTF-8 become U+FFFD.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").removeprefix("\ufeff")
    if b"\0" in data[:_SNIFFED]:
        return None
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    return text.replace("\0", "\ufffd")
