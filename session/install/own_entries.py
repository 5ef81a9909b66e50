"""What we write into the files of a client, and how we find it again: hooks, rules, a server, and files of our own."""

import copy
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import clients
from clients.content import as_object
from core import files
from core.errors import Failure
from session import own_command
from session.install.client_settings import PLUGIN_PLACE, Settings
from session.install.settings_text import Malformed

EXTENSION = "the extension of joelclaw, which the client loads"
SKILL = "skills/joelclaw/SKILL.md"  # below a client's folder: a short instruction that its model may read
EXTENSION_LINE = re.compile(r"^const JOELCLAW = .*$", re.MULTILINE)

_CALL = re.compile(rf"\b{own_command.NAME}[\"']?\s+hook\s")  # of a hook


class Entry(NamedTuple):
    """A hook of ours: its event ("" for an extension), the joelclaw that it calls, and if the user edited the call."""

    event: str
    executable: str
    is_edited: bool = False


def executable() -> str:
    """The absolute path of the running `joelclaw`. A link stays a link, since an upgrade moves its target."""
    path = own_command.path() or shutil.which(own_command.NAME)
    if not path:
        fix = "put it on the PATH and run it from there"
        raise Failure("INSTALL_FAILED", "the joelclaw command cannot be found", fix)
    return path


def recall_commands(command: str) -> tuple[tuple[str, str], ...]:
    """The commands that may run without asking, as words: recall, by its name and by its path."""
    return tuple((program, "recall") for program in dict.fromkeys((own_command.NAME, command)))


def own_files(settings: Settings, command: str, *, project: bool) -> Iterator[tuple[str, str, str]]:
    """The path, text and purpose of each file that is ours alone."""
    if not settings.events:
        path = settings.path(project=project)
        text = _packaged("extensions/common.js") + _packaged(f"extensions/{settings.name}.js")
        line = f"const JOELCLAW = {json.dumps(command, ensure_ascii=False)};"
        yield path, EXTENSION_LINE.sub(lambda _: line, text, count=1), EXTENSION
        for name in settings.manifests:
            text = _packaged(f"extensions/{settings.name}/{name}")
            yield os.path.join(os.path.dirname(path), name), text, "what the client must know of the extension"
    if settings.rule_file and not project:  # a repository must not decide what runs without asking
        purpose = "rules: `joelclaw recall` runs without a question"
        yield settings.below(settings.rule_file, project=project), settings.rules_of(recall_commands(command)), purpose
    if settings.events:
        text = _packaged("skill.md").replace("{joelclaw}", shlex.quote(command))
        yield settings.below(SKILL, project=project), text, "a skill: when and how to ask the memory"


def executable_of_extension(text: str) -> str:
    """The path or name of joelclaw in an extension of ours; "" if it is not ours."""
    match = EXTENSION_LINE.search(text)
    try:
        return str(json.loads(match[0].partition("=")[2].strip().removesuffix(";"))) if match else ""
    except ValueError:
        return ""


def entry_of(hook: object, agent: str, event: str = "") -> Entry | None:
    """A hook as our entry, if its command calls `joelclaw hook AGENT`; else None.

    A command with anything else in it (a variable, a wrapper, another command) is one of ours that the user edited.
    """
    command = hook.get("command") if isinstance(hook, dict) else None
    words = _words(command) if isinstance(command, str) else []
    for at, word in enumerate(words[:-2]):
        if words[at + 1 : at + 3] == ["hook", agent] and os.path.basename(word) == own_command.NAME:
            rest = {*words[:at], *words[at + 3 :]}
            is_edited = not rest <= {"2", ">", "/dev/null", ">&", "1", "||", ":", "true"}
            return Entry(event, os.path.expanduser(os.path.expandvars(word)), is_edited)
    return None


def _with_path(line: str, agent: str, old: str, new: str) -> str:
    """A command line with another path in its call of `joelclaw hook AGENT`, if it still calls joelclaw then."""
    if new in ("", old) or not os.path.isabs(old):  # a bare name may belong to `uv run`
        return line
    call = rf"(?<![\w./~-])(?:{re.escape(shlex.quote(old))}|\"{re.escape(old)}\")(?=\s+hook\s+{agent}\b)"
    changed = re.sub(call, lambda _: shlex.quote(new), line)
    entry = entry_of({"command": changed}, agent)
    return changed if entry is not None and entry.executable == new else line


def _words(command: str) -> list[str]:
    """The words of a command line, and those of a command line in it (`sh -c '…'`); [] if it is none."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.commenters, lexer.whitespace_split = "", True
    try:
        words = list(lexer)
    except ValueError:
        return []
    return [part for word in words for part in (_words(word) if _CALL.search(word) else [word])]


def installed_entries(value: Any, settings: Settings) -> list[Entry]:
    """Our hooks in a client's settings."""
    return [
        entry
        for event, groups in as_object(value, "hooks").items()
        for group in (groups if isinstance(groups, list) else ())
        for hook in _hooks_of(group)
        if (entry := entry_of(hook, settings.name, event))
    ]


class Entries:
    """Our entries in a settings file of a client: hooks, with rules for what runs without asking; the MCP server; and
    the plugin that the client is to load.

    `has_hooks`, `has_server` and `has_plugin` say which of them belong in this file. `written` are the `forms` of the
    last installation. Its methods raise Malformed if something else is at the place of such an entry.
    """

    def __init__(self, settings: Settings, path: str, *, project: bool, written: dict[str, Any]) -> None:
        self.settings = settings
        self._project = project
        self._written = written
        self.has_hooks = path == settings.path(project=project)
        self.has_server = path == settings.servers(project=project)
        self.has_plugin = path == settings.plugins_file
        places = [("hooks",), settings.allowed] * self.has_hooks
        self._places: list[tuple[str, ...]] = [*places, *[(settings.servers_key,)] * self.has_server]
        self._places += [PLUGIN_PLACE] * self.has_plugin

    def are_in(self, value: Any) -> bool:
        """Whether hooks, a server or a plugin of ours are there. A rule does not count: it may be the user's own."""
        has_hooks = self.has_hooks and bool(installed_entries(value, self.settings))
        has_plugin = self.has_plugin and bool(as_object(value, *PLUGIN_PLACE))
        return has_hooks or has_plugin or self.is_server_in(value)

    def forms(self, command: str) -> dict[str, list[Any]]:
        """What a user may change of the hook of each event, as this version writes it."""
        groups = self._hook_groups(command).items() if self.has_hooks else ()
        return {event: _form(group, group["hooks"][0], command) for event, group in groups}

    def is_server_in(self, value: Any) -> bool:
        """Whether our server is there as we write it, with any path of our command."""
        server = self._server_in(value)
        command = str(server.get("command")) if isinstance(server, dict) else ""
        return os.path.basename(command) == own_command.NAME and server == self.settings.server(command)

    def is_other_server_in(self, value: Any) -> bool:
        """Whether a server has our name that is not as we would write it."""
        return self._server_in(value) is not None and not self.is_server_in(value)

    def replaced_in(self, value: Any, command: str, *, mcp: bool = False) -> Any:
        """The value with our entries as this version writes them; with `mcp` also our server and its rules.

        Without a command: the value without our entries, and without containers of such entries that are empty then.
        """
        if not isinstance(value, dict):
            raise Malformed("the file is not an object")
        value = copy.deepcopy(value)
        if self.has_hooks:
            self._replace_hooks(value, command)
            self._replace_rules(value, command, mcp=mcp)
        if self.has_server:
            self._replace_server(value, command, mcp=mcp)
        if self.has_plugin and command:  # a switch that the user set stays
            _container(value, dict, *PLUGIN_PLACE).setdefault("enabled", True)
            _container(value, dict, *PLUGIN_PLACE, "hooks").setdefault("allowConversationAccess", True)
        elif self.has_plugin:
            as_object(value, *PLUGIN_PLACE).clear()
        for place in () if command else self._places:
            _remove_empty(value, *place)
        return value

    def _server_in(self, value: Any) -> Any:
        return as_object(value, self.settings.servers_key).get(own_command.NAME) if self.has_server else None

    def _hook_groups(self, command: str) -> dict[str, dict[str, Any]]:
        """The hook group of each event. If joelclaw is gone, the client sees neither a message nor a status:
        Claude Code takes 2 for a refusal."""
        settings, client = self.settings, self.settings.client
        line = f"{shlex.quote(command)} hook {settings.name} 2>/dev/null || :"
        label = {"name": settings.label} if settings.label else {}
        groups = {}
        for event in settings.events:
            kind = client.events[event]
            timeout = (settings.end_timeout if kind == "end" else 0) or client.hook_timeout
            matcher = {"matcher": client.edit_tools} if kind == "tool" and client.edit_tools else {}
            groups[event] = {**matcher, "hooks": [{"type": "command", **label, "command": line, "timeout": timeout}]}
        return groups

    def _replace_server(self, value: Any, command: str, *, mcp: bool) -> None:
        """Replace our server, or add it with `mcp`; without a command, remove it. Another of its name stays."""
        is_ours = self.is_server_in(value)
        if command and (is_ours or (mcp and not self.is_other_server_in(value))):
            _container(value, dict, self.settings.servers_key)[own_command.NAME] = self.settings.server(command)
        elif is_ours and not command:
            del value[self.settings.servers_key][own_command.NAME]

    def _replace_rules(self, value: Any, command: str, *, mcp: bool) -> None:
        """Replace our rules for what runs without asking, without a command by none. Those of the server's tools are
        also replaced without `mcp` if they are there. A repository must not decide this, so a project gets none."""
        if not self.settings.allowed or (self._project and command):
            return
        rules = _container(value, list, *self.settings.allowed)
        wanted = [self.settings.rule.format(shlex.join(call)) for call in recall_commands(command)] if command else []
        if mcp or (command and any(_is_our_rule(rule) and rule.startswith("mcp__") for rule in rules)):
            wanted += [f"mcp__{own_command.NAME}__{tool}" for tool in ("recall", "show")]  # they only read
        rules[:] = [rule for rule in rules if rule in wanted or not _is_our_rule(rule)]
        rules.extend(rule for rule in wanted if rule not in rules)

    def _replace_hooks(self, value: Any, command: str) -> None:
        """Replace our hooks by those of this version, each group in its old place; without `command`, remove them.

        A hook that differs from what we wrote last stays, with the current path of the command, and its event gets no
        second hook. Without a command, it stays only if its command line was edited.
        """
        hooks, name = _container(value, dict, "hooks"), self.settings.name
        wanted = self._hook_groups(command) if command else {}
        for event in dict.fromkeys((*hooks, *wanted)):
            if event not in self.settings.events and not isinstance(hooks[event], list):
                continue
            kept: list[Any] = []
            place, has_edited = None, False
            for group in _container(hooks, list, event):
                others = []
                for hook in _hooks_of(group):
                    entry = entry_of(hook, name)
                    form = entry and _form(group, hook, entry.executable)
                    is_changed = command != "" and self._written.get(event, form) != form
                    if entry and (entry.is_edited or is_changed):
                        has_edited = True
                        hook["command"] = _with_path(hook["command"], name, entry.executable, command)
                    elif entry:
                        continue
                    others.append(hook)
                if others or not _hooks_of(group):
                    kept.append({**group, "hooks": others} if others else group)
                elif place is None:
                    place = len(kept)
            if event in wanted and not has_edited:
                kept.insert(len(kept) if place is None else place, wanted[event])
            if kept or (wanted and not hooks[event]):
                hooks[event] = kept
            else:
                del hooks[event]


def _form(group: dict[str, Any], hook: dict[str, Any], executable: str) -> list[Any]:
    """The matcher and timeout of a hook, and its command without the path of joelclaw."""
    rest = hook["command"].replace(shlex.quote(executable), "", 1)
    return [group.get("matcher") or "", hook.get("timeout"), rest]


def _container(value: Any, kind: type, *names: str) -> Any:
    """The object or list with this path of names, which is created if it is missing. Raises Malformed."""
    for length, name in enumerate(names, 1):
        wanted = kind if length == len(names) else dict
        value = value.setdefault(name, wanted())
        if not isinstance(value, wanted):
            raise Malformed(f"{'.'.join(names[:length])} is not {'an object' if wanted is dict else 'a list'}")
    return value


def _remove_empty(value: dict[str, Any], *names: str) -> None:
    """Remove the container with this path of names if it is empty, then those around it."""
    for length in range(len(names), 0, -1):
        holder = as_object(value, *names[: length - 1])
        if holder.get(names[length - 1]) in ({}, []):
            del holder[names[length - 1]]


def _is_our_rule(rule: object) -> bool:
    """Whether a rule lets our command, at any path, or a tool of our server run."""
    if not isinstance(rule, str):
        return False
    return bool(re.fullmatch(r"\w+\((?:.*/)?joelclaw'? recall(?:[: ]\*)?\)|mcp__joelclaw__\w+", rule))


def _hooks_of(group: Any) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


@cache
def _packaged(name: str) -> str:
    return files.read_file(os.path.join(os.path.dirname(clients.__file__), name)).decode()
