"""The coding agents that joelclaw serves. To add a client, write its module and add its name here. Hot path."""

from __future__ import annotations

from clients.base import Client, text_field
from core import TYPE_CHECKING
from core.errors import usage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from clients.entries import Entry

NAMES = {
    "openclaw": "OpenClaw", "pi": "Pi", "claude": "Claude", "codex": "Codex", "gemini": "Gemini", "qwen": "Qwen",
    "copilot": "Copilot", "opencode": "OpenCode",
}  # fmt: skip
"""The name of each client with hooks of ours, which is its module's, and its class. OpenClaw's entries could also be
pi's."""
READ_ONLY = {"generic": "Generic"}
"""The same of clients whose sessions we only read."""
_UNKNOWN = Client()


def row(name: str) -> Client:
    """A client, imported on demand; an unknown name gives a client without events."""
    known = NAMES.get(name) or READ_ONLY.get(name)
    # fromlist names an attribute of every module, so that no submodule is looked for
    return getattr(__import__(f"clients.{name}", fromlist=["__name__"]), known)() if known else _UNKNOWN


def rows() -> list[Client]:
    """All clients that can have hooks of ours."""
    return [row(name) for name in NAMES]


def keeping_files() -> tuple[str, ...]:
    """The names of the clients that keep their sessions in files."""
    return tuple(sorted(name for name in (*NAMES, *READ_ONLY) if row(name).session_file))


def with_entries() -> tuple[str, ...]:
    """The names of the clients whose sessions we can compact ourselves."""
    return tuple(client.name for client in rows() if client.has_entries)


def with_transcript(name: str) -> Client:
    """The reader of a client's sessions; an unknown client writes our own form. Raises UNKNOWN_AGENT (exit 2)."""
    client = row("generic") if name and row(name) is _UNKNOWN else row(name)
    if not client.session_file:
        raise usage("UNKNOWN_AGENT", f"{name!r} has no known transcripts", f"name one of {', '.join(keeping_files())}")
    return client


def entries_of(client: Client, line: dict[str, Any]) -> list[Entry]:
    """The entries of a line, also if another program wrote it in one of the forms of `clients.generic`."""
    if ("v" in line and "agent" in line) or ("session" in line and "role" in line):
        from clients.generic import Generic, is_documented, is_short_form

        if is_documented(line) or is_short_form(line):
            return Generic().entries(line)
    return client.entries(line)


def detect(lines: Iterable[object]) -> str | None:
    """The name of the client that wrote these lines; None if no line has a form that we know."""
    from clients.generic import Generic, is_documented, is_short_form

    generic = Generic()
    candidates = [row(name) for name in keeping_files() if name != generic.name]
    unknown = None
    for line in lines:
        if not isinstance(line, dict):
            continue
        is_ours = is_short_form(line) or is_documented(line)
        if not is_ours and (found := next((client.name for client in candidates if client.wrote(line)), "")):
            return found
        if unknown is None and (is_ours or generic.wrote(line)):
            named = text_field(line, "agent", 40).lower()
            unknown = next((name for name in (*NAMES, *READ_ONLY) if named.startswith(name)), named)
        if is_ours:
            break
    return unknown if unknown is None or unknown.replace("-", "").isalnum() else generic.name


def either(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


__all__ = [
    "NAMES", "READ_ONLY", "Client", "detect", "either", "entries_of", "keeping_files", "row", "rows", "text_field",
    "with_entries", "with_transcript",
]  # fmt: skip
