"""The shell command that a client's hook runs, and how we know one of ours again."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from typing import TYPE_CHECKING, Any

from core.errors import Failure

if TYPE_CHECKING:
    from clients.settings import Event, Settings

_FAIL_OPEN = "2>/dev/null || :"
"""Where joelclaw is gone, a client sees neither a complaint nor a status: Claude Code takes 2 for a refusal."""
# The entries of earlier versions were programs that also looked at what was printed.
_BEFORE = re.compile(r"(?:exec 2>/dev/null;\s*)?(?:o=\$\()?\s*")
_AFTER = re.compile(
    r"(?:\s|2>/dev/null|>/dev/null|2>&1|[);:]|&&|\|\||true|case|esac|in|printf|\$o|\"\$o\"|'%s\\n'"
    r"|'\{\"hookSpecificOutput\":'\*\))*"
)
_CALL = r"""(?:'(?:[^']|'"'"')*?/joelclaw'|(?:[^\s'"();|&]*/)?joelclaw)\s+hook\s+%s(?![\w-])"""


def groups(client: Settings, executable: str) -> dict[str, dict[str, Any]]:
    """What goes into the list of each event in a client's settings."""
    return {event.name: _group(client, event, executable) for event in client.events}


def written(executable: str, agent: str) -> str:
    """The command that this version enters."""
    return f"{shlex.quote(executable)} hook {agent} {_FAIL_OPEN}"


def is_call(entry: object, agent: str) -> bool:
    """Whether a hook runs `joelclaw hook` for a client, be it ours or somebody's own command."""
    return _around_call(entry, agent) is not None


def is_ours(entry: object, agent: str) -> bool:
    """Whether a hook is one that we entered, in this or another version: it calls us and does nothing else."""
    around = _around_call(entry, agent)
    return around is not None and bool(_BEFORE.fullmatch(around[0]) and _AFTER.fullmatch(around[1]))


def called(command: str, agent: str) -> str:
    """The path, or the bare name, by which a command of ours calls joelclaw; "" where it does not."""
    match = re.search(r"(?<![\w.'\"/-])" + _CALL % agent, command)
    return shlex.split(match[0])[0] if match else ""


def executable() -> str:
    """The absolute path of the `joelclaw` that runs; a link to it is kept, since an upgrade moves what it points to.

    Raises:
        Failure: INSTALL_FAILED when there is none of that name.
    """
    neighbour = os.path.join(os.path.dirname(sys.executable), "joelclaw")
    for path in (sys.argv[0], neighbour, shutil.which("joelclaw")):
        if path and os.path.basename(path) == "joelclaw":
            found = path if os.sep in path else shutil.which(path)
            if found and os.access(found, os.X_OK):
                return _utf8(os.path.abspath(found))
    raise Failure("INSTALL_FAILED", "the joelclaw command cannot be found", "put it on the PATH and run it from there")


def _group(client: Settings, event: Event, executable: str) -> dict[str, Any]:
    name = {"name": client.label} if client.label else {}
    hook = {"type": "command", **name, "command": written(executable, client.name), "timeout": event.timeout}
    return {**({"matcher": event.matcher} if event.matcher else {}), "hooks": [hook]}


def _around_call(entry: object, agent: str) -> tuple[str, str] | None:
    """What stands before and after the call in a hook's command; None where it does not call us."""
    command = entry.get("command") if isinstance(entry, dict) else None
    if not isinstance(command, str):
        return None
    match = re.search(r"(?<![\w.'\"/-])" + _CALL % agent, command)
    return (command[: match.start()], command[match.end() :]) if match else None


def _utf8(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        fix = "install joelclaw in a folder whose name is UTF-8"
        raise Failure("INSTALL_FAILED", "the path of joelclaw is not UTF-8", fix) from None
    return path
