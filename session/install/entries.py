"""What we write into the files of a client, and how we find it again: hooks, rules, a server, and files of our own."""

import copy
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

from core.errors import Failure
from session import own_command
from session.install.client_settings import Place, Settings, table
from session.install.settings_text import Malformed

EXTENSION = "the extension of joelclaw, which the client loads"
EXTENSION_LINE = re.compile(r"^const JOELCLAW = .*$", re.MULTILINE)

_PLUGIN = ("plugins", "entries", own_command.NAME)
"""Where OpenClaw's settings switch our plugin on."""

_EMPTY = object()
"""Stands for a hook group with nothing left in it."""


@dataclass(frozen=True)
class Entry:
    """A hook of ours: its place, its shell command ("" for an extension), and the joelclaw that it calls."""

    place: Place
    command: str
    executable: str


def executable() -> str:
    """The absolute path of the running `joelclaw`. A link stays a link, since an upgrade moves its target."""
    path = own_command.path() or shutil.which(own_command.NAME)
    if not path:
        fix = "put it on the PATH and run it from there"
        raise Failure("INSTALL_FAILED", "the joelclaw command cannot be found", fix)
    return path


def hook_command(command: str, agent: str) -> str:
    """The shell command of a hook.

    If joelclaw is gone, the client sees neither a message nor a status: Claude Code takes 2 for a refusal.
    """
    return f"{shlex.quote(command)} hook {agent} 2>/dev/null || :"


def hook_groups(client: Settings, command: str) -> dict[str, dict[str, Any]]:
    """The hook group for each event in a client's settings."""
    label = {"name": client.label} if client.label else {}
    groups: dict[str, dict[str, Any]] = {}
    for event in client.events:
        hook = {"type": "command", **label, "command": hook_command(command, client.name), "timeout": event.timeout}
        groups[event.name] = {"matcher": event.matcher, "hooks": [hook]} if event.matcher else {"hooks": [hook]}
    return groups


def recall_commands(command: str) -> tuple[tuple[str, str], ...]:
    """The commands that may run without asking, as words: recall, by its name and by its path."""
    return tuple((program, "recall") for program in dict.fromkeys((own_command.NAME, command)))


def own_files(client: Settings, command: str, *, project: bool) -> Iterator[tuple[str, str, str]]:
    """The path, text and purpose of each file that is ours alone."""
    if not client.events:
        path = client.path(project=project)
        yield path, extension(client, command), EXTENSION
        for name, manifest in client.manifests.items():
            text = json.dumps(manifest, indent=2) + "\n"
            yield os.path.join(os.path.dirname(path), name), text, "what the client must know of the extension"
    if client.rule_file and not project:  # a repository must not decide what runs without asking
        purpose = "rules: `joelclaw recall` runs without a question"
        yield client.below(client.rule_file, project=project), client.rules_of(recall_commands(command)), purpose
    if client.skill:
        text = _packaged("skill.md").replace("{joelclaw}", shlex.quote(command))
        yield client.below(client.skill, project=project), text, "a skill: when and how to ask the memory"


def extension(client: Settings, command: str) -> str:
    """The extension that a client loads, with our path in it."""
    text = _packaged("extensions/common.js") + _packaged(f"extensions/{client.name}.js")
    line = f"const JOELCLAW = {json.dumps(command, ensure_ascii=False)};"
    return EXTENSION_LINE.sub(lambda _: line, text, count=1)


def executable_of_extension(text: str) -> str | None:
    """The path or name of joelclaw in an extension of ours; None if it is not ours."""
    match = EXTENSION_LINE.search(text)
    try:
        return str(json.loads(match[0].partition("=")[2].strip().removesuffix(";"))) if match else None
    except ValueError:
        return ""


def same_extension(text: str, other: str) -> bool:
    """Whether two extensions differ at most in the path of our command."""
    return EXTENSION_LINE.sub("", text, count=1) == EXTENSION_LINE.sub("", other, count=1)


def joelclaw_call(hook: object, agent: str) -> str | None:
    """The path or name of joelclaw in a hook that only runs `joelclaw hook`; None for any other hook."""
    command = hook.get("command") if isinstance(hook, dict) else None
    words = r"""(?<![\w.'\"/-])(?:'(?:[^']|'"'"')*?/joelclaw'|(?:[^\s'"();|&]*/)?joelclaw)\s+hook\s+%s(?![\w-])"""
    call = re.search(words % agent, command) if isinstance(command, str) else None
    if call is None:
        return None
    before, after = call.string[: call.start()], call.string[call.end() :]
    is_ours = not before.strip() and re.fullmatch(r"(?:\s|2?>/dev/null|2>&1|\|\||:|true)*", after)
    return shlex.split(call[0])[0] if is_ours else None


def installed_entries(value: Any, client: Settings) -> list[Entry]:
    """Our hooks in a client's settings."""
    found = []
    hooks = value.get("hooks") if isinstance(value, dict) else None
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            for position, hook in enumerate(_hooks_of(group)):
                call = joelclaw_call(hook, client.name)
                if call:
                    found.append(Entry(Place(event, number, position), hook["command"], call))
    return found


class Entries:
    """Our entries in a settings file of a client: hooks, with rules for what runs without asking; the MCP server; and
    the plugin that the client is to load.

    `has_hooks`, `has_server` and `has_plugin` say which of them belong in this file.
    """

    def __init__(self, client: Settings, path: str, *, project: bool) -> None:
        self.client, self.project = client, project
        self.has_hooks = path == client.path(project=project)
        self.has_server = path == client.servers(project=project)
        self.has_plugin = path == client.plugins_file
        self._containers: dict[tuple[str, ...], type] = {(): dict}  # of our entries, the outer before the inner
        if self.has_hooks:
            self._containers["hooks",] = dict
            self._containers |= {("hooks", event.name): list for event in client.events}
            if client.allowed:
                self._containers |= {client.allowed[:1]: dict, client.allowed: list}
        if self.has_server:
            self._containers[client.servers_key,] = dict
        if self.has_plugin:
            self._containers |= {_PLUGIN[:length]: dict for length in (1, 2, 3)}

    def check(self, value: Any) -> None:
        """Raise Malformed if a container of our entries has the wrong type."""
        for path, kind in self._containers.items():
            container = value
            for name in path:
                container = container.get(name, kind() if name == path[-1] else {})
            if not isinstance(container, kind):
                shown = ".".join(path) or "the file"
                raise Malformed(f"{shown} is not {'an object' if kind is dict else 'a list'}")

    def are_in(self, value: Any) -> bool:
        """Whether hooks, a server or a plugin of ours are there. A rule does not count: it may be the user's own."""
        has_hooks = self.has_hooks and bool(installed_entries(value, self.client))
        return has_hooks or self.is_server_in(value) or (self.has_plugin and bool(table(value, *_PLUGIN)))

    def is_server_in(self, value: Any) -> bool:
        """Whether our server is there, with any path of our command; in a project, with its name only."""
        server = self._server_in(value)
        command = str(server.get("command")) if isinstance(server, dict) else ""
        is_our_command = os.path.basename(command) == own_command.NAME and os.path.isabs(command) != self.project
        return is_our_command and server == self.client.server(command)

    def is_other_server_in(self, value: Any) -> bool:
        """Whether a server has our name that is not as we would write it."""
        return self._server_in(value) is not None and not self.is_server_in(value)

    def put_in(self, value: Any, command: str, *, mcp: bool) -> Any:
        """The value with our entries as this version writes them; with `mcp` also our server and its rules."""
        value = copy.deepcopy(value)
        if self.has_hooks:
            self._replace_hooks(value, hook_groups(self.client, command))
            self._replace_rules(value, self._rules(value, command, mcp=mcp))
        if self.is_server_in(value) or (mcp and self.has_server and not self.is_other_server_in(value)):
            value.setdefault(self.client.servers_key, {})[own_command.NAME] = self.client.server(command)
        if self.has_plugin:  # other settings in it are the user's
            plugins = value.setdefault("plugins", {}).setdefault("entries", {})
            plugin = plugins.setdefault(own_command.NAME, {})
            plugin["enabled"] = True
            plugin["hooks"] = {**table(plugin, "hooks"), "allowConversationAccess": True}
        return value

    def take_out(self, value: Any) -> Any:
        """The value without our entries, and without containers that are empty then."""
        value = copy.deepcopy(value)
        if self.has_hooks:
            self._replace_hooks(value, {})
            self._replace_rules(value, [])
        if self.is_server_in(value):
            del value[self.client.servers_key][own_command.NAME]
        if self.has_plugin:
            table(value, *_PLUGIN).clear()
        for path in reversed(self._containers):
            holder = value
            for name in path[:-1]:
                holder = holder.get(name, {})
            if path and holder.get(path[-1]) in ({}, []):
                del holder[path[-1]]
        return value

    def _server_in(self, value: Any) -> Any:
        return value.get(self.client.servers_key, {}).get(own_command.NAME) if self.has_server else None

    def _rules(self, value: Any, command: str, *, mcp: bool) -> list[str]:
        """Our rules for what runs without asking; those of the server's tools also if they are there already."""
        rules = [self.client.rule.format(shlex.join(call)) for call in recall_commands(command)]
        present = table(value, *self.client.allowed[:1]).get(self.client.allowed[-1], []) if self.client.allowed else []
        if mcp or any(_is_our_rule(rule) and rule.startswith("mcp__") for rule in present):
            rules += [f"mcp__{own_command.NAME}__{tool}" for tool in ("recall", "show")]  # they only read
        return rules

    def _replace_rules(self, value: Any, wanted: list[str]) -> None:
        if self.client.allowed:
            first, second = self.client.allowed
            rules = value.setdefault(first, {}).setdefault(second, [])
            rules[:] = [rule for rule in rules if rule in wanted or not _is_our_rule(rule)]
            rules.extend(rule for rule in wanted if rule not in rules)

    def _replace_hooks(self, value: Any, wanted: dict[str, dict[str, Any]]) -> None:
        """Replace our hooks by the groups of `wanted`, each at the place of the old group."""
        hooks = value.setdefault("hooks", {})
        for event in dict.fromkeys((*hooks, *wanted)):
            if not isinstance(hooks.get(event, []), list):
                continue
            groups = [self._without_ours(group) for group in hooks.get(event, [])]
            place = groups.index(_EMPTY) if _EMPTY in groups else len(groups)
            groups[place:place] = [wanted[event]] if event in wanted else []
            hooks[event] = [group for group in groups if group is not _EMPTY]
            if not hooks[event]:
                del hooks[event]

    def _without_ours(self, group: Any) -> Any:
        """A hook group without our hooks; `_EMPTY` if nothing else is in it."""
        hooks = _hooks_of(group)
        others = [hook for hook in hooks if joelclaw_call(hook, self.client.name) is None]
        if len(others) == len(hooks):
            return group
        return {**group, "hooks": others} if others or set(group) - {"hooks", "matcher"} else _EMPTY


def _is_our_rule(rule: object) -> bool:
    program = r"""joelclaw|(?:'(?:[^']|'"'"')*?|[^\s'"();|&]*)/joelclaw'?"""
    return isinstance(rule, str) and bool(
        re.fullmatch(rf"\w+\((?:{program}) recall(?:[: ]\*)?\)|mcp__joelclaw__\w+", rule)
    )


def _hooks_of(group: Any) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _packaged(name: str) -> str:
    try:
        return (resources.files("clients") / name).read_text(encoding="utf-8")
    except OSError as error:
        message = f"{error.filename} is missing from this installation"
        raise Failure("INSTALL_FAILED", message, "install joelclaw again") from None
