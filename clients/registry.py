"""The coding agents that joelclaw serves: for a further one, a folder here and a row below. Hot path."""

from __future__ import annotations

from clients.client import Client
from core import TYPE_CHECKING
from core.errors import usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clients.event import Format

NAMES = {"pi": "Pi", "claude": "Claude", "codex": "Codex", "gemini": "Gemini", "opencode": "OpenCode"}
"""The name of each, which is its folder's, and its class."""
_UNKNOWN = Client()


def row(name: str) -> Client:
    """A client, loaded where it is asked for; of an unknown name, one in which nothing is set."""
    # a name that each module has: another one would be looked for as a module
    return getattr(__import__(f"clients.{name}", fromlist=["__name__"]), NAMES[name])() if name in NAMES else _UNKNOWN


def rows() -> list[Client]:
    """All clients."""
    return [row(name) for name in NAMES]


def keeping_files() -> tuple[str, ...]:
    """The clients that keep each session in a file, by name."""
    return tuple(sorted(client.name for client in rows() if client.session_file))


def with_entries() -> tuple[str, ...]:
    """The clients whose sessions we can compact ourselves, by name."""
    return tuple(client.name for client in rows() if client.has_entries)


def transcript(name: str) -> Format:
    """What reads a line of a client's session file; UNKNOWN_AGENT (exit 2) for one that keeps none."""
    if not row(name).session_file:
        raise usage("UNKNOWN_AGENT", f"{name!r} has no known transcripts", f"name one of {', '.join(keeping_files())}")
    return row(name).transcript()


def detect(lines: Iterable[object]) -> str | None:
    """Whose transcript this is, by the form of its first lines; None where no line tells."""
    formats = [(name, transcript(name)) for name in keeping_files()]
    entries = (line for line in lines if isinstance(line, dict))
    return next((name for entry in entries for name, form in formats if form.wrote(entry)), None)


def either(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
