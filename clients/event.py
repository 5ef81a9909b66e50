"""A hook's event, whichever client sent it. Types only: nothing here is imported at run time."""

from __future__ import annotations

from typing import Literal, TypedDict

from clients.item import Item

Kind = Literal["start", "prompt", "tool", "turn", "before_compaction", "after_compaction", "end", "ignored"]


class HookEvent(TypedDict):
    """What a client's hook says. Empty and None: it does not say."""

    kind: Kind
    name: str
    """The client's own name of the event."""
    session: str
    source: str
    """Of a start: startup, resume, clear, compact …"""
    cwd: str
    transcript: str
    model: str
    messages: list[str]
    """What the user said, oldest first: of a prompt that one alone."""
    files: list[str]
    """Files that a tool wrote or edited."""
    items: list[Item]
    """What was said, from a client without a transcript file."""
    percent: float | None
    tokens: int | None
    window: int | None


class Text(TypedDict):
    """A text for the model."""

    customType: str
    content: str
