"""The installed command on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

from conftest import JOELCLAW, PATIENCE_S, Spawned, clean_environment

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def on_terminal(home: Path, *words: str, env: dict[str, str] | None = None, columns: int = 100) -> Spawned:
    """Spawn `joelclaw` with stdout on a pseudo-terminal and stderr in a pipe."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**clean_environment(home), "TERM": "xterm-256color", **(env or {})}
    child = subprocess.Popen(
        [JOELCLAW, *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=home.parent,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(mine, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(mine)
    assert child.stderr is not None
    told = child.stderr.read().decode()
    child.stderr.close()
    return Spawned(child.wait(PATIENCE_S), shown.decode().replace("\r\n", "\n"), told)


def without_style(text: str) -> str:
    """What is left of a terminal's text without colours."""
    return ESCAPE.sub("", text)
