"""pi: its extension sends our own payload (`session/agents/extension/`)."""

from __future__ import annotations

from session.agents import extension_payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from session.agents.event import HookEvent, Text


def read(payload: dict[str, Any], name: str) -> HookEvent:
    """The event of a payload."""
    return extension_payload.read(payload, name, "pi")


def answer(_: HookEvent, texts: Sequence[Text]) -> str:
    """What is printed."""
    return extension_payload.answer(texts)
