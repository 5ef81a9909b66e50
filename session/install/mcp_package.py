"""The official `mcp` package, which `joelclaw mcp` needs and nothing else: whether it is here, and how to get it."""

from __future__ import annotations

import os
import shutil
import sys

from core.errors import Failure
from core.process import extras

_PACKAGE = "mcp"
_PATIENCE_S = 300.0
_TOLD_CHARS = 400


def requirement() -> str:
    """What this version of joelclaw asks of the package, as pip takes it."""
    return extras.requirement("mcp", _PACKAGE)


def is_here() -> bool:
    """Whether it is installed for the Python that runs this, in a version that is known to do."""
    from importlib import metadata  # not `core.installed`: asked again after an installation

    try:
        found = metadata.version(_PACKAGE)
    except metadata.PackageNotFoundError:
        return False
    least = requirement().partition(">=")[2].partition(",")[0]
    return found.partition(".")[0] == least.partition(".")[0] and _numbers(found) >= _numbers(least)


def install() -> None:
    """Install it beside joelclaw, with pip, or with uv where the environment has no pip.

    The environment of a `uv tool` is left alone: its next upgrade would take out what was not put in by `uv tool`.

    Raises:
        Failure: INSTALL_FAILED; then nothing of a client's was changed.
    """
    told = _attempt()
    if told:
        raise Failure(
            "INSTALL_FAILED",
            f"the package {requirement()!r} cannot be installed: {told[-_TOLD_CHARS:]}",
            f"run `{extras.command(requirement())}`, then this again; nothing was changed",
        )


def _attempt() -> str:
    """What went wrong; empty where it is here now."""
    if extras.is_uv_tool():
        return "joelclaw was installed with `uv tool`, which alone may add to its environment"
    if extras.has_pip():
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement()]
    elif shutil.which("uv"):
        words = ["uv", "pip", "install", "--quiet", "--python", sys.executable, requirement()]
    else:
        return "the environment of joelclaw has no pip, and there is no `uv` on the PATH"
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603  # our own words
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, "PIP_NO_INPUT": "1"},
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return done.stderr.strip() or f"{words[0]} ended with {done.returncode}"
    return "" if is_here() else "that it is installed was said, and it is not there"


def _numbers(version: str) -> tuple[int, ...]:
    parts = (part for part in version.split(".")[:3])
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in parts)
