"""Which module reads whose transcript. Hot path: only the one asked for is imported."""

from __future__ import annotations

from core.errors import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from clients.item import Item

    class Format(Protocol):
        """A module that reads one client's transcripts."""

        SAID_MARKS: tuple[bytes, ...]
        CONTEXT_MARKS: tuple[bytes, ...]

        def items(self, line: object) -> list[Item]:
            """What one line says."""

        def files_of(self, tool_name: str, tool_input: object) -> list[str]:
            """The files that a tool call writes."""

        def command_of(self, tool_name: str, tool_input: object) -> str:
            """The shell command of a tool call."""

        def context_characters(self, entry: dict[str, Any]) -> int:
            """About how many characters a line adds to the context."""


AGENTS = ("claude", "codex", "gemini", "pi")
"""Clients whose transcripts are files."""
_CODEX_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
_CLAUDE_TYPES = ("user", "assistant", "system", "attachment", "progress", "queue-operation", "summary", "last-prompt")


def of(agent: str) -> Format:
    """The module for a client's transcripts.

    Raises:
        Failure: UNKNOWN_AGENT (exit 2), for a client that keeps no transcript file, too.
    """
    if agent == "claude":
        from clients.claude import transcript as claude

        return claude
    if agent == "codex":
        from clients.codex import transcript as codex

        return codex
    if agent == "gemini":
        from clients.gemini import transcript as gemini

        return gemini
    if agent == "pi":
        from clients.pi import transcript as pi

        return pi
    known = ", ".join(AGENTS)
    raise usage("UNKNOWN_AGENT", f"no transcripts of {agent!r} are known", f"name one of {known}")


def detect(lines: Iterable[object]) -> str | None:
    """Whose transcript this is, by the shape of its first lines; None where no line tells."""
    for entry in lines:
        if isinstance(entry, dict):
            agent = _of_entry(entry)
            if agent:
                return agent
    return None


def _of_entry(entry: dict[str, Any]) -> str | None:
    kind = entry.get("type")
    if isinstance(entry.get("payload"), dict):
        return "codex" if kind in _CODEX_TYPES else None
    if "$set" in entry or kind == "gemini" or (kind is None and "projectHash" in entry and "sessionId" in entry):
        return "gemini"
    if isinstance(entry.get("sessionId"), str):
        is_claude = "parentUuid" in entry or kind in _CLAUDE_TYPES
        return "claude" if is_claude else None
    if kind == "session" and "id" in entry and "cwd" in entry:
        return "pi"
    is_pi = kind == "message" and "parentId" in entry and isinstance(entry.get("message"), dict)
    return "pi" if is_pi else None
