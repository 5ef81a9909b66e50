"""What each client needs: which file, which events, and the command that its hooks run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.errors import Failure
from session.install.json_nodes import Dialect

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAIN = Dialect()
_COMMENTED = Dialect(comments=True)
_ANSWERS = '{"hookSpecificOutput":'


@dataclass(frozen=True)
class Moment:
    """One event of a client. `speaks`: what we print there reaches the model, so our answer is passed on."""

    event: str
    timeout: int
    speaks: bool = False


@dataclass(frozen=True)
class Client:
    """A coding agent.

    Args:
        moments: the hooks to enter; none for a client that loads a file of ours.
        variable: environment variable that names its configuration folder.
        folder: that folder below the user's home, where the variable is not set.
        file: the file below that folder.
        local: the file below a project's folder.
        label: a hook's name on the client's screen, where it shows one.
    """

    name: str
    variable: str
    folder: str
    file: str
    local: str
    moments: tuple[Moment, ...] = ()
    dialect: Dialect = PLAIN
    label: str = ""

    def home(self) -> str:
        """The client's configuration folder."""
        if self.name == "gemini":  # the variable names the home above the folder
            return os.path.join(os.environ.get(self.variable) or os.path.expanduser("~"), self.folder)
        given = os.environ.get(self.variable)
        if given:
            return os.path.abspath(os.path.expanduser(given))
        if self.name == "opencode" and os.environ.get("XDG_CONFIG_HOME"):
            return os.path.join(os.environ["XDG_CONFIG_HOME"], "opencode")
        return os.path.join(os.path.expanduser("~"), self.folder)

    def path(self, *, project: bool) -> str:
        """The file that we write to."""
        return os.path.abspath(self.local if project else os.path.join(self.home(), self.file))

    def present(self) -> bool:
        """Whether the client seems to be installed here."""
        return os.path.isdir(self.home()) or shutil.which(self.name) is not None

    def groups(self, executable: str) -> dict[str, dict[str, Any]]:
        """What goes into the list of each event."""
        return {moment.event: self._group(moment, executable) for moment in self.moments}

    def _group(self, moment: Moment, executable: str) -> dict[str, Any]:
        name = {"name": self.label} if self.label else {}
        command = hook_command(executable, self.name, speaks=moment.speaks)
        return {"hooks": [{"type": "command", **name, "command": command, "timeout": moment.timeout}]}

    def mentioned(self, entry: object) -> bool:
        """Whether a hook runs `joelclaw hook` for this client, be it of ours or somebody's own command."""
        return _called(entry, self.name) is not None

    def ours(self, entry: object) -> bool:
        """Whether a hook is one that we entered, in this or another version: it calls us and does nothing else."""
        call = _called(entry, self.name)
        return call is not None and bool(_BEFORE.fullmatch(call[0]) and _AFTER.fullmatch(call[1]))


_BEFORE = re.compile(r"(?:exec 2>/dev/null;\s*)?(?:o=\$\()?\s*")
_AFTER = re.compile(
    r"(?:\s|2>/dev/null|>/dev/null|2>&1|[);:]|&&|\|\||true|case|esac|in|printf|\$o|\"\$o\"|'%s\\n'"
    r"|'\{\"hookSpecificOutput\":'\*\))*"
)
_CALL = r"""(?:'(?:[^']|'"'"')*?/joelclaw'|(?:[^\s'"();|&]*/)?joelclaw)\s+hook\s+%s(?![\w-])"""


def _called(entry: object, agent: str) -> tuple[str, str] | None:
    """What stands before and after the call in a hook's command."""
    command = entry.get("command") if isinstance(entry, dict) else None
    if not isinstance(command, str):
        return None
    match = re.search(r"(?<![\w.'\"/-])" + _CALL % agent, command)
    return (command[: match.start()], command[match.end() :]) if match else None


def hook_command(executable: str, agent: str, *, speaks: bool) -> str:
    """A shell command that ends with status 0 and prints our answer or nothing, whatever `executable` does."""
    call = f"{shlex.quote(executable)} hook {agent}"
    if not speaks:
        return f"{call} >/dev/null 2>&1 || :"
    # With stderr given up first: what hangs in `$(…)` would hold it, and a client that waits for its end with it.
    return f"exec 2>/dev/null; o=$({call}) && case $o in '{_ANSWERS}'*) printf '%s\\n' \"$o\";; esac; :"


def executable() -> str:
    """The absolute path of the `joelclaw` that runs; a link to it is kept, since an upgrade moves what it points to.

    Raises:
        Failure: INSTALL_FAILED when there is none of that name.
    """
    beside = os.path.join(os.path.dirname(sys.executable), "joelclaw")
    for path in (sys.argv[0], beside, shutil.which("joelclaw")):
        if path and os.path.basename(path) == "joelclaw":
            found = path if os.sep in path else shutil.which(path)
            if found and os.access(found, os.X_OK):
                return _told(os.path.abspath(found))
    raise Failure("INSTALL_FAILED", "the joelclaw command cannot be found", "put it on the PATH and run it from there")


def _told(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        fix = "install joelclaw in a folder whose name is UTF-8"
        raise Failure("INSTALL_FAILED", "the path of joelclaw is not UTF-8", fix) from None
    return path


def _moments(spec: str, unit: int) -> tuple[Moment, ...]:
    """`Event!` speaks; `Event:3` has three seconds, else five."""
    found = []
    for word in spec.split():
        event, _, seconds = word.partition(":")
        found.append(Moment(event.rstrip("!"), int(seconds or 5) * unit, event.endswith("!")))
    return tuple(found)


CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client("pi", "PI_CODING_AGENT_DIR", ".pi/agent", "extensions/joelclaw.ts", ".pi/extensions/joelclaw.ts"),
        Client(
            "claude",
            "CLAUDE_CONFIG_DIR",
            ".claude",
            "settings.json",
            ".claude/settings.json",
            # What PreCompact prints would go into the summariser's prompt.
            _moments("SessionStart! UserPromptSubmit! PostToolUse! Stop PreCompact SessionEnd", 1),
        ),
        Client(
            "codex",
            "CODEX_HOME",
            ".codex",
            "hooks.json",
            ".codex/hooks.json",
            _moments("SessionStart! UserPromptSubmit! PostToolUse! Stop PreCompact SessionEnd:3", 1),
        ),
        Client(
            "gemini",
            "GEMINI_CLI_HOME",
            ".gemini",
            "settings.json",
            ".gemini/settings.json",
            _moments("SessionStart! BeforeAgent! AfterTool! AfterAgent SessionEnd", 1000),
            _COMMENTED,
            "joelclaw",
        ),
        Client(
            "opencode", "OPENCODE_CONFIG_DIR", ".config/opencode", "plugin/joelclaw.js", ".opencode/plugin/joelclaw.js"
        ),
    )
}
