"""Help as plain text, for a pipe; on a terminal Typer draws it. The texts are the declarations'."""

from __future__ import annotations

from cli import commands, reference
from cli.commands import GROUPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ABOUT = "Lets a coding agent keep what a context compaction throws away."
AFTER = "--json, anywhere: one JSON object on stdout, as when stdout is no terminal."
VERSION = "Show the versions of joelclaw, Python and SQLite."
_SHOW = ("--help, -h", "Show this message and exit.")
_WIDEST = 30


def text(path: str) -> str:
    """The help of a command, of a group, or with "" of all; "" where there is no such."""
    command = commands.named(path) if path else None
    if command is not None:
        line = f"joelclaw {command.path} "
        positional = [p for p in command.parameters if not p.flags]
        words = " ".join(reference.word(p) for p in positional)
        named = [(p.metavar, reference.explained(p)) for p in positional]
        flags = [(_spelling(p.flags, reference.placeholder(p), p.kind == "flag"), reference.explained(p))
                 for p in command.parameters if p.flags]  # fmt: skip
        return _page(line + "[OPTIONS]" + (f" {words}" if words else ""), command.help, {
            "Arguments": named, "Options": [*flags, _SHOW],
        })  # fmt: skip
    if path and path not in GROUPS:
        return ""
    line = f"joelclaw {path} " if path else "joelclaw "
    options = [_SHOW] if path else [("--version", VERSION), _SHOW]
    inside = [(name.rpartition(" ")[2] if path else name, about) for name, about in reference.children(path)]
    page = _page(line + "[OPTIONS] COMMAND [ARGS]...", GROUPS.get(path, ABOUT), {
        "Options": options, "Commands": inside,
    })  # fmt: skip
    return page if path else f"{page}\n{AFTER}\n"


def _spelling(flags: tuple[str, ...], value: str, bare: bool) -> str:
    return ", ".join(flags) + ("" if bare else f" {value}")


def _page(usage: str, about: str, parts: dict[str, list[tuple[str, str]]]) -> str:
    lines = [f"Usage: {usage}", "", f"  {about}"]
    for title, rows in parts.items():
        if rows:
            lines += ["", f"{title}:", *_rows(rows)]
    return "\n".join(lines) + "\n"


def _rows(rows: list[tuple[str, str]]) -> Iterable[str]:
    width = min(_WIDEST, max(len(name) for name, _ in rows)) + 2
    for name, about in rows:
        if len(name) + 2 > width:
            yield f"  {name}"
            yield f"  {'':{width}}{about}"
        else:
            yield f"  {name:{width}}{about}"
