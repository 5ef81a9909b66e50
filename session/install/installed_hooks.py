"""Which hooks of ours are installed, what they call, and whether that can be run: for `status`, `doctor`, `--list`."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

from clients import registry
from clients.settings import Place, Settings
from core.errors import Failure
from session.install import companion_files, entries, hook_command, plan
from session.install.receipt import Receipt

GONE = "HOOK_COMMAND_GONE"
NOT_EXECUTABLE = "HOOK_COMMAND_NOT_EXECUTABLE"
INTERPRETER_GONE = "HOOK_INTERPRETER_GONE"
_FIRST_LINE_BYTES = 1_024


@dataclass(frozen=True)
class Entry:
    """A hook of ours: where it stands, its shell command ("" for an extension), the joelclaw that it calls."""

    place: Place
    command: str
    executable: str
    matcher: str = ""


def of(client: Settings, path: str) -> list[Entry]:
    """The hooks of ours in a file of a client; of one that loads our extension a single one, of no event."""
    if not client.events:
        called = companion_files.called_by(plan.decoded(path, plan.read(path)))
        return [Entry(Place("", 0, 0), "", called)] if called else []
    found = entries.installed(plan.settings_of(client, path), client)
    return [
        Entry(place, command, hook_command.called(command, client.name), matcher) for place, command, matcher in found
    ]


def why_not_there(client: Settings, project: bool) -> str:
    """Why there is nothing to take out; empty where there is something, or the file cannot be read."""
    try:
        there = _is_there(client, project)
    except Failure:
        return ""
    return "" if there else "not installed"


def listed(client: Settings, project: bool) -> dict[str, Any]:
    """A client in one scope: `installed` is None where its file cannot be read, `current` what this version writes."""
    path = client.path(project=project)
    found: dict[str, Any] = {
        "agent": client.name,
        "scope": "project" if project else "user",
        "path": path,
        "installed": False,
        "current": False,
        "version": None,
        "notes": [] if client.present() else [f"no sign of {client.name} here"],
    }
    try:
        if _is_there(client, project):
            receipt = Receipt.load(path)
            found["installed"], found["version"] = True, receipt.version if receipt else None
            found["current"] = not any(one.changed for one in plan.installing(client, project=project))
            if not found["current"]:
                found["notes"].append("another version, or another path of joelclaw: install it again")
    except Failure as failure:
        found["installed"] = None
        found["notes"].append(failure.message)
    return found


def _is_there(client: Settings, project: bool) -> bool:
    return any(one.changed for one in plan.removing(client, project=project))


def fault(executable: str) -> tuple[str, str] | None:
    """Why a command cannot be started, as code and words; None where nothing is seen to be wrong with it.

    A bare name is looked for on the PATH around this process.
    """
    path = executable if os.sep in executable else shutil.which(executable)
    if not path:
        return GONE, f"no `{executable}` is on the PATH"
    if not os.path.exists(path):
        what = "leads nowhere" if os.path.islink(path) else "is gone"
        return GONE, f"{path} {what}"
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        return NOT_EXECUTABLE, f"{path} is not executable"
    interpreter = _interpreter(path)
    if interpreter and not os.access(interpreter, os.X_OK):
        return INTERPRETER_GONE, f"{path} is there, but {interpreter}, which is to run it, is gone"
    return None


def _interpreter(path: str) -> str:
    """The program that the first line of a script names; "" where it names none by an absolute path."""
    try:
        with open(path, "rb") as file:
            head = os.fsdecode(file.read(_FIRST_LINE_BYTES))
    except OSError:
        return ""
    wrapped = re.match(r"""#![^\n]*\n'''exec' (?:"([^"\n]+)"|([^ \n]+))""", head)
    plain = re.match(r"#! *(/\S+)", head)
    return (wrapped[1] or wrapped[2]) if wrapped else plain[1] if plain else ""


def problems() -> list[dict[str, str]]:
    """For `status`: a problem of each file with hooks of ours whose command cannot be started.

    Of the files that an installation from this home noted; `doctor` looks closer.
    """
    wrong = []
    settings = [client.settings() for client in registry.CLIENTS.values()]
    for path, client in product(Receipt.every(), settings):
        if os.path.basename(path) != os.path.basename(client.file):
            continue
        with suppress(Failure):
            faults = [(one.executable, fault(one.executable)) for one in of(client, path)]
            wrong += [
                {"code": why[0], "message": told(client.name, why[1]), "fix": fix(client.name, executable)}
                for executable, why in faults
                if why
            ][:1]
    return wrong


def told(agent: str, reason: str) -> str:
    """What it means that a client's hooks cannot be started."""
    return f"the hooks of {agent} do nothing: {reason}"


def fix(agent: str, executable: str) -> str:
    """What makes them run again; in a file that a project shares, joelclaw goes by its bare name."""
    return f"joelclaw install {agent}" if os.sep in executable else "put joelclaw on the PATH of this user"
