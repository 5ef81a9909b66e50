"""The settings of each known client: the files, its own switches, and what it wants to be trusted."""

import json
import os
import shlex
from collections.abc import Sequence
from typing import Any

from clients import Client
from session.install.client_settings import ABOUT_RULES, Obstacle, Place, Settings, read_settings, table

MANAGED_FILES = (  # what an administrator decides for Claude Code, on Linux and on macOS
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)
CODEX_REVIEW = (
    "start `codex` once; when it says `Hooks need review`, choose `Trust all and continue`, or trust them later with"
    " `/hooks`"
)


def settings_of(client: Client) -> Settings:
    """The settings of a client; a client without a class of its own here has no switches and no rules."""
    return KNOWN.get(client.name, Settings)(client)


class ClaudeSettings(Settings):
    """Claude Code."""

    applies = "takes effect in the next session of Claude Code"
    allowed = ("permissions", "allow")
    rule = "Bash({}:*)"
    skill = "skills/joelclaw/SKILL.md"
    servers_file = ".claude.json"
    has_servers = True

    def servers(self, *, project: bool) -> str:
        """A project's own file beside its folder; the user's in his home, or in the folder that the variable names."""
        if project:
            return os.path.abspath(".mcp.json")
        home = os.environ.get(self.client.home_variable) or os.path.expanduser("~")
        return os.path.join(os.path.abspath(home), self.servers_file)

    def server(self, command: str) -> dict[str, Any]:
        """With its type, as `claude mcp add` writes it."""
        return {"type": "stdio", **super().server(command)}

    def switched_off(self, *, project: bool) -> list[Obstacle]:  # noqa: ARG002  # all files count for either
        """`disableAllHooks`, which the nearest file decides, an administrator's rules, and the bare mode."""
        found = []
        for path in MANAGED_FILES:
            rules = read_settings(path)
            found += [
                Obstacle(f"hooks are switched off by `{name}` in {path}", f"ask the administrator of {path}")
                for name in ("disableAllHooks", "allowManagedHooksOnly", "strictPluginOnlyCustomization")
                if rules.get(name)
            ]
        for path in self._nearest_first():
            value = read_settings(path).get("disableAllHooks")
            if value is True:
                about = f"hooks are switched off by `disableAllHooks` in {path}"
                found.append(Obstacle(about, f"delete the line `disableAllHooks` in {path}"))
            if value is not None:
                break
        if os.environ.get("CLAUDE_CODE_SIMPLE", "") not in ("", "0", "false"):
            found.append(Obstacle("CLAUDE_CODE_SIMPLE is set: no hook runs", "unset CLAUDE_CODE_SIMPLE"))
        return found

    def settings_beside(self, *, project: bool) -> list[str]:
        """The files that count beside the one with our hooks."""
        own = self.path(project=project)
        return [path for path in dict.fromkeys(self._nearest_first()) if path != own]

    def _nearest_first(self) -> tuple[str, ...]:
        local = os.path.abspath(os.path.join(self.client.home_folder, "settings.local.json"))
        return (local, self.path(project=True), self.path(project=False))


class CodexSettings(Settings):
    """Codex."""

    applies = "takes effect in the next session of Codex, once its hooks are trusted"
    end_timeout = 3
    rule_file = "rules/joelclaw.rules"
    skill = "skills/joelclaw/SKILL.md"
    servers_file = "config.toml"
    has_servers = True
    asks_trust = True

    def notes(self, *, project: bool) -> list[str]:
        """How the hooks come to be trusted, and whether they are switched off."""
        about = f"{CODEX_REVIEW}; `codex exec` runs none before that; after an upgrade that changes them it asks again"
        return [about, *super().notes(project=project)]

    def rules_of(self, commands: tuple[tuple[str, ...], ...]) -> str:
        """Rules of its execution policy."""
        lines = [f'prefix_rule(pattern = {json.dumps(words)}, decision = "allow")' for words in commands]
        return "\n".join((f"# {ABOUT_RULES}", *lines, ""))

    def shell(self) -> tuple[str, ...]:
        """The user's own shell, as at a login."""
        return (os.environ.get("SHELL") or "/bin/sh", "-lc")

    def switched_off(self, *, project: bool) -> list[Obstacle]:  # it is the user's for either
        """The feature, in the user's configuration."""
        [path] = self.settings_beside(project=project)
        features = read_settings(path, "features")
        if features.get("hooks", features.get("codex_hooks")) is not False:
            return []
        return [Obstacle(f"hooks are switched off in [features] of {path}", f"set `hooks = true` there, in {path}")]

    def untrusted(self, places: Sequence[Place], *, project: bool) -> list[Obstacle]:
        """Entries that nobody has reviewed, or that were switched off in the review; and a folder nobody trusts."""
        # whether what was trusted is what stands there now cannot be told: the mark is a hash of Codex's own
        known = read_settings(self.settings_beside(project=project)[0])
        path = self.path(project=project)
        states = {
            one.event: table(known, "hooks", "state", f"{path}:{_event_label(one.event)}:{one.group}:{one.position}")
            for one in places
        }
        new = [event for event, state in states.items() if not state.get("trusted_hash")]
        off = [event for event, state in states.items() if state.get("enabled") is False]
        found = []
        if new:
            which = "none of its hooks is" if len(new) == len(states) else f"its hooks for {', '.join(new)} are not"
            found.append(Obstacle(f"{which} trusted, so they do not run", CODEX_REVIEW))
        if off:
            about = f"its hooks for {', '.join(off)} are switched off"
            found.append(Obstacle(about, "switch them on in `/hooks` of codex"))
        here = os.getcwd()
        if project and table(known, "projects", here).get("trust_level") != "trusted":
            about = f"{here} is not trusted, so its hooks do not run"
            found.append(Obstacle(about, f"start `codex` in {here} and trust it"))
        return found

    def settings_beside(self, *, project: bool) -> list[str]:  # noqa: ARG002  # it is the user's for either
        """What says whether hooks run, and which are trusted."""
        return [os.path.join(self.client.home(), "config.toml")]


def _event_label(event: str) -> str:
    """The event as Codex writes it in the key of a trusted hook: `PreCompact` is `pre_compact`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).removeprefix("_")


class GeminiSettings(Settings):
    """Gemini CLI."""

    applies = "takes effect when Gemini CLI restarts"
    comments = True
    label = "joelclaw"
    rule_file = "policies/joelclaw.toml"
    skill = "skills/joelclaw/SKILL.md"
    has_servers = True
    asks_trust = True

    def rules_of(self, commands: tuple[tuple[str, ...], ...]) -> str:
        """Rules of its policy engine. An entry in `tools.allowed` would refuse every other shell command (0.61.0)."""
        prefixes = ", ".join(json.dumps(shlex.join(words)) for words in commands)
        rule = f'toolName = "run_shell_command"\ncommandPrefix = [{prefixes}]\ndecision = "allow"\npriority = 100'
        return f"# {ABOUT_RULES}\n[[rule]]\n{rule}\n"

    def shell(self) -> tuple[str, ...]:
        """Bash, whatever the user's shell is."""
        return ("bash", "-c")

    def switched_off(self, *, project: bool) -> list[Obstacle]:  # noqa: ARG002  # both files count for either
        """`hooksConfig`, which the project's file decides where it says something, and our label in its list."""
        found = []
        for path in (self.path(project=True), self.path(project=False)):
            config = read_settings(path, "hooksConfig")
            if config.get("enabled") is False:
                about = f"hooks are switched off by `hooksConfig.enabled` in {path}"
                found.append(Obstacle(about, f"set `hooksConfig.enabled` to true in {path}"))
            disabled = config.get("disabled")
            if isinstance(disabled, list) and self.label in disabled:
                about = f"our hook is switched off by `hooksConfig.disabled` in {path}"
                found.append(Obstacle(about, f"take `{self.label}` out of `hooksConfig.disabled` in {path}"))
            if "enabled" in config:
                break
        return found

    def untrusted(self, _places: Sequence[Place], *, project: bool) -> list[Obstacle]:
        """A folder that was not trusted, where the user has switched such trust on."""
        asked = read_settings(self.path(project=False), "security", "folderTrust").get("enabled") is True
        if not project or not asked:
            return []
        here = os.getcwd()
        for folder, level in read_settings(os.path.join(self.client.home(), "trustedFolders.json")).items():
            around = os.path.dirname(folder) if level == "TRUST_PARENT" else folder
            if level in ("TRUST_FOLDER", "TRUST_PARENT") and os.path.commonpath((around, here)) == around:
                return []
        return [Obstacle(f"{here} is not trusted, so its hooks do not run", f"start `gemini` in {here} and trust it")]

    def settings_beside(self, *, project: bool) -> list[str]:
        """The other scope's file: its switch counts, too."""
        return [self.path(project=not project)]


class PiSettings(Settings):
    """pi."""

    applies = "takes effect when pi starts next, or after /reload"

    def switched_off(self, *, project: bool) -> list[Obstacle]:
        """An entry of `extensions` in its settings that takes ours out (`-extensions/joelclaw.ts`, or with `!`)."""
        path = self.below("settings.json", project=project)
        listed = read_settings(path).get("extensions")
        texts = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
        out = [one for one in texts if one[:1] in "-!" and one.endswith(os.path.basename(self.file))]
        about = f"our extension is switched off by `extensions` in {path}"
        return [Obstacle(about, f"take `{out[0]}` out of `extensions` in {path}")] if out else []

    def settings_beside(self, *, project: bool) -> list[str]:
        """What lists the extensions that are left out."""
        return [self.below("settings.json", project=project)]


class OpenCodeSettings(Settings):
    """OpenCode."""

    applies = "takes effect when OpenCode restarts"


KNOWN = {
    "claude": ClaudeSettings,
    "codex": CodexSettings,
    "gemini": GeminiSettings,
    "opencode": OpenCodeSettings,
    "pi": PiSettings,
}
