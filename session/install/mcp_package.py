"""The official `mcp` package, which `joelclaw mcp` needs and nothing else: whether it is here, and how to get it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from importlib import metadata

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
    try:
        found = _numbers(metadata.version(_PACKAGE))
    except metadata.PackageNotFoundError:
        return False
    least = _numbers(requirement().partition(">=")[2].partition(",")[0])
    return found[:1] == least[:1] and found >= least


def install() -> None:
    """Install it beside joelclaw, with what installed joelclaw.

    The environment of a `uv tool` is left alone: its next upgrade would take out what was not put in by `uv tool`.
    """
    command = extras.command(requirement())
    told = ""
    if extras.is_uv_tool():
        told = "joelclaw was installed with `uv tool`, which alone may add to its environment"
    else:
        environment = {**os.environ, "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        try:
            done = subprocess.run(  # noqa: S603  # our own words
                shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment,
                timeout=_PATIENCE_S, check=False,
            )  # fmt: skip
            if done.returncode or not is_here():
                told = done.stderr.strip() or f"`{command}` ended with {done.returncode}"
        except (OSError, subprocess.TimeoutExpired) as error:
            told = str(error)
    if told:
        about = f"the package {requirement()!r} cannot be installed: {told[-_TOLD_CHARS:]}"
        raise Failure("INSTALL_FAILED", about, f"run `{command}`, then this again; nothing was changed")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))
