"""Where pi looks for extensions."""

from __future__ import annotations

import os

from clients.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clients.own_settings import Obstacle


class _Pi(Settings):
    def switched_off(self, *, project: bool) -> list[Obstacle]:
        """An entry of `extensions` in its settings that takes ours out (`-extensions/joelclaw.ts`, or with `!`)."""
        from clients.own_settings import Obstacle, read_json

        path = self.below("settings.json", project=project)
        listed = read_json(path).get("extensions")
        name = os.path.basename(self.file)
        out = [one for one in listed if isinstance(one, str) and one[:1] in "-!" and one.endswith(name)] if isinstance(
            listed, list
        ) else []  # fmt: skip
        about = f"our extension is switched off by `extensions` in {path}"
        return [Obstacle(about, f"take `{out[0]}` out of `extensions` in {path}")] if out else []

    def settings_beside(self, *, project: bool) -> list[str]:
        """What lists the extensions that are left out."""
        return [self.below("settings.json", project=project)]


SETTINGS = _Pi(
    "pi",
    "PI_CODING_AGENT_DIR",
    ".pi/agent",
    "extensions/joelclaw.ts",
    "takes effect in the next pi, or after /reload",
    local_folder=".pi",
    transcripts="sessions/**/*.jsonl",
)
