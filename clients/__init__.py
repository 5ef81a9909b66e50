"""The coding agents that joelclaw serves. To add a client, write its module and add its name here. Hot path."""

from __future__ import annotations

from clients.base import Client, text_field
from core import TYPE_CHECKING
from core.errors import usage

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMES = {"pi": "Pi", "claude": "Claude", "codex": "Codex", "gemini": "Gemini", "opencode": "OpenCode"}
"""The name of each client, which is its module's, and its class."""
_UNKNOWN = Client()


def row(name: str) -> Client:
    """A client, imported on demand; an unknown name gives a client without events."""
    # fromlist names an attribute of every module, so that no submodule is looked for
    return getattr(__import__(f"clients.{name}", fromlist=["__name__"]), NAMES[name])() if name in NAMES else _UNKNOWN


def rows() -> list[Client]:
    """All clients."""
    return [row(name) for name in NAMES]


def keeping_files() -> tuple[str, ...]:
    """The names of the clients that keep each session in a file."""
    return tuple(sorted(client.name for client in rows() if client.session_file))


def with_entries() -> tuple[str, ...]:
    """The names of the clients whose sessions we can compact ourselves."""
    return tuple(client.name for client in rows() if client.has_entries)


def with_transcript(name: str) -> Client:
    """A client that keeps each session in a file. Raises UNKNOWN_AGENT (exit 2) for any other name."""
    client = row(name)
    if not client.session_file:
        raise usage("UNKNOWN_AGENT", f"{name!r} has no known transcripts", f"name one of {', '.join(keeping_files())}")
    return client


def detect(lines: Iterable[object]) -> str | None:
    """The name of the client that wrote these lines; None if no line has a form of its client's own."""
    candidates = [client for client in rows() if client.session_file]
    objects = (line for line in lines if isinstance(line, dict))
    return next((client.name for line in objects for client in candidates if client.wrote(line)), None)


def either(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


__all__ = [
    "NAMES", "Client", "detect", "either", "keeping_files", "row", "rows", "text_field", "with_entries",
    "with_transcript",
]  # fmt: skip
