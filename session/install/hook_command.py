"""The shell command that a client's hook runs, and how we know one of ours again."""

from __future__ import annotations

import re
import shlex
import shutil
from typing import Any

from clients.settings import Settings
from core.errors import Failure
from session import own_command

_FAIL_OPEN = "2>/dev/null || :"
"""Where joelclaw is gone, a client sees neither a complaint nor a status: Claude Code takes 2 for a refusal."""
# The entries of earlier versions were programs that also looked at what was printed.
_BEFORE = re.compile(r"(?:exec 2>/dev/null;\s*)?(?:o=\$\()?\s*")
_AFTER = re.compile(
    r"(?:\s|2>/dev/null|>/dev/null|2>&1|[);:]|&&|\|\||true|case|esac|in|printf|\$o|\"\$o\"|'%s\\n'"
    r"|'\{\"hookSpecificOutput\":'\*\))*"
)
_CALL = r"""(?<![\w.'\"/-])(?:'(?:[^']|'"'"')*?/joelclaw'|(?:[^\s'"();|&]*/)?joelclaw)\s+hook\s+%s(?![\w-])"""


def groups(client: Settings, executable: str) -> dict[str, dict[str, Any]]:
    """What goes into the list of each event in a client's settings."""
    name = {"name": client.label} if client.label else {}
    found: dict[str, dict[str, Any]] = {}
    for event in client.events:
        hook = {"type": "command", **name, "command": written(executable, client.name), "timeout": event.timeout}
        found[event.name] = {**({"matcher": event.matcher} if event.matcher else {}), "hooks": [hook]}
    return found


def written(executable: str, agent: str) -> str:
    """The command that this version enters."""
    return f"{shlex.quote(executable)} hook {agent} {_FAIL_OPEN}"


def is_call(entry: object, agent: str) -> bool:
    """Whether a hook runs `joelclaw hook` for a client, be it ours or somebody's own command."""
    return _call_in(entry, agent) is not None


def is_ours(entry: object, agent: str) -> bool:
    """Whether a hook is one that we entered, in this or another version: it calls us and does nothing else."""
    found = _call_in(entry, agent)
    if found is None:
        return False
    return bool(_BEFORE.fullmatch(found.string[: found.start()]) and _AFTER.fullmatch(found.string[found.end() :]))


def called(command: str, agent: str) -> str:
    """The path, or the bare name, by which a command of ours calls joelclaw; "" where it does not."""
    found = re.search(_CALL % agent, command)
    return shlex.split(found[0])[0] if found else ""


def executable() -> str:
    """The absolute path of the `joelclaw` that runs; a link to it is kept, since an upgrade moves what it points to."""
    found = own_command.path() or shutil.which(own_command.NAME)
    if not found:
        fix = "put it on the PATH and run it from there"
        raise Failure("INSTALL_FAILED", "the joelclaw command cannot be found", fix)
    try:
        found.encode()
    except UnicodeEncodeError:
        fix = "install joelclaw in a folder whose name is UTF-8"
        raise Failure("INSTALL_FAILED", "the path of joelclaw is not UTF-8", fix) from None
    return found


def _call_in(entry: object, agent: str) -> re.Match[str] | None:
    command = entry.get("command") if isinstance(entry, dict) else None
    return re.search(_CALL % agent, command) if isinstance(command, str) else None
