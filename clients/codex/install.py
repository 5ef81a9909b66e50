"""The hooks of Codex, which run once the user trusts them."""

from __future__ import annotations

import os

from clients.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TRUST = (
    "start `codex` once: it says `Hooks need review`; choose `Trust all and continue`, or trust them later with"
    " `/hooks`; `codex exec` runs none before that; after an upgrade that changes them it asks again"
)


class _Codex(Settings):
    def notes(self, settings: dict[str, Any], *, project: bool) -> list[str]:  # noqa: ARG002
        """How they come to be trusted, and whether hooks are switched off."""
        notes = [_TRUST]
        if self._hooks_off():
            notes.append("hooks are switched off in config.toml: set `hooks = true` in its [features]")
        return [*notes, self.trusted_folder] if project else notes

    def _hooks_off(self) -> bool:
        import tomllib

        try:
            with open(os.path.join(self.home(), "config.toml"), "rb") as file:
                features = tomllib.load(file).get("features")
        except (OSError, ValueError):
            return False
        return isinstance(features, dict) and features.get("hooks", features.get("codex_hooks")) is False


SETTINGS = _Codex(
    "codex",
    "CODEX_HOME",
    ".codex",
    "hooks.json",
    "takes effect in the next session of Codex, once its hooks are trusted",
    transcripts="sessions/**/rollout-*.jsonl",
    timeout=5,  # seconds
    end_timeout=3,
)
