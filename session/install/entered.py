"""Which command the entries of a client call, and whether that is there to be run: for `doctor`, and `status`.

`status` asks at each call, so for it nothing is planned and nothing dear imported.
"""

from __future__ import annotations

import os

from core import files, json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clients.own_settings import Place
    from clients.settings import Settings

INSTALLS = "installs"
"""The folder of the home with a receipt of each file that was written."""
GONE = "HOOK_COMMAND_GONE"
NOT_EXECUTABLE = "HOOK_COMMAND_NOT_EXECUTABLE"
INTERPRETER_GONE = "HOOK_INTERPRETER_GONE"
_NAME = b"joelclaw"
_FIRST_LINE_BYTES = 1_024
_CALL = " hook "
_BEFORE_A_PATH = " ();|&\"'`"


class Entry:
    """An entry of ours: where it stands, its shell command ("" for an extension), the joelclaw that it calls."""

    __slots__ = ("command", "executable", "place")

    def __init__(self, place: Place, command: str, executable: str) -> None:
        self.place = place
        self.command = command
        self.executable = executable


def entries(client: Settings, *, project: bool) -> list[Entry]:
    """The entries of ours in a client's file; of one that loads our extension a single one, of no event.

    Raises:
        Failure: the file cannot be read, or is not what the client reads.
    """
    from clients.own_settings import Place
    from session.install import plan

    path = client.path(project=project)
    data = plan.read(path)
    if not data or _NAME not in data:
        return []
    text = plan.decoded(path, data)
    if not client.events:
        called = plan.called_by(text)
        return [Entry(Place("", 0, 0), "", called)] if called else []
    from session.install import hook_command, hook_entries
    from session.install.json_nodes import Malformed

    try:
        found = hook_entries.entered(text, client)
    except Malformed as error:
        raise plan.refused(path, client, error) from None
    return [Entry(place, command, hook_command.called(command, client.name)) for place, command in found]


def fault(executable: str) -> tuple[str, str] | None:
    """Why a command cannot be started, as code and words; None where nothing is seen to be wrong with it.

    A bare name is looked for on the PATH around this process.
    """
    path = executable if os.sep in executable else _on_path(executable)
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
    """The program that the first line of a script names; "" where it names none by an absolute path.

    Installers wrap a long one: `#!/bin/sh`, and in the second line `'''exec' PYTHON "$0" "$@"`.
    """
    try:
        with open(path, "rb") as file:
            first, _, rest = file.read(_FIRST_LINE_BYTES).partition(b"\n")
    except OSError:
        return ""
    if not first.startswith(b"#!"):
        return ""
    second = rest.partition(b"\n")[0]
    if second.startswith(b"'''exec' "):
        named = second.removeprefix(b"'''exec' ").strip()
        return os.fsdecode(named[1:].partition(b'"')[0] if named[:1] == b'"' else named.split(b" ")[0])
    words = first[2:].split()
    return os.fsdecode(words[0]) if words and words[0].startswith(b"/") else ""


def _on_path(name: str) -> str:
    import shutil

    return shutil.which(name) or ""


def problems() -> list[dict[str, str]]:
    """For `status`: a problem of each file with hooks of ours whose command cannot be started.

    Of the files that an installation from this home noted; some stats each.
    """
    folder = os.path.join(files.home(), INSTALLS)
    try:
        receipts = sorted(os.listdir(folder))
    except OSError:
        return []
    wrong = []
    for name in receipts:
        for agent, executable in dict.fromkeys(_called_in(os.path.join(folder, name))):
            reason = fault(executable)
            if reason is not None:
                wrong.append({"code": reason[0], "message": told(agent, reason[1]), "fix": fix(agent, executable)})
                break
    return wrong


def told(agent: str, reason: str) -> str:
    """What it means that a client's hooks cannot be started."""
    return f"the hooks of {agent} do nothing: {reason}"


def fix(agent: str, executable: str) -> str:
    """What makes them run again; in a file that a project shares, joelclaw goes by its bare name."""
    return f"joelclaw install {agent}" if os.sep in executable else "put joelclaw on the PATH of this user"


def _called_in(receipt: str) -> Iterator[tuple[str, str]]:
    """Client and command of what the file of a receipt calls, going by its strings; nothing where it cannot be read."""
    try:
        with open(receipt, "rb") as file:
            path = str(json_text.loads(file.read().decode())["path"])
        with open(path, "rb") as file:
            data = file.read()
        if data.startswith(b"// joelclaw"):
            text = data.decode()
            yield _constant(text, "AGENT"), _constant(text, "JOELCLAW")
        elif _CALL.encode() in data:
            yield from _in_strings(json_text.loads(data.decode("utf-8-sig")))
    except (OSError, ValueError, KeyError, TypeError, json_text.InvalidJSON):  # `doctor` looks closer
        pass


def _constant(text: str, name: str) -> str:
    """The value of a constant in an extension of ours."""
    return str(json_text.loads(text.partition(f"\nconst {name} = ")[2].partition(";")[0]))


def _in_strings(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and _CALL in value:
        before, _, behind = value.partition(_CALL)
        agent = behind[: next((at for at, one in enumerate(behind) if not (one.isalnum() or one in "_-")), len(behind))]
        if before.endswith("'"):  # a path that a shell would not take as it is
            from session.install import hook_command

            yield agent, hook_command.called(value, agent)
            return
        path = before[max(before.rfind(one) for one in _BEFORE_A_PATH) + 1 :]
        if os.path.basename(path) == "joelclaw":
            yield agent, path
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _in_strings(one)
