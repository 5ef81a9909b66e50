"""What we write into a client's files, and how it is known again: a hook's command, an extension, a skill, rules."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from importlib import resources
from typing import Any

from core.errors import Failure
from session import own_command
from session.install.client_settings import Settings

EXTENSION = "the extension of joelclaw, which the client loads"
_FAIL_OPEN = "2>/dev/null || :"
"""Where joelclaw is gone, a client sees neither a complaint nor a status: Claude Code takes 2 for a refusal."""
# The entries of earlier versions were programs that also looked at what was printed.
_BEFORE = re.compile(r"(?:exec 2>/dev/null;\s*)?(?:o=\$\()?\s*")
_AFTER = re.compile(
    r"(?:\s|2>/dev/null|>/dev/null|2>&1|[);:]|&&|\|\||true|case|esac|in|printf|\$o|\"\$o\"|'%s\\n'"
    r"|'\{\"hookSpecificOutput\":'\*\))*"
)
_CALL = r"""(?<![\w.'\"/-])(?:'(?:[^']|'"'"')*?/joelclaw'|(?:[^\s'"();|&]*/)?joelclaw)\s+hook\s+%s(?![\w-])"""
_CONSTANT = re.compile(r"^const JOELCLAW = .*$", re.MULTILINE)


def executable() -> str:
    """The absolute path of the `joelclaw` that runs; a link to it is kept, since an upgrade moves what it points to."""
    found = own_command.path() or shutil.which(own_command.NAME)
    if not found:
        fix = "put it on the PATH and run it from there"
        raise Failure("INSTALL_FAILED", "the joelclaw command cannot be found", fix)
    return found


def hook_groups(client: Settings, command: str) -> dict[str, dict[str, Any]]:
    """What goes into the list of each event in a client's settings."""
    label = {"name": client.label} if client.label else {}
    found: dict[str, dict[str, Any]] = {}
    for event in client.events:
        hook = {"type": "command", **label, "command": hook_command(command, client.name), "timeout": event.timeout}
        found[event.name] = {"matcher": event.matcher, "hooks": [hook]} if event.matcher else {"hooks": [hook]}
    return found


def hook_command(command: str, agent: str) -> str:
    """The shell command that this version enters."""
    return f"{shlex.quote(command)} hook {agent} {_FAIL_OPEN}"


def call_in(hook: object, agent: str) -> tuple[str, bool] | None:
    """By what path or name a client's hook runs `joelclaw hook`, and whether it does nothing else, as one of ours."""
    command = hook.get("command") if isinstance(hook, dict) else None
    found = re.search(_CALL % agent, command) if isinstance(command, str) else None
    if found is None:
        return None
    before, after = found.string[: found.start()], found.string[found.end() :]
    return shlex.split(found[0])[0], bool(_BEFORE.fullmatch(before) and _AFTER.fullmatch(after))


def recalls(command: str) -> tuple[tuple[str, str], ...]:
    """The commands that run without a question, by words: our search by its name and by its path."""
    return tuple((program, "recall") for program in dict.fromkeys((own_command.NAME, command)))


def own_files(client: Settings, command: str, *, project: bool) -> Iterator[tuple[str, str, str]]:
    """Path, text and purpose of each file that is ours alone."""
    if not client.events:
        yield client.path(project=project), extension(client, command), EXTENSION
    if client.rule_file and not project:  # a repository is not to decide what runs unasked
        about = "rules: `joelclaw recall` runs without a question"
        yield client.below(client.rule_file, project=project), client.rules_of(recalls(command)), about
    if client.skill:
        about = "a skill: when and how to ask the memory"
        text = _packaged("skill.md").replace("{joelclaw}", shlex.quote(command))
        yield client.below(client.skill, project=project), text, about


def extension(client: Settings, command: str) -> str:
    """The file that a client loads, with our path in it."""
    text = _packaged("extensions/common.js") + _packaged(f"extensions/{client.name}.js")
    line = f"const JOELCLAW = {json.dumps(command, ensure_ascii=False)};"
    return _CONSTANT.sub(lambda _: line, text, count=1)


def _packaged(name: str) -> str:
    try:
        return (resources.files("clients") / name).read_text(encoding="utf-8")
    except OSError as error:
        fix = "install joelclaw again"
        raise Failure("INSTALL_FAILED", f"{error.filename} is missing from this installation", fix) from None


def called_by_extension(text: str) -> str | None:
    """The path, or the bare name, by which an extension of ours calls joelclaw; None where it is none of ours."""
    match = _CONSTANT.search(text)
    try:
        return str(json.loads(match[0].partition("=")[2].strip().removesuffix(";"))) if match else None
    except ValueError:
        return ""


def same_extension(one: str, other: str) -> bool:
    """Whether two extensions differ in nothing but the path of our command."""
    return _CONSTANT.sub("", one, count=1) == _CONSTANT.sub("", other, count=1)
