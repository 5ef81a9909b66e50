"""The coding agents that joelclaw serves. To add a client, write its module and add its name here. Hot path."""

from __future__ import annotations

from clients.base import Client, text_field
from core import TYPE_CHECKING
from core.errors import either, usage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from clients.entries import Entry

NAMES = {
    "openclaw": "OpenClaw", "pi": "Pi", "claude": "Claude", "codex": "Codex", "gemini": "Gemini", "qwen": "Qwen",
    "copilot": "Copilot", "opencode": "OpenCode",
}  # fmt: skip
"""The name of each client with hooks of ours, which is its module's, and its class."""
READ_ONLY = {"generic": "Generic"}
"""The same of clients that have no hooks of ours: their users call `joelclaw hook generic`, or archive."""
_UNKNOWN = Client()


def by_name(name: str) -> Client:
    """A client, imported on demand; an unknown name gives a client without events."""
    known = NAMES.get(name) or READ_ONLY.get(name)
    # fromlist names an attribute of every module, so that no submodule is looked for
    return getattr(__import__(f"clients.{name}", fromlist=["__name__"]), known)() if known else _UNKNOWN


def with_hooks() -> list[Client]:
    """All clients that can have hooks of ours."""
    return [by_name(name) for name in NAMES]


def keeping_files() -> tuple[str, ...]:
    """The names of the clients that keep their sessions in files."""
    return tuple(sorted(name for name in (*NAMES, *READ_ONLY) if by_name(name).session_file))


def taking_summaries() -> tuple[str, ...]:
    """The names of the clients whose sessions we can compact ourselves."""
    return tuple(client.name for client in with_hooks() if client.takes_summary)


def with_transcript(name: str) -> Client:
    """The reader of a client's sessions; an unknown client writes our own form. Raises UNKNOWN_AGENT (exit 2)."""
    client = by_name("generic") if name and by_name(name) is _UNKNOWN else by_name(name)
    if not client.session_file:
        raise usage("UNKNOWN_AGENT", f"{name!r} has no known transcripts", f"name {either(keeping_files())}")
    return client


def entries_of(client: Client, line: dict[str, Any]) -> list[Entry]:
    """The entries of a line, also if another program wrote it in one of the forms of `clients.generic`."""
    if ("v" in line and "agent" in line) or ("session" in line and "role" in line):
        generic = by_name("generic")
        if generic.wrote(line):
            return generic.entries(line)
    return client.entries(line)


def detect(lines: Iterable[object]) -> str:
    """The name of the client that wrote these lines, or the agent named by lines in our own form; "" if unknown.

    The clients are asked in alphabetical order: OpenClaw before pi, which would take its lines for its own.
    """
    generic, names = by_name("generic"), keeping_files()
    for line in lines:
        if not isinstance(line, dict):
            continue
        if generic.wrote(line):
            agent = text_field(line, "agent", 40).lower()
            named = next((name for name in names if agent.startswith(name)), agent)
            return named if named.replace("-", "").isalnum() else generic.name
        if found := next((name for name in names if by_name(name).wrote(line)), ""):
            return found
    return ""
