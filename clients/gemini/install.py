"""The settings of Gemini CLI."""

from __future__ import annotations

import os

from clients import settings
from clients.settings import Obstacle, read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.settings import Place


class Settings(settings.Settings):
    """Of Gemini CLI."""

    variable = "GEMINI_CLI_HOME"
    folder = ".gemini"
    file = "settings.json"
    applies = "takes effect when Gemini CLI restarts"
    transcripts = "tmp/*.jsonl"
    timeout = 5000  # milliseconds
    comments = True
    label = "joelclaw"
    rule_file = "policies/joelclaw.toml"
    skill = "skills/joelclaw/SKILL.md"
    has_servers = True
    asks_trust = True

    def home(self) -> str:
        """Below the home that the variable names."""
        return os.path.join(os.environ.get(self.variable) or os.path.expanduser("~"), self.folder)

    def rules_of(self, commands: tuple[tuple[str, ...], ...]) -> str:
        """Rules of its policy engine. An entry in `tools.allowed` would refuse every other shell command (0.61.0)."""
        import json
        import shlex

        prefixes = ", ".join(json.dumps(shlex.join(words)) for words in commands)
        rule = f'toolName = "run_shell_command"\ncommandPrefix = [{prefixes}]\ndecision = "allow"\npriority = 100'
        return f"# {settings.ABOUT_RULES}\n[[rule]]\n{rule}\n"

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
        for folder, level in read_settings(os.path.join(self.home(), "trustedFolders.json")).items():
            around = os.path.dirname(folder) if level == "TRUST_PARENT" else folder
            if level in ("TRUST_FOLDER", "TRUST_PARENT") and os.path.commonpath((around, here)) == around:
                return []
        return [Obstacle(f"{here} is not trusted, so its hooks do not run", f"start `gemini` in {here} and trust it")]

    def settings_beside(self, *, project: bool) -> list[str]:
        """The other scope's file: its switch counts, too."""
        return [self.path(project=not project)]
