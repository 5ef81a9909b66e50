"""Where each shell looks for the completions of one user, and putting ours there or taking it back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from core.errors import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

_MARK = b"# Made from cli/"
"""What each of our scripts holds, of this version or another."""
_READ_BYTES = 4_096
_NOTES = {
    "bash": "Open a new shell. It needs the package bash-completion, which most systems have.",
    "zsh": "Put this before `compinit` in ~/.zshrc, unless the folder is in $fpath already: fpath=({folder} $fpath)",
    "fish": "Open a new shell.",
}


def place(shell: str, environment: Mapping[str, str]) -> str:
    """The file from which a user's shell of that name loads the completions of `joelclaw`."""
    home = environment.get("HOME") or os.path.expanduser("~")
    data = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    if shell == "bash":
        folder = environment.get("BASH_COMPLETION_USER_DIR") or os.path.join(data, "bash-completion")
        return os.path.join(folder, "completions", "joelclaw")
    if shell == "zsh":
        return os.path.join(data, "zsh", "site-functions", "_joelclaw")
    settings = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(settings, "fish", "completions", "joelclaw.fish")


def note(shell: str, path: str) -> str:
    """What is left for the user to do."""
    return _NOTES[shell].format(folder=os.path.dirname(path))


def write(path: str, script: str) -> bool:
    """Put the script there, whole or not at all; whether that changed anything.

    Raises:
        Failure: COMPLETION_EXISTS, a file that is not ours stands there; COMPLETION_FAILED.
    """
    data = script.encode()
    if _read(path) == data:
        return False
    _refuse_strangers(path)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(temporary, flags, 0o644), "wb") as handle:
            handle.write(data)
        os.replace(temporary, path)
    except OSError as error:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise _failed(path, error) from None
    return True


def remove(path: str) -> bool:
    """Take our script away; whether there was one.

    Raises:
        Failure: as for `write`.
    """
    if not os.path.lexists(path):
        return False
    _refuse_strangers(path)
    try:
        os.unlink(path)
    except OSError as error:
        raise _failed(path, error) from None
    return True


def _refuse_strangers(path: str) -> None:
    if os.path.lexists(path) and _MARK not in (_read(path, _READ_BYTES) or b""):
        raise Failure(
            "COMPLETION_EXISTS", f"{path} is there and was not written by joelclaw", "move it away, and run this again"
        )


def _read(path: str, most: int = -1) -> bytes | None:
    try:
        with open(path, "rb") as handle:
            return handle.read(most)
    except OSError:
        return None


def _failed(path: str, error: OSError) -> Failure:
    return Failure(
        "COMPLETION_FAILED",
        f"{path} cannot be written: {error.strerror}",
        "make its folder writable, or print the script and put it where your shell looks: joelclaw completion --help",
    )
