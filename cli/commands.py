"""Every command of `joelclaw`, in the order of the help.

`cli/<folder>/commands.py` declares the commands of a folder, and is the only place where a name, a flag, a default or a
help text is written. It is imported when the first word of a call asks for it; `every` is for the help, the docs and
the completions.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.parameter import Command

_FOLDERS = {
    "recall": "recall",
    "search": "recall",
    "lost": "session",
    "session": "session_report",
    "report": "session_report",
    "sessions": "archived",
    "memory": "memory",
    "note": "memory",
    "knowledge": "knowledge",
    "vault": "knowledge",
    "otel": "otel",
    "checkpoint": "session",
    "inject": "session",
    "compaction": "compaction",
    "idle": "idle",
    "hook": "session",
    "trust": "installation",
    "off": "switch",
    "on": "switch",
    "exclude": "switch",
    "mcp": "mcp",
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

GROUPS = {
    "sessions": "Archived sessions, searched and read.",
    "memory": "Write, find, move and forget memories.",
    "knowledge": "Folders of markdown, kept in step and searched.",
    "vault": "Notes of one folder, read by name or by meaning.",
    "otel": "What happened: emit, search and follow events.",
    "session": "What became of sessions: a list, and one session's life on a screen or a page.",
    "store": "The local file kept small, and a Typesense cluster beside it: prepare it, fill it, compare.",
    "checkpoint": "What one session is doing, kept while its context fills.",
    "inject": "Short texts to hand to an agent.",
    "idle": "Compact sessions while nobody talks to them.",
    "compaction": "What a compaction should do: decide, prepare, serialize, summarize.",
}


_ALIASES = {
    f"session {verb}": f"sessions {verb}" for verb in ("search", "extract", "inspect", "chunks", "signals", "friction")
}
"""The mirrored CLI's second names."""


def real(words: list[str]) -> list[str]:
    """The words of a call by the command's own name."""
    name = _ALIASES.get(" ".join(words[:2])) if words[:1] == ["session"] else None
    return [*name.split(), *words[2:]] if name else words


def named(path: str) -> Command | None:
    """The command of that name (`memory write`), or None."""
    for command in _declared(path.partition(" ")[0]):
        if command.path == path:
            return command
    return None


def called(words: Sequence[str]) -> Command | None:
    """The command that the first words name, or None."""
    return named(words[0]) or named(" ".join(words[:2])) if words else None


def is_taken(word: str) -> bool:
    """Whether a command of ours begins with this word."""
    return word in _FOLDERS


def every() -> tuple[Command, ...]:
    """All commands, in the order of the help."""
    return tuple(command for word in _FOLDERS for command in _declared(word) if command.path.partition(" ")[0] == word)


def begins_one(text: str) -> bool:
    """Whether a text begins with the first word of a command, or with a flag: in prose our name means no command."""
    word = text.split(None, 1)[0].rstrip("`.,;:)") if text.strip() else ""
    return word in _FOLDERS or word.startswith("--")


def _declared(word: str) -> tuple[Command, ...]:
    """What the folder of a command's first word declares."""
    folder = _FOLDERS.get(word)
    if folder is None:
        return ()
    found: tuple[Command, ...] = __import__(f"cli.{folder}.commands", fromlist=["COMMANDS"]).COMMANDS
    return found
