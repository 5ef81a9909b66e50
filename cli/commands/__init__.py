"""Every command of `joelclaw`: the only place where a name, a flag, a default or a help text is written.

One module a group, imported when the first word of a call asks for it; `every` is for the help, the docs and the
completions.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cli.parameter import Command

_MODULES = {
    "recall": "recall",
    "memory": "memory",
    "knowledge": "knowledge",
    "vault": "knowledge",
    "otel": "otel",
    "checkpoint": "session",
    "inject": "session",
    "compaction": "compaction",
    "idle": "idle",
    "hook": "agents",
    "install": "agents",
    "uninstall": "agents",
    "store": "store",
    "status": "tools",
    "completion": "tools",
}
"""First word of a command → module, in the order of the help."""

GROUPS = {
    "memory": "Write, find, move and forget memories.",
    "knowledge": "Folders of markdown, kept in step and searched.",
    "vault": "Notes of one folder, read by name or by meaning.",
    "otel": "What happened: emit, search and follow events.",
    "store": "A Typesense cluster beside the local file: prepare it, fill it, compare.",
    "checkpoint": "What one session is doing, kept while its context fills.",
    "inject": "Short texts to hand to an agent.",
    "idle": "Compact sessions while nobody talks to them.",
    "compaction": "What a compaction should do: decide, prepare, serialize, summarize.",
}


def named(path: str) -> Command | None:
    """The command of that name (`memory write`), or None."""
    module = _MODULES.get(path.partition(" ")[0])
    for command in _load(module) if module else ():
        if command.path == path:
            return command
    return None


def every() -> tuple[Command, ...]:
    """All commands, in the order of the help."""
    return tuple(command for module in dict.fromkeys(_MODULES.values()) for command in _load(module))


def _load(module: str) -> tuple[Command, ...]:
    found: tuple[Command, ...] = __import__("cli.commands." + module, fromlist=["COMMANDS"]).COMMANDS
    return found
