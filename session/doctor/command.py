"""Which joelclaw runs, which one the PATH finds, and which versions they are."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

from core import VERSION
from session import own_command
from session.doctor.finding import Finding, note, warning
from session.install import entered

_LONGEST_S = 5.0


def examine() -> tuple[dict[str, Any], list[Finding]]:
    """Whether the command that a shell finds here is this one."""
    own = own_command.path()
    facts: dict[str, Any] = {"path": own, "version": VERSION, "onPath": None, "onPathVersion": None}
    found = shutil.which(own_command.NAME)
    if found is None or not own or os.path.realpath(found) == os.path.realpath(own):
        facts["onPath"] = found
        return facts, []
    facts["onPath"], facts["onPathVersion"] = found, version_of(found)
    return facts, [_other(found, facts["onPathVersion"], own)]


def _other(found: str, theirs: str, own: str) -> Finding:
    about = f"`joelclaw` on the PATH is {found}{f', version {theirs}' * bool(theirs)}; what runs is {own}, {VERSION}"
    if is_older(theirs, VERSION):
        fix = f"update it, or put {os.path.dirname(own)} before {os.path.dirname(found)} on the PATH"
        return warning("PATH_COMMAND_OLDER", "command", f"an older {about.removeprefix('`').replace('`', '', 1)}", fix)
    if not theirs:
        why = entered.fault(found)
        about = f"{about} ({why[1] if why else 'it does not tell its version'})"
        return warning("PATH_COMMAND_BROKEN", "command", about, f"delete {found}, or install joelclaw there anew")
    return note("PATH_COMMAND_OTHER", "command", about, "keep one of the two")


def version_of(path: str) -> str:
    """The version that a joelclaw says it has; "" where it says none within 5 s."""
    try:
        done = subprocess.run(  # noqa: S603  # what the client, or the user's shell, runs
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_LONGEST_S, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    words = done.stdout.decode("utf-8", "replace").split()
    return words[1] if done.returncode == 0 and words[:1] == [own_command.NAME] and len(words) > 1 else ""


def is_older(one: str, other: str) -> bool:
    """Whether a version like `1.10.2` is older than another; of what is no such version nothing is said."""
    try:
        first, second = (tuple(int(part) for part in text.split(".")) for text in (one, other))
    except ValueError:
        return False
    return first < second
