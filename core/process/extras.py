"""The optional package of joelclaw, `mcp`: what this version requires of it, and how to add it here."""

import importlib.util
import os
import shlex
import sys
from glob import escape, glob


def version(distribution: str) -> str | None:
    """The version of an installed distribution, None if it is not installed.

    `importlib.metadata` would load the package `email`, which takes as long as three bare starts of Python.
    """
    name = distribution.replace("-", "_")
    for folder in sys.path:
        for path in glob(f"{escape(folder or '.')}/{name}-*.dist-info"):
            return os.path.basename(path).removeprefix(f"{name}-").removesuffix(".dist-info")
    return None


def requirement(extra: str, package: str) -> str:
    """The extra's requirement as pip takes it: `mcp>=2.3,<3`; the bare name if nothing is known."""
    from importlib import metadata

    for line in metadata.requires("joelclaw") or () if version("joelclaw") else ():
        name, _, marker = line.partition(";")
        if marker.strip(" '\"").endswith(extra) and name.startswith(package):
            bounds = name.replace(" ", "").removeprefix(package).split(",")
            return package + ",".join(sorted(bounds, reverse=True))  # the lower one first, as we wrote it
    return package


def command(wanted: str) -> str:
    """The command that adds a requirement to this installation's environment."""
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return shlex.join(["pipx", "inject", "joelclaw", wanted])
    if importlib.util.find_spec("pip") is not None:
        return shlex.join([sys.executable, "-m", "pip", "install", wanted])
    return shlex.join(["uv", "pip", "install", "--python", sys.executable, wanted])
