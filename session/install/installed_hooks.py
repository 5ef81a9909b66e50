"""Which hooks of ours are installed, what they call, and whether that can be run: for `status`, `doctor`, `--list`."""

import os
import re
import shutil
from typing import Any

from core import files
from core.errors import Failure
from session.install import entries, own_text, plan
from session.install.client_settings import Place, Settings
from session.install.entries import Entry
from session.install.undo import Receipt

GONE = "HOOK_COMMAND_GONE"
NOT_EXECUTABLE = "HOOK_COMMAND_NOT_EXECUTABLE"
INTERPRETER_GONE = "HOOK_INTERPRETER_GONE"
_FIRST_LINE_BYTES = 1_024


def of(client: Settings, path: str) -> list[Entry]:
    """The hooks of ours in a file of a client; of one that loads our extension a single one, of no event."""
    if client.events:
        return entries.installed(plan.settings_of(client, path), client)
    called = own_text.called_by_extension(plan.decoded(path, plan.read(path)))
    return [Entry(Place("", 0, 0), "", called)] if called else []


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
        "present": client.present(),
        "notes": [],
    }
    try:
        if any(one.changed for one in plan.removing(client, project=project)):
            receipt = Receipt.load(path)
            found["installed"], found["version"] = True, receipt.version if receipt else None
            found["current"] = not any(one.changed for one in plan.installing(client, project=project))
            if not found["current"]:
                found["notes"].append("another version or path of joelclaw: install it again")
    except Failure as failure:
        found["installed"] = None
        found["notes"].append(failure.message)
    return found


def broken(agent: str, executable: str) -> dict[str, str] | None:
    """Code, message and fix where the command that a client's hooks call cannot be started."""
    why = fault(executable)
    if why is None:
        return None
    # In a file that a project shares, joelclaw goes by its bare name.
    fix = f"joelclaw install {agent}" if os.sep in executable else "put joelclaw on this user's PATH"
    return {"code": why[0], "message": f"the hooks of {agent} do nothing: {why[1]}", "fix": fix}


def fault(executable: str) -> tuple[str, str] | None:
    """Why a command, or a name on our PATH, cannot be started, as code and words; None where nothing seems wrong."""
    path = executable if os.sep in executable else shutil.which(executable)
    if not path:
        return GONE, f"no `{executable}` is on the PATH"
    if not os.path.exists(path):
        return GONE, f"{path} {'leads nowhere' if os.path.islink(path) else 'is gone'}"
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        return NOT_EXECUTABLE, f"{path} is not executable"
    head = files.start_of(path, _FIRST_LINE_BYTES)
    wrapped = re.match(r"""#![^\n]*\n'''exec' (?:"([^"\n]+)"|([^ \n]+))""", head)
    plain = re.match(r"#! *(/\S+)", head)
    interpreter = (wrapped[1] or wrapped[2]) if wrapped else plain[1] if plain else ""
    if interpreter and not os.access(interpreter, os.X_OK):
        return INTERPRETER_GONE, f"{path} exists, but its interpreter {interpreter} is gone"
    return None
