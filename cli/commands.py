"""Every command of `joelclaw`, in the order of the help. `cli/<folder>/commands.py` declares those of a folder."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.parameter import Command

FOLDERS = {
    word: folder
    for folder, words in (
        ("recall", "recall show how fix search"),
        ("session", "lost"),
        ("session_report", "session report briefing"),
        ("archived", "sessions"),
        ("memory", "memory note"),
        ("knowledge", "knowledge vault"),
        ("otel", "otel o11y"),
        ("session", "checkpoint inject"),
        ("compaction", "compaction"),
        ("idle", "idle"),
        ("session", "hook"),
        ("installation", "off on exclude mcp install uninstall"),
        ("store", "store backup restore"),
        ("installation", "status doctor completion"),
    )
    for word in words.split()
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
