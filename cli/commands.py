"""Every command of `joelclaw`, in the order of the help. `cli/<folder>/commands.py` declares those of a folder."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.parameter import Command

FOLDERS = {
    "recall": "recall",
    "show": "recall",
    "how": "recall",
    "fix": "recall",
    "search": "recall",
    "lost": "session",
    "session": "session_report",
    "report": "session_report",
    "briefing": "session_report",
    "sessions": "archived",
    "memory": "memory",
    "note": "memory",
    "knowledge": "knowledge",
    "vault": "knowledge",
    "otel": "otel",
    "o11y": "otel",
    "checkpoint": "session",
    "inject": "session",
    "compaction": "compaction",
    "idle": "idle",
    "hook": "session",
    "trust": "installation",
    "off": "installation",
    "on": "installation",
    "exclude": "installation",
    "mcp": "installation",
    "install": "installation",
    "uninstall": "installation",
    "store": "store",
    "backup": "store",
    "restore": "store",
    "status": "installation",
    "doctor": "installation",
    "completion": "installation",
}
"""First word of a command → where it is declared, in the order of the help."""

_ALIASES = {
    f"session {verb}": f"sessions {verb}" for verb in ("search", "extract", "inspect", "chunks", "signals", "friction")
}
"""The mirrored CLI's second names."""


def real(words: list[str]) -> list[str]:
    """The words of a call by the command's own name."""
    if words[:2] == ["recall", "show"] and len(words) > 2 and not words[2].isalpha() and "".join(words[3:4])[:1] in "-":
        return words[1:]  # `recall show 2`; other words that begin so are a query
    name = _ALIASES.get(" ".join(words[:2])) if words[:1] == ["session"] else None
    return [*name.split(), *words[2:]] if name else words


def named(path: str) -> Command | None:
    """The command of that name (`memory write`), or None."""
    return next((command for command in declared(path.partition(" ")[0]) if command.path == path), None)


def called(words: Sequence[str]) -> Command | None:
    """The command that the first words name, or None."""
    return named(words[0]) or named(" ".join(words[:2])) if words else None


def begins_one(text: str) -> bool:
    """Whether a text begins with the first word of a command, or with a flag: in prose our name means no command."""
    word = text.split(None, 1)[0].rstrip("`.,;:)") if text.strip() else ""
    return word in FOLDERS or word.startswith("--")


def declared(word: str) -> tuple[Command, ...]:
    """What the folder of a command's first word declares."""
    folder = FOLDERS.get(word)
    if folder is None:
        return ()
    found: tuple[Command, ...] = __import__(f"cli.{folder}.commands", fromlist=["COMMANDS"]).COMMANDS
    return found
