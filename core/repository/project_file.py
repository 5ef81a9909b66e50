"""The only way to read a project's file: it must be inside the project, regular, and not too large.

A repository may hold links to anywhere, pipes that nobody writes to, devices that never end. None of them is opened:
what is no plain file within the project is a fault of that file, which is left out. Hot path.
"""

import os
import stat

SETTINGS_BYTES = 65_536
_MOST_LEVELS = 40
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Unusable(Exception):
    """A project's file that is not read; `reason` says why, without its content."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path
        self.reason = reason


def root_of(folder: str) -> str:
    """The real path of the project around a folder: its repository, else itself; the user's home is none."""
    real = at = os.path.realpath(folder)
    home = os.path.realpath(os.path.expanduser("~"))
    for _ in range(_MOST_LEVELS):
        if at == home or at == os.path.dirname(at):
            break
        if os.path.lexists(os.path.join(at, ".git")):
            return at
        at = os.path.dirname(at)
    return real


def is_below(path: str, folder: str) -> bool:
    """Whether a real path is below a real folder."""
    return path.startswith(folder.rstrip("/") + "/")


def status_of(path: str, root: str) -> tuple[str, os.stat_result] | None:
    """Real path and status of a file in the project at `root`; None for none. Raises Unusable."""
    try:
        os.lstat(path)
        real = os.path.realpath(path)
        status = os.lstat(real)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last of a path that no file can have
        return None
    except OSError as error:
        raise Unusable(path, f"cannot be read: {error.strerror}") from None
    if not is_below(real, root):
        raise Unusable(path, "is a link that leads out of the project")
    if not stat.S_ISREG(status.st_mode):
        raise Unusable(path, "is not a regular file")
    return real, status


def read(path: str, root: str, most: int) -> bytes | None:
    """The content of a project's file; None if there is none. Raises Unusable."""
    found = status_of(path, root)
    if found is None:
        return None
    real, status = found
    try:
        with open(os.open(real, _FLAGS), "rb") as file:
            opened = os.fstat(file.fileno())
            if (opened.st_dev, opened.st_ino) != (status.st_dev, status.st_ino):  # of it or of a folder on the way
                raise Unusable(path, "was replaced while it was read")
            data = b"" if status.st_size > most else file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unusable(path, f"cannot be read: {error.strerror}") from None
    if status.st_size > most or len(data) > most:
        raise Unusable(path, f"is larger than {most // 1024} KiB")
    return data
