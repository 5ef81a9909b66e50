"""The markdown files below a folder: finding them without leaving it, and reading one as text."""

import os
import stat
import time
from dataclasses import dataclass, field

ENDINGS = (".md", ".mdx", ".markdown")
LARGEST = 2 * 1024 * 1024  # bytes of a file that are read
_SKIPPED = ("node_modules", "__pycache__")
_SNIFFED = 8192


@dataclass
class Found:
    """What lies below a folder: path → status in order, and what was skipped, as (path, reason)."""

    files: dict[str, os.stat_result] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    complete: bool = True


def below(folder: str, *, until: float | None = None) -> Found:
    """The markdown files below a folder, without hidden folders, `node_modules` and links, until `time.monotonic()`."""
    found = Found()

    def unlisted(error: OSError) -> None:
        found.problems.append((error.filename, f"cannot be listed: {error.strerror}"))
        found.unread.append(error.filename)

    for here, folders, names in os.walk(folder, onerror=unlisted):
        if until is not None and time.monotonic() > until:
            found.complete = False
            break
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in _SKIPPED)
        linked = [name for name in folders if os.path.islink(os.path.join(here, name))]
        notes = [name for name in names if name[0] != "." and name.lower().endswith(ENDINGS)]
        for name in sorted([*linked, *notes]):
            path = os.path.join(here, name)
            try:
                status = os.lstat(path)
            except OSError as error:
                unlisted(error)
                continue
            if stat.S_ISREG(status.st_mode):
                found.files[path] = status
            elif not stat.S_ISLNK(status.st_mode):
                found.problems.append((path, "not a regular file"))
            elif not is_below(os.path.realpath(path), folder):
                found.problems.append((path, "a link that leads out of the folder is not followed"))
    return found


def is_below(path: str, folder: str) -> bool:
    """Whether a path is the folder or lies below it; both real, or both not."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def read(path: str, most: int = LARGEST) -> tuple[bytes, bool]:
    """The first bytes of a regular file, and whether there are more; raises OSError (a pipe is not waited for)."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as handle:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "not a regular file")
        data = handle.read(most + 1)
    return data[:most], len(data) > most


def decode(data: bytes) -> str | None:
    """Bytes as text: UTF-8 (U+FFFD for what is not), UTF-16 with its mark; None for what is binary."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").removeprefix("\ufeff")
    if b"\0" in data[:_SNIFFED]:
        return None
    return data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "\ufffd")


def text_of(path: str) -> str | None:
    """The text of a file; None where it cannot be read or is binary."""
    try:
        return decode(read(path)[0])
    except OSError:
        return None
