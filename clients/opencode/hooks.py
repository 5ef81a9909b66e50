"""OpenCode: our plugin sends a payload of our own (`extension.js`)."""

from __future__ import annotations

from clients import extension_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clients.event import HookEvent

KINDS = extension_hooks.KINDS
answer = extension_hooks.answer


def read(payload: dict[str, Any], name: str) -> HookEvent:
    """The event of a payload."""
    return extension_hooks.read(payload, name, "opencode")
