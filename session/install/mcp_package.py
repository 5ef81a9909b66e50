"""The official `mcp` package, which `joelclaw mcp` needs and nothing else: whether it is here, and how to get it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata

from core.errors import Failure

_EXTRA = "mcp"
_PATIENCE_S = 300.0
_TOLD_CHARS = 400


def requirement() -> str:
    """What this version of joelclaw asks of the package, as pip takes it."""
    try:
        wanted = metadata.requires("joelclaw") or []
    except metadata.PackageNotFoundError:
        wanted = []
    for line in wanted:
        name, _, marker = line.partition(";")
        if "extra" in marker and marker.strip(" '\"").endswith(_EXTRA):
            bounds = name.replace(" ", "").removeprefix(_EXTRA).split(",")
            return _EXTRA + ",".join(sorted(bounds, reverse=True))  # the lower one first, as we wrote it
    return _EXTRA


def is_here() -> bool:
    """Whether it is installed for the Python that runs this, in a version that is known to do."""
    try:
        found = metadata.version(_EXTRA)
    except metadata.PackageNotFoundError:
        return False
    least = requirement().partition(">=")[2].partition(",")[0]
    return found.partition(".")[0] == least.partition(".")[0] and _numbers(found) >= _numbers(least)


def install() -> None:
    """Install it beside joelclaw, with pip, or with uv where its environment has no pip.

    Raises:
        Failure: INSTALL_FAILED; then nothing of a client's was changed.
    """
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement()]
    environment = {**os.environ, "PIP_NO_INPUT": "1"}
    try:
        done = subprocess.run(  # noqa: S603  # our own words
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            timeout=_PATIENCE_S,
            check=False,
        )
        told = "" if done.returncode == 0 else (done.stderr.strip() or f"pip ended with {done.returncode}")
    except (OSError, subprocess.TimeoutExpired) as error:
        told = str(error)
    if not told and not is_here():
        told = "pip said that all is well, and it is not there"
    if told:
        raise Failure(
            "INSTALL_FAILED",
            f"the package {requirement()!r} cannot be installed: {told[-_TOLD_CHARS:]}",
            f"install it with what installed joelclaw, such as `{' '.join(words[:4])} '{requirement()}'`, and run this"
            " again; nothing was changed",
        )


def _numbers(version: str) -> tuple[int, ...]:
    parts = (part for part in version.split(".")[:3])
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in parts)
