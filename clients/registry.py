"""The coding agents that joelclaw serves: for a further one, a folder here and a row below. Hot path."""

from __future__ import annotations

from clients.claude import Claude
from clients.client import Client
from clients.codex import Codex
from clients.gemini import Gemini
from clients.opencode import OpenCode
from clients.pi import Pi
from core.errors import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clients.event import Format

CLIENTS: dict[str, Client] = {client.name: client for client in (Pi(), Claude(), Codex(), Gemini(), OpenCode())}
_UNKNOWN = Client()
KEEPING_FILES = tuple(sorted(name for name, client in CLIENTS.items() if client.session_file))
"""The clients that keep each session in a file."""
WITH_ENTRIES = tuple(name for name, client in CLIENTS.items() if client.has_entries)
"""The clients whose sessions we can compact ourselves."""


def row(name: str) -> Client:
    """A client; of an unknown name, one in which nothing is set."""
    return CLIENTS.get(name, _UNKNOWN)


def transcript(name: str) -> Format:
    """What reads a line of a client's session file; UNKNOWN_AGENT (exit 2) for one that keeps none."""
    if name not in KEEPING_FILES:
        raise usage("UNKNOWN_AGENT", f"{name!r} has no known transcripts", f"name one of {', '.join(KEEPING_FILES)}")
    return CLIENTS[name].transcript()


def detect(lines: Iterable[object]) -> str | None:
    """Whose transcript this is, by the form of its first lines; None where no line tells."""
    formats = [(name, CLIENTS[name].transcript()) for name in KEEPING_FILES]
    entries = (line for line in lines if isinstance(line, dict))
    return next((name for entry in entries for name, form in formats if form.wrote(entry)), None)


def either(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
