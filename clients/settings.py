"""Where a client reads its settings, which events our hooks are entered for, and what keeps them from running."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clients.event import Kind

# The first line of a file with rules.
ABOUT_RULES = "joelclaw: recall may run without asking (written by joelclaw install, removed by uninstall)"
_COMMENTS = r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*[\s\S]*?\*/'
_MOST_BYTES = 16_000_000


class Event:
    """An event that our hook is entered for. `matcher`: the tools after which it is called; "" for all."""

    def __init__(self, name: str, timeout: int, matcher: str) -> None:
        self.name, self.timeout, self.matcher = name, timeout, matcher


class Place:
    """Where an entry of ours stands in a client's settings: event, group, place in the group, both from 0."""

    def __init__(self, event: str, group: int, position: int) -> None:
        self.event, self.group, self.position = event, group, position


class Obstacle:
    """What keeps a client from running our hooks, and what the user does about it."""

    def __init__(self, message: str, fix: str) -> None:
        self.message, self.fix = message, fix


class Settings:
    """The files of a client. A subclass of the same name in its `install.py` sets what differs from this one."""

    variable: str  # environment variable that names its configuration folder
    folder: str  # that folder below the user's home, where the variable is not set
    local_folder = ""  # in a project, where it is not `folder`
    file: str  # below that folder: the settings with hooks, or our extension
    applies: str  # when an installation takes effect, in words
    transcripts = ""  # below that folder, at any depth, its session files: a folder, and a pattern of their names
    timeout = 0  # after which the client ends a hook, in its own unit; 0 where it loads our extension
    end_timeout = 0  # the same for the end of a session, where the client allows no more
    edit_tools = ""  # as its matcher names those that write files: our hook is entered after no other; "": after each
    comments = False  # the client reads comments in its settings
    label = ""  # a hook's name on the client's screen, where it shows one
    allowed: tuple[str, ...] = ()  # in `file`, the way to the list of shell commands that are run without a question
    rule = ""  # how an entry there names the beginning of a command (`{}`)
    rule_file = ""  # below the folder: a file of ours with such rules, where the client takes one
    skill = ""  # below the folder: a short instruction that the client's model may read
    servers_file = ""  # below the folder: where the client's MCP servers are, if it has such and not in `file`
    has_servers = False  # it starts MCP servers
    asks_trust = False  # it runs a project's hooks only in a folder that the user trusts

    def __init__(self, name: str, kinds: Mapping[str, Kind]) -> None:
        self.name, self._kinds = name, kinds

    @property
    def events(self) -> tuple[Event, ...]:
        """The events to enter hooks for; none for a client that loads our extension."""
        ended = {"end": self.end_timeout or self.timeout}
        return tuple(
            Event(name, ended.get(kind, self.timeout), self.edit_tools if kind == "tool" else "")
            for name, kind in self._kinds.items()
            if self.timeout
        )

    def home(self) -> str:
        """The client's configuration folder."""
        given = os.environ.get(self.variable) or os.path.join("~", self.folder)
        return os.path.abspath(os.path.expanduser(given))

    def path(self, *, project: bool) -> str:
        """The file that we write our hooks, or our extension, to."""
        return self.below(self.file, project=project)

    def below(self, file: str, *, project: bool) -> str:
        """A file of the client's configuration folder."""
        return os.path.abspath(os.path.join(self.local_folder or self.folder if project else self.home(), file))

    def servers(self, *, project: bool) -> str:
        """The file with the client's MCP servers."""
        return self.below(self.servers_file or self.file, project=project)

    def server(self, command: str) -> dict[str, Any]:
        """Our MCP server, as the client's JSON has it."""
        return {"command": command, "args": ["mcp"]}

    def rules_of(self, _commands: tuple[tuple[str, ...], ...]) -> str:
        """The text of `rule_file`, for commands that may be run without a question: the beginning of each, by words."""
        return ""

    def present(self) -> bool:
        """Whether the client seems to be installed here."""
        import shutil

        return os.path.isdir(self.home()) or shutil.which(self.name) is not None

    def notes(self, *, project: bool) -> list[str]:
        """What the user has to know or to do before the hooks run."""
        trust = f"{self.name} runs a project's hooks only in a trusted folder"
        return [trust] * (project and self.asks_trust) + [one.message for one in self.switched_off(project=project)]

    def shell(self) -> tuple[str, ...]:
        """The words before the command of a hook, as the client runs it."""
        return ("/bin/sh", "-c")

    def switched_off(self, *, project: bool) -> list[Obstacle]:  # noqa: ARG002  # for subclasses
        """The client's own switches that keep hooks from running for a session in the current folder."""
        return []

    def untrusted(self, _places: Sequence[Place], *, project: bool) -> list[Obstacle]:  # noqa: ARG002  # for subclasses
        """What the client wants to be trusted before it runs our entries, and is not."""
        return []

    def settings_beside(self, *, project: bool) -> list[str]:  # noqa: ARG002  # for subclasses
        """Other files of the client in which a damaged one would keep our hooks from running."""
        return []


def read_settings(path: str, *names: str) -> dict[str, Any]:
    """The table of these names in a JSON (comments allowed) or TOML file; empty where it has none, or is unreadable."""
    try:
        found = _parsed(path)
    except (OSError, ValueError, RecursionError):
        return {}
    return table(found, *names)


def table(value: object, *names: str) -> dict[str, Any]:
    """The table of these names within a value; empty where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def damage(path: str) -> str:
    """What keeps a JSON or TOML file of a client from being read; "" where it is sound, or is not there."""
    try:
        _parsed(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""


def _parsed(path: str) -> Any:
    """What a regular file of a fair size holds: a repository may have a pipe or a device in its place."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(0, "it is not a regular file")
    with open(path, encoding="utf-8-sig") as file:
        text = file.read(_MOST_BYTES)
    if path.endswith(".toml"):
        import tomllib

        return tomllib.loads(text)
    import json
    import re

    return json.loads(re.sub(_COMMENTS, r"\1", text)) if text.strip() else {}
