"""The optional package of joelclaw, `mcp`: what this version requires of it, and how to add it here."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import sys
import tomllib
from importlib import metadata
from urllib.parse import unquote, urlsplit

_RECEIPT = "uv-receipt.toml"


def version(distribution: str) -> str | None:
    """The version of an installed distribution, None if it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def requirement(extra: str, package: str) -> str:
    """The extra's requirement as pip takes it: `mcp>=2.3,<3`; the bare name if nothing is known."""
    for line in metadata.requires("joelclaw") or () if version("joelclaw") else ():
        name, _, marker = line.partition(";")
        if marker.strip(" '\"").endswith(extra) and name.startswith(package):
            bounds = name.replace(" ", "").removeprefix(package).split(",")
            return package + ",".join(sorted(bounds, reverse=True))  # the lower one first, as we wrote it
    return package


def command(wanted: str) -> str:
    """The command that adds a requirement to this installation's environment."""
    if is_uv_tool():
        kept = [word for name in _added_before() for word in ("--with", name)]
        return shlex.join(["uv", "tool", "install", *kept, "--with", wanted, *_source()])
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return shlex.join(["pipx", "inject", "joelclaw", wanted])
    if importlib.util.find_spec("pip") is not None:
        return shlex.join([sys.executable, "-m", "pip", "install", wanted])
    return shlex.join(["uv", "pip", "install", "--python", sys.executable, wanted])


def is_uv_tool() -> bool:
    """Whether `uv tool install` made this environment: its next upgrade drops what was added by other means."""
    return os.path.exists(os.path.join(sys.prefix, _RECEIPT))


def _source() -> list[str]:
    """Where joelclaw was installed from, in words that uv takes: a folder, an address, or its name."""
    try:
        told = json.loads(metadata.distribution("joelclaw").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return ["joelclaw"]
    url, vcs = str(told.get("url", "joelclaw")), told.get("vcs_info")
    if url.startswith("file://"):
        editable = ["--editable"] if told.get("dir_info", {}).get("editable") is True else []
        return [*editable, unquote(urlsplit(url).path)]
    return [f"{vcs.get('vcs', 'git')}+{url}" if vcs else url]


def _added_before() -> list[str]:
    """What `uv tool install --with` added before: the next install drops what it does not name."""
    try:
        with open(os.path.join(sys.prefix, _RECEIPT), "rb") as file:
            rows = tomllib.load(file)["tool"]["requirements"]
        return [row["name"] + row.get("specifier", "") for row in rows if row["name"] != "joelclaw"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
