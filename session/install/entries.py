"""What of ours stands in a JSON file of a client: hooks, rules for commands, a server. Put in, taken out, as values."""

import copy
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from session.install import own_text
from session.install.client_settings import Place, Settings
from session.install.settings_text import Malformed

SERVER = "joelclaw"
_SERVERS = "mcpServers"
_NOTHING = object()
_RULE = re.compile(
    r"""\w+\((?:joelclaw|(?:'(?:[^']|'"'"')*?|[^\s'"();|&]*)/joelclaw'?) recall(?::\*)?\)|mcp__joelclaw__\w+"""
)
_TOOL_RULES = ("mcp__joelclaw__recall", "mcp__joelclaw__show", "mcp__joelclaw__session")
"""Tools of our server that change nothing, as a list of what is allowed names them."""


def paths(value: object, above: str = "") -> set[str]:
    """The containers and the listed words of a value: `hooks`, `hooks/EVENT`, `permissions/allow/RULE`."""
    if isinstance(value, list):
        return {f"{above}/{one}" for one in value if isinstance(one, str)}
    found: set[str] = set()
    for key, inner in value.items() if isinstance(value, dict) else ():
        at = f"{above}/{key}" if above else str(key)
        found |= {at} | paths(inner, at)
    return found


@dataclass(frozen=True)
class Entry:
    """A hook of ours: where it stands, its shell command ("" for an extension), the joelclaw that it calls."""

    place: Place
    command: str
    executable: str
    matcher: str = ""


@dataclass(frozen=True)
class Entries:
    """Ours in one file of a client: whether it holds hooks, what runs without a question, the client's MCP servers."""

    client: Settings
    hooks: bool
    rules: bool
    server: bool
    project: bool

    def check(self, value: Any) -> None:
        """See that what ours would stand in is of the right type."""
        wanted: dict[tuple[str, ...], type] = {(): dict}
        if self.hooks:
            wanted["hooks",] = dict
            wanted |= {("hooks", event.name): list for event in self.client.events}
        if self.rules:
            wanted |= {self.client.allowed[:1]: dict, self.client.allowed: list}
        if self.server:
            wanted[_SERVERS,] = dict
        for path, kind in wanted.items():
            found = value
            for name in path:
                found = found.get(name, kind() if name == path[-1] else {})
            if not isinstance(found, kind):
                where = ".".join(path) or "what it holds"
                raise Malformed(f"{where} is not {'an object' if kind is dict else 'a list'}")

    def are_in(self, value: Any, *, keyed: bool = False) -> bool:
        """Whether anything of ours is there; `keyed`: a rule alone does not count, it may be the user's own."""
        hooks = self.hooks and bool(installed(value, self.client))
        return hooks or self._has_server(value) or bool(not keyed and self._rules_in(value))

    def put_in(self, value: Any, command: str, made: frozenset[str], *, mcp: bool) -> Any:
        """The value with our entries as this version wants them, with `mcp` also our server and rules for its tools."""
        value = copy.deepcopy(value)
        if self.hooks:
            self._put_hooks(value.setdefault("hooks", {}), command, made)
        if self.rules:
            wanted = [self.client.rule.format(" ".join(map(shlex.quote, words))) for words in own_text.recalls(command)]
            if mcp or any(rule.startswith("mcp__") for rule in self._rules_in(value)):
                wanted += _TOOL_RULES
            first, second = self.client.allowed
            listed = value.setdefault(first, {}).setdefault(second, [])
            for rule in self._rules_in(value):
                if rule not in wanted and f"{first}/{second}/{rule}" in made:
                    listed.remove(rule)
            listed.extend(rule for rule in wanted if rule not in listed)
        if self.server and (mcp or self._has_server(value)):
            servers = value.setdefault(_SERVERS, {})
            if SERVER not in servers or (self._has_server(value) and f"{_SERVERS}/{SERVER}" in made):
                servers[SERVER] = self.client.server(command)
        return value

    def take_out(self, value: Any, made: frozenset[str] | None) -> Any:
        """The value without ours, and without what was made to hold it; `made` None: nothing is known of that."""
        value = copy.deepcopy(value)
        if self.hooks:
            for event in list(value.get("hooks", {})):
                self._drop_event(value["hooks"], event, made)
            _tidy(value, ("hooks",), made)
        for rule in self._rules_in(value):
            if made is None or "/".join((*self.client.allowed, rule)) in made:
                value[self.client.allowed[0]][self.client.allowed[1]].remove(rule)
                _tidy(value, self.client.allowed, made)
        if self._has_server(value) and (made is None or f"{_SERVERS}/{SERVER}" in made):
            del value[_SERVERS][SERVER]
            _tidy(value, (_SERVERS,), made)
        return value

    def has_foreign_server(self, value: Any) -> bool:
        """Whether somebody else's server has our name."""
        return self.server and SERVER in value.get(_SERVERS, {}) and not self._has_server(value)

    def _has_server(self, value: Any) -> bool:
        """Whether the server says what we write, by whatever path of the command; by its name alone for a project."""
        found: Any = value.get(_SERVERS, {}).get(SERVER) if self.server else None
        command = str(found.get("command")) if isinstance(found, dict) else ""
        of_ours = os.path.basename(command) == SERVER and os.path.isabs(command) != self.project
        return of_ours and found == self.client.server(command)

    def _rules_in(self, value: Any) -> list[str]:
        if not self.rules:
            return []
        listed = value.get(self.client.allowed[0], {}).get(self.client.allowed[1], [])
        return [rule for rule in listed if isinstance(rule, str) and _RULE.fullmatch(rule)]

    def _put_hooks(self, hooks: Any, command: str, made: frozenset[str]) -> None:
        wanted = own_text.hook_groups(self.client, command)
        for event in list(hooks):
            if event not in wanted:
                self._drop_event(hooks, event, made)
        for event, group in wanted.items():
            rest = [self._rest(one) for one in hooks.get(event, ())]
            place = rest.index(_NOTHING) if _NOTHING in rest else len(rest)
            hooks[event] = [*rest[:place], group, *(one for one in rest[place:] if one is not _NOTHING)]

    def _drop_event(self, hooks: Any, event: str, made: frozenset[str] | None) -> None:
        groups = hooks[event] if isinstance(hooks[event], list) else []
        rest = [self._rest(one) for one in groups]
        if rest != groups:
            hooks[event] = [one for one in rest if one is not _NOTHING]
            if not hooks[event] and (made is None or f"hooks/{event}" in made):
                del hooks[event]

    def _rest(self, group: Any) -> Any:
        """A group without ours; `_NOTHING` where there is nothing else in it."""
        hooks = _hooks_of(group)
        others = [one for one in hooks if not (own_text.call_in(one, self.client.name) or ("", False))[1]]
        if len(others) == len(hooks):
            return group
        return {**group, "hooks": others} if others or set(group) - {"hooks", "matcher"} else _NOTHING


def installed(value: Any, client: Settings) -> list[Entry]:
    """The hooks of ours."""
    return [entry for entry, is_ours in _calls(value, client) if is_ours]


def foreign_calls(value: Any, client: Settings) -> list[str]:
    """Events in which a command that is not ours calls us, too."""
    return list(dict.fromkeys(entry.place.event for entry, is_ours in _calls(value, client) if not is_ours))


def _calls(value: Any, client: Settings) -> Iterator[tuple[Entry, bool]]:
    """The hooks that call us, and whether they are ours."""
    hooks = value.get("hooks") if isinstance(value, dict) else None
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for at, group in enumerate(groups if isinstance(groups, list) else ()):
            for position, hook in enumerate(_hooks_of(group)):
                called = own_text.call_in(hook, client.name)
                if called:
                    matcher = str(group.get("matcher") or "")
                    yield Entry(Place(event, at, position), hook["command"], called[0], matcher), called[1]


def _hooks_of(group: Any) -> list[Any]:
    found = group.get("hooks") if isinstance(group, dict) else None
    return found if isinstance(found, list) else []


def _tidy(value: Any, path: tuple[str, ...], made: frozenset[str] | None) -> None:
    """Delete empty containers that were made for ours, from the innermost outwards."""
    *above, name = path
    holder = value
    for one in above:
        holder = holder[one]
    if holder.get(name, True) or (made is not None and "/".join(path) not in made):
        return
    del holder[name]
    if above:
        _tidy(value, tuple(above), made)
