"""Runs the command on a pseudo-terminal."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import in_process
from conftest import JOELCLAW, PATIENCE_S, Attempt, clean_environment

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def on_terminal(
    home: Path,
    *words: str,
    env: dict[str, str] | None = None,
    columns: int = 100,
    rows: int = 30,
    cwd: Path | None = None,
    answer: str | None = None,
) -> Attempt:
    """Run `joelclaw` with stdout on a pseudo-terminal, in this process if possible (`in_process`).

    Args:
        answer: what a person types; None: stdin is empty and no terminal.
    """
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**clean_environment(home), "TERM": "xterm-256color", **(env or {})}
    for name in ("COLUMNS", "LINES"):  # set by pytest-xdist; they would override the terminal's size
        environment.pop(name, None)
    folder, typed = cwd or home.parent, answer is not None
    if answer:
        os.write(mine, answer.encode())
    if in_process.possible(env or {}):
        with ThreadPoolExecutor(1) as reader:
            shown = reader.submit(_shown, mine)
            try:
                code, _, err = in_process.call(JOELCLAW, words, None, environment, folder, theirs, typed)
            finally:
                os.close(theirs)
        return Attempt(code, shown.result(), err.decode())
    child = subprocess.Popen(
        [JOELCLAW, *words],
        stdin=theirs if typed else subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=folder,
    )
    os.close(theirs)
    return ended(child, mine)


def ended(child: subprocess.Popen[bytes], mine: int) -> Attempt:
    """Wait for a command; `mine` is our end of its pseudo-terminal."""
    shown, err = _shown(mine), ""
    if child.stderr is not None:  # else stderr is the terminal, too
        err = child.stderr.read().decode()
        child.stderr.close()
    return Attempt(child.wait(PATIENCE_S), shown, err)


def _shown(mine: int) -> str:
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
    return shown.decode().replace("\r\n", "\n")


def without_style(text: str) -> str:
    """The text without colours and other escape sequences."""
    return ESCAPE.sub("", text)
