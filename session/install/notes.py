"""What the user still has to do after an installation, or has to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.install import hook_entries, json_nodes

if TYPE_CHECKING:
    from clients.settings import Settings

_CHECK = "to check: use the client, then `joelclaw otel search hook`"
_ON_PATH = "`joelclaw` must be on the PATH of everyone who uses this project; where it is not, its hooks do nothing"


def of_server(client: Settings, *, project: bool) -> list[str]:
    """For a file that names our server: a project's is read by people who lack it, and clients say that it failed."""
    if not project:
        return []
    lacking = f"where `joelclaw` is not on the PATH, {client.name} shows a server `joelclaw` that failed to start"
    return [f"this is shared with the project: {lacking}; without --mcp those who lack it see nothing"]


def of_extension(client: Settings, *, project: bool) -> list[str]:
    """For a client that loads our extension."""
    return [client.applies, *([_ON_PATH] if project else []), _CHECK]


def of_hooks(client: Settings, text: str, *, project: bool) -> list[str]:
    """For a client with hooks, going by the text of its settings."""
    settings = hook_entries.others(text, client)
    notes = [client.applies, *client.notes(settings if isinstance(settings, dict) else {}, project=project)]
    notes.extend(
        f"hooks.{event} also has a command of somebody's that calls joelclaw; it was left as it is"
        for event in hook_entries.foreign_calls(text, client)
    )
    if project:
        if _for_user_too(client):
            notes.append(f"it is installed for the user, too, and would run twice: `joelclaw uninstall {client.name}`")
        notes.append(_ON_PATH)
    return [*notes, _CHECK]


def _for_user_too(client: Settings) -> bool:
    try:
        with open(client.path(project=False), encoding="utf-8") as file:
            return hook_entries.is_in(file.read(), client)
    except (OSError, ValueError, json_nodes.Malformed):
        return False
