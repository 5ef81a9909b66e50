"""pi: its extension sends our own payload (`clients/extension/`)."""

from __future__ import annotations

from clients import extension_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clients.event import HookEvent, Text


def read(payload: dict[str, Any], name: str) -> HookEvent:
    """The event of a payload."""
    return extension_hooks.read(payload, name, "pi")


def answer(_: HookEvent, texts: Sequence[Text]) -> str:
    """What is printed."""
    return extension_hooks.answer(texts)
