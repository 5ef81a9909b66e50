"""Where a client reads its settings, the events that our hooks are entered for, and what keeps them from running."""

import json
import os
import re
import shutil
import tomllib
from collections.abc import Sequence
from typing import Any

from clients import Client

# The first line of a file with rules.
ABOUT_RULES = "joelclaw: recall may run without asking (written by joelclaw install, removed by uninstall)"
COMMENTS = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*[\s\S]*?\*/')
MAX_BYTES = 16_000_000  # of a settings file: a larger one is not read


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
    """The settings files of a client, found by its row (`clients.Client`). Subclasses set what differs."""

    applies = "takes effect in the client's next session"  # when an installation does, in words
    end_timeout = 0  # after which the client ends the hook of a session's end, if it allows less for that
    comments = False  # the client reads comments in its settings
    label = ""  # a hook's name on the client's screen
    allowed: tuple[str, ...] = ()  # in `file`, the keys of the list of shell commands that run without a question
    rule = ""  # how an entry there names the beginning of a command (`{}`)
    rule_file = ""  # below the folder: a file of ours with such rules
    skill = ""  # below the folder: a short instruction that the client's model may read
    servers_file = ""  # below the folder: where the client's MCP servers are, if not in `file`
    has_servers = False  # it starts MCP servers
    asks_trust = False  # it runs a project's hooks only in a folder that the user trusts

    def __init__(self, client: Client) -> None:
        self.client = client
        self.name = client.name
        self.file = client.settings_file
        self.timeout = client.hook_timeout

    @property
    def events(self) -> tuple[Event, ...]:
        """The events to enter hooks for; none for a client that loads our extension."""
        ended = {"end": self.end_timeout or self.timeout}
        return tuple(
            Event(name, ended.get(kind, self.timeout), self.client.edit_tools if kind == "tool" else "")
            for name, kind in self.client.events.items()
            if self.timeout
        )

    def path(self, *, project: bool) -> str:
        """The file that we write our hooks, or our extension, to."""
        return self.below(self.file, project=project)

    def below(self, file: str, *, project: bool) -> str:
        """A file of the client's configuration folder."""
        folder = self.client.project_folder or self.client.home_folder
        return os.path.abspath(os.path.join(folder if project else self.client.home(), file))

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
        return os.path.isdir(self.client.home()) or shutil.which(self.name) is not None

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
        text = file.read(MAX_BYTES)
    if path.endswith(".toml"):
        return tomllib.loads(text)
    return json.loads(COMMENTS.sub(r"\1", text)) if text.strip() else {}
