"""The hooks of Codex, which run once the user trusts them."""

from __future__ import annotations

import os

from clients import settings
from clients.settings import Obstacle, read_settings, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.settings import Place

_REVIEW = (
    "start `codex` once; when it says `Hooks need review`, choose `Trust all and continue`, or trust them later with"
    " `/hooks`"
)


class Settings(settings.Settings):
    """Of Codex."""

    variable = "CODEX_HOME"
    folder = ".codex"
    file = "hooks.json"
    applies = "takes effect in the next session of Codex, once its hooks are trusted"
    transcripts = "sessions/rollout-*.jsonl"
    timeout = 5  # seconds
    end_timeout = 3
    edit_tools = "apply_patch|Edit|Write"  # the last two are aliases of the first
    rule_file = "rules/joelclaw.rules"
    skill = "skills/joelclaw/SKILL.md"
    servers_file = "config.toml"
    has_servers = True
    asks_trust = True

    def notes(self, *, project: bool) -> list[str]:
        """How the hooks come to be trusted, and whether they are switched off."""
        about = f"{_REVIEW}; `codex exec` runs none before that; after an upgrade that changes them it asks again"
        return [about, *super().notes(project=project)]

    def rules_of(self, commands: tuple[tuple[str, ...], ...]) -> str:
        """Rules of its execution policy."""
        import json

        lines = [f'prefix_rule(pattern = {json.dumps(words)}, decision = "allow")' for words in commands]
        return "\n".join((f"# {settings.ABOUT_RULES}", *lines, ""))

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
            one.event: table(known, "hooks", "state", f"{path}:{_label(one.event)}:{one.group}:{one.position}")
            for one in places
        }
        new = [event for event, state in states.items() if not state.get("trusted_hash")]
        off = [event for event, state in states.items() if state.get("enabled") is False]
        found = []
        if new:
            which = "none of its hooks is" if len(new) == len(states) else f"its hooks for {', '.join(new)} are not"
            found.append(Obstacle(f"{which} trusted, so they do not run", _REVIEW))
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
        return [os.path.join(self.home(), "config.toml")]


def _label(event: str) -> str:
    """The event as Codex writes it in the key of a trusted hook: `PreCompact` is `pre_compact`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).removeprefix("_")
