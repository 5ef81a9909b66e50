"""What a person still has to do after an installation, or has to know."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any

from session.install import hook_entries, json_nodes

if TYPE_CHECKING:
    from session.install.clients import Client

_START = {
    "pi": "takes effect in the next pi, or after /reload",
    "claude": "takes effect in the next session of Claude Code",
    "codex": "takes effect in the next session of Codex, once its hooks are trusted",
    "gemini": "takes effect when Gemini CLI is started anew",
    "opencode": "takes effect when OpenCode is started anew",
}
_TRUST = (
    "start `codex` once: it says `Hooks need review`; choose `Trust all and continue`, or trust them later with"
    " `/hooks`; `codex exec` runs none before that; after an upgrade that changes them it asks again"
)
CHECK = "to check: use the client, then `joelclaw otel search hook`"


def of_file(client: Client, *, project: bool) -> list[str]:
    """For a client that loads a file of ours."""
    return [_START[client.name], *_shared(project), CHECK]


def of_hooks(client: Client, text: str, command: str, *, project: bool) -> list[str]:
    """For a client with hooks, going by its settings, too."""
    told = [_START[client.name]]
    if client.name == "codex":
        told.append(_TRUST)
        if _codex_hooks_off(client):
            told.append("hooks are switched off in config.toml: set `hooks = true` in its [features]")
    if project and client.name in ("codex", "gemini"):
        told.append(f"{client.name} runs a project's hooks only in a folder that it was told to trust")
    told.extend(_switched_off(client, text))
    told.extend(
        f"hooks.{event} also has a command of somebody's that calls joelclaw; it was left as it is"
        for event in hook_entries.foreign_calls(text, client)
    )
    if project and _for_user_too(client, command):
        told.append(f"it is installed for the user, too, and would run twice: `joelclaw uninstall {client.name}`")
    return [*told, *_shared(project), CHECK]


def _shared(project: bool) -> list[str]:
    told = "`joelclaw` must be on the PATH of everyone who uses this project; without it nothing happens"
    return [told] if project else []


def _for_user_too(client: Client, command: str) -> bool:
    try:
        with open(client.path(project=False), encoding="utf-8") as file:
            return hook_entries.state(file.read(), client, command)[0]
    except (OSError, ValueError, json_nodes.Malformed):
        return False


def _switched_off(client: Client, text: str) -> list[str]:
    value: Any = hook_entries.others(text, client)
    if not isinstance(value, dict):
        return []
    if client.name == "claude" and value.get("disableAllHooks") is True:
        return ["hooks are switched off in this file by `disableAllHooks`"]
    config = value.get("hooksConfig")
    if client.name == "gemini" and isinstance(config, dict):
        if config.get("enabled") is False:
            return ["hooks are switched off in this file by `hooksConfig.enabled`"]
        if isinstance(config.get("disabled"), list) and client.label in config["disabled"]:
            return ["our hook is switched off in this file by `hooksConfig.disabled`"]
    return []


def _codex_hooks_off(client: Client) -> bool:
    try:
        with open(os.path.join(client.home(), "config.toml"), "rb") as file:
            features = tomllib.load(file).get("features")
    except (OSError, ValueError):
        return False
    return isinstance(features, dict) and features.get("hooks", features.get("codex_hooks")) is False
