"""The settings files of each client, the events that get a hook, and what keeps a client from running our hooks."""

import json
import os
import shlex
import shutil
from collections.abc import Mapping
from typing import Any, NamedTuple

from clients.base import Client
from clients.content import as_object
from core import files
from core.command import run_command
from session import own_command
from session.install import settings_text
from session.install.settings_text import Malformed

PLUGIN_PLACE = ("plugins", "entries", own_command.NAME)  # in the settings of OpenClaw


def settings_of(client: Client) -> "Settings":
    """The settings of a client. A client without a class here has no switches and no rules."""
    classes = {
        "claude": ClaudeSettings, "codex": CodexSettings, "copilot": CopilotSettings, "gemini": GeminiSettings,
        "openclaw": OpenClawSettings, "pi": PiSettings, "qwen": QwenSettings,
    }  # fmt: skip
    return classes.get(client.name, Settings)(client)


class Obstacle(NamedTuple):
    """Something that keeps a client from running our hooks, and what to do about it."""

    message: str
    fix: str


class Settings:
    """The settings files of a client. Subclasses set what differs."""

    applies = "takes effect the next time {title} starts"  # an installation
    end_timeout = 0  # after which the client ends the hook of a session's end, if it allows less for that
    project_file = ""  # the settings with hooks below a project's folder, if it is another file
    label = ""  # a hook's name on the client's screen
    allowed: tuple[str, ...] = ()  # in `file`, the keys of the list of shell commands that run without a question
    rule = ""  # how an entry there names the beginning of a command (`{}`)
    rule_file = ""  # below the folder: a file of ours with such rules
    manifests: tuple[str, ...] = ()  # files next to our extension that describe it
    plugins_file = ""  # the settings in which the client wants our extension switched on
    servers_file = ""  # below the folder: the file with its MCP servers, if it starts any
    servers_key = "mcpServers"  # in that file, the table of the servers
    server_fields: Mapping[str, Any] = {}  # of a server, besides its command
    rules_heading = "joelclaw: recall may run without asking (written by joelclaw install, removed by uninstall)"
    switches: tuple[tuple[str, ...], ...] = ()  # settings that switch hooks on or off, each by its path of names
    switch_file = ""  # below the user's folder: the file with them, if not the settings with hooks
    switch_on = True  # their value that lets hooks run
    has_projects = True  # a project can have settings with our hooks
    asks_trust = False  # it runs a project's hooks only in a folder that the user trusts

    def __init__(self, client: Client) -> None:
        self.client = client
        self.name = client.name
        # with a hook; none if our extension is loaded
        self.events = tuple(client.events) if client.hook_timeout else ()
        self.applies = self.applies.format(title=client.title)

    def path(self, *, project: bool) -> str:
        """The file that we write our hooks, or our extension, to."""
        file = self.project_file if project and self.project_file else self.client.settings_file
        return self.below(file, project=project)

    def below(self, file: str, *, project: bool) -> str:
        """A file of the client's configuration folder."""
        folder = self.client.project_folder or self.client.home_folder
        return os.path.abspath(os.path.join(folder if project else self.client.home(), file))

    def servers(self, *, project: bool) -> str:
        """The file with the client's MCP servers; "" if it starts none."""
        return self.below(self.servers_file, project=project) if self.servers_file else ""

    def server(self, command: str) -> dict[str, Any]:
        """Our MCP server, as the client's file has it."""
        return {"command": command, "args": ["mcp"], **self.server_fields}

    def confirmed(self) -> list[str]:
        """What the client itself says about an installation that was just made, if it has a command for that."""
        return []

    def rules_of(self, _commands: tuple[tuple[str, ...], ...]) -> str:
        """The text of `rule_file`. `commands` are the first words of each command that may run without asking."""
        return ""

    def present(self) -> bool:
        """Whether the client seems to be installed here."""
        return os.path.isdir(self.client.home()) or shutil.which(self.name) is not None

    def notes(self, *, project: bool) -> list[str]:
        """What the user must know or do before the hooks run."""
        trust = f"{self.name} runs a project's hooks only in a trusted folder"
        switches = [switch.message for switch in self.switched_off()]
        return [trust] * (project and self.asks_trust) + switches

    def switched_off(self) -> list[Obstacle]:
        """The client's own switches, in the nearest file that sets them for a session in the current folder."""
        shared = self.path(project=True)
        nearest = (os.path.join(os.path.dirname(shared), "settings.local.json"), shared, self.path(project=False))
        only = self.plugins_file or (self.switch_file and self.below(self.switch_file, project=False))
        found = []
        for *names, name in self.switches:
            values = ((path, read_settings(path, *names).get(name)) for path in ((only,) if only else nearest))
            path, value = next((pair for pair in values if pair[1] is not None), ("", None))
            if value is (not self.switch_on):
                switch = f"`{'.'.join((*names, name))}`"
                fix = f"set {switch} to {json.dumps(self.switch_on)} in {path}"
                found.append(Obstacle(f"hooks are switched off by {switch} in {path}", fix))
        return found

    def untrusted(self, *, project: bool) -> list[Obstacle]:  # noqa: ARG002  # for subclasses
        """Hooks and folders that the user must trust before the client runs our hooks."""
        return []


class ClaudeForm(Settings):
    """A client whose settings have the form of Claude Code's."""

    allowed: tuple[str, ...] = ("permissions", "allow")
    switches = (("disableAllHooks",),)
    switch_on = False


class ClaudeSettings(ClaudeForm):
    """Claude Code."""

    rule = "Bash({}:*)"
    servers_file = ".claude.json"
    server_fields: Mapping[str, Any] = {"type": "stdio"}  # as `claude mcp add` writes it

    def servers(self, *, project: bool) -> str:
        """In a project, a file next to its folder; else a file in the user's home or in the configured folder."""
        if project:
            return os.path.abspath(".mcp.json")
        home = os.environ.get(self.client.home_variable) or os.path.expanduser("~")
        return os.path.abspath(os.path.join(home, self.servers_file))


class QwenSettings(ClaudeForm):
    """Qwen Code."""

    rule = "Bash({} *)"
    servers_file = "settings.json"
    asks_trust = True


class CopilotSettings(ClaudeForm):
    """Copilot CLI. It keeps no rules for what runs without a question."""

    allowed = ()
    project_file = "copilot/settings.json"
    servers_file = "mcp-config.json"
    server_fields: Mapping[str, Any] = {"type": "local", "tools": ["*"]}

    def servers(self, *, project: bool) -> str:
        """In a project, GitHub's file for all clients."""
        return self.below("mcp.json" if project else self.servers_file, project=project)


class CodexSettings(Settings):
    """Codex."""

    end_timeout = 3
    rule_file = "rules/joelclaw.rules"
    servers_file = "config.toml"
    servers_key = "mcp_servers"
    switches = (("features", "hooks"),)
    switch_file = "config.toml"
    server_fields: Mapping[str, Any] = {"env_vars": ["JOELCLAW_HOME"]}  # which Codex would not pass on
    asks_trust = True
    review = "start `codex` once and choose `Trust all and continue`, or trust them later with `/hooks`"

    def notes(self, *, project: bool) -> list[str]:
        """How to trust the hooks, and whether they are switched off."""
        about = f"{self.review}; `codex exec` runs none before that; after an upgrade that changes them it asks again"
        return [about, *super().notes(project=project)]

    def rules_of(self, commands: tuple[tuple[str, ...], ...]) -> str:
        """Rules of its execution policy."""
        lines = [f'prefix_rule(pattern = {json.dumps(words)}, decision = "allow")' for words in commands]
        return "\n".join((f"# {self.rules_heading}", *lines, ""))

    def untrusted(self, *, project: bool) -> list[Obstacle]:
        """Hooks that were not reviewed, and a folder that is not trusted."""
        # Whether a trusted hook has changed since cannot be checked: the mark is Codex's own hash.
        known, found = read_settings(self.servers(project=False)), []
        path, states = self.path(project=project), as_object(known, "hooks", "state")
        if not any(key.startswith(f"{path}:") and as_object(states, key).get("trusted_hash") for key in states):
            found.append(Obstacle("its hooks are not trusted, so they do not run", self.review))
        here = os.getcwd()
        if project and as_object(known, "projects", here).get("trust_level") != "trusted":
            about = f"{here} is not trusted, so its hooks do not run"
            found.append(Obstacle(about, f"start `codex` in {here} and trust it"))
        return found


class GeminiSettings(Settings):
    """Gemini CLI."""

    label = "joelclaw"
    rule_file = "policies/joelclaw.toml"
    switches = (("hooksConfig", "enabled"),)
    servers_file = "settings.json"
    asks_trust = True

    def rules_of(self, commands: tuple[tuple[str, ...], ...]) -> str:
        """Rules of its policy engine. An entry in `tools.allowed` would refuse every other shell command (0.61.0)."""
        prefixes = ", ".join(json.dumps(shlex.join(words)) for words in commands)
        rule = f'toolName = "run_shell_command"\ncommandPrefix = [{prefixes}]\ndecision = "allow"\npriority = 100'
        return f"# {self.rules_heading}\n[[rule]]\n{rule}\n"


class PiSettings(Settings):
    """pi."""

    servers_file = "mcp.json"

    def notes(self, *, project: bool) -> list[str]:
        """Whether the project must be trusted first."""
        return [f"{obstacle.message}: {obstacle.fix}" for obstacle in self.untrusted(project=project)]

    def untrusted(self, *, project: bool) -> list[Obstacle]:
        """A project that pi does not trust, as pi 1 decides: the nearest saved decision, else the user's default."""
        here = folder = os.path.realpath(os.getcwd())
        saved = read_settings(self.below("trust.json", project=False))
        while not isinstance(saved.get(folder), bool) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        decision = saved.get(folder)
        default = read_settings(self.below("settings.json", project=False)).get("defaultProjectTrust")
        if not project or decision is True or (decision is not False and default == "always"):
            return []
        about = f"pi does not trust {here} yet, so it loads no extension of it, and `pi -p` does not say so"
        return [Obstacle(about, f"start `pi` in {here} and trust the project there, or run `/trust`")]


class OpenClawSettings(Settings):
    """OpenClaw. It loads a plugin that its settings switch on; they also grant what the plugin may read."""

    applies = "takes effect when OpenClaw's gateway restarts"
    has_projects = False
    switches = ((*PLUGIN_PLACE, "enabled"), (*PLUGIN_PLACE, "hooks", "allowConversationAccess"))
    manifests = ("package.json", "openclaw.plugin.json")

    @property
    def plugins_file(self) -> str:  # type: ignore[override]
        """The file that OpenClaw reads, wherever its variable says that it is."""
        given = os.environ.get("OPENCLAW_CONFIG_PATH", "").strip()
        return os.path.abspath(os.path.expanduser(given)) if given else self.below("openclaw.json", project=False)

    def notes(self, *, project: bool) -> list[str]:
        """What the permission means, and whether the plugin is kept from running."""
        about = "`allowConversationAccess` lets our plugin see the prompts and answers of all of OpenClaw's agents: it"
        about += " hands them to joelclaw, on this machine"
        return [about, *super().notes(project=project)]

    def confirmed(self) -> list[str]:
        """Whether OpenClaw loads the plugin."""
        folders = os.environ.get("PATH", "").split(os.pathsep)
        program = shutil.which("openclaw", path=os.pathsep.join(filter(os.path.isabs, folders)))
        if not program:
            return ["OpenClaw was not asked whether it loads the plugin, because `openclaw` is not on the PATH"]
        words = ["plugins", "inspect", own_command.NAME, "--runtime", "--json"]
        # Not in a folder of a project, whose variables OpenClaw would read. A busy machine needs half a minute.
        ended = run_command([program, *words], 60, cwd=self.client.home())
        try:
            answer = as_object(json.loads(ended.output))
        except ValueError:
            answer = {}
        if as_object(answer, "plugin").get("status") == "loaded" and "blocked" not in str(answer.get("diagnostics")):
            return [f"OpenClaw loads the plugin, with {len(answer.get('typedHooks', ()))} hooks"]
        again = f"see `openclaw {' '.join(words[:3])}`"
        return [f"OpenClaw does not load the plugin, or blocks some of its hooks ({ended.explain()}): {again}"]


def read_settings(path: str, *names: str) -> dict[str, Any]:
    """The table with this path of names in a JSON or TOML file; {} if there is none or it is unreadable."""
    try:
        text = files.read_file(path, 16_000_000).decode()
        return as_object(settings_text.parsed(text, is_toml=path.endswith(".toml")), *names)
    except (OSError, ValueError, Malformed):
        return {}
