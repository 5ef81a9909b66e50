"""Describes the declared commands: for the help, for `docs/cli.md`, and as JSON for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.commands import GROUPS, every

if TYPE_CHECKING:
    from cli.parameter import Command, Parameter

_COMMANDS = every()


def placeholder(parameter: Parameter) -> str:
    """What stands for the value in a usage line."""
    if parameter.choices:
        return "|".join(parameter.choices)
    return "true|false" if parameter.kind == "truth" else parameter.metavar


def limits(parameter: Parameter) -> str:
    """The values that a number may have, as `1 to 100`; empty where any will do."""
    low, high = parameter.low, parameter.high
    if low is None and high is None:
        return ""
    if high is None:
        return f"at least {_number(low)}"
    return f"{_number(low)} to {_number(high)}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.10g}"


def default(parameter: Parameter) -> str:
    """The default as it would be typed, empty where there is none."""
    if parameter.default is None or parameter.default == "" or parameter.kind == "flag":
        return ""
    return str(parameter.default)


def explained(parameter: Parameter) -> str:
    """The help of one parameter, with its limits and its default."""
    notes = [limits(parameter)] if "at most" not in parameter.help and " 0 to " not in parameter.help else []
    if default(parameter):
        notes.append(f"default {default(parameter)}")
    notes = [note for note in notes if note]
    return f"{parameter.help} [{', '.join(notes)}]" if notes else parameter.help


def usage_line(command: Command) -> str:
    """`joelclaw memory forget ID... [options]`."""
    words = ["joelclaw", command.path]
    words += [word(parameter) for parameter in command.parameters if not parameter.flags]
    if any(parameter.flags for parameter in command.parameters):
        words.append("[options]")
    return " ".join(words)


def word(parameter: Parameter) -> str:
    """A positional in a usage line: `QUERY`, `[QUERY]` where it may be left out, `ID...` where there may be several."""
    shown = parameter.metavar + ("..." if parameter.many else "")
    return shown if parameter.required else f"[{shown}]"


def children(group: str) -> list[tuple[str, str]]:
    """Path and help of the commands in a group; with "" of the groups and of the commands in none, in order."""
    found: dict[str, str] = {}
    for command in _COMMANDS:
        parent = command.path.rpartition(" ")[0]
        if parent == group:
            found[command.path] = command.help
        elif not group:
            found.setdefault(parent, GROUPS[parent])
    return list(found.items())


def overview(group: str) -> dict[str, Any]:
    """What a group is for, and how each of its commands is called, by the command's last word."""
    usages = {
        command.path.rpartition(" ")[2]: usage_line(command)
        for command in _COMMANDS
        if command.path.rpartition(" ")[0] == group
    }
    return {"description": GROUPS[group], "commands": usages, **({"subcommands": usages} if group == "otel" else {})}


def tree() -> dict[str, Any]:
    """Every command with its parameters, as JSON values."""
    return {
        "groups": dict(GROUPS),
        "commands": [
            {
                "command": f"joelclaw {command.path}",
                "usage": usage_line(command),
                "description": command.help,
                "params": {p.flags[0] if p.flags else p.metavar: _as_json(p) for p in command.parameters},
            }
            for command in _COMMANDS
        ],
    }


def _as_json(parameter: Parameter) -> dict[str, Any]:
    """One parameter with the keys of a next action's template."""
    entry: dict[str, Any] = {"description": parameter.help, "required": parameter.required}
    if len(parameter.flags) > 1:
        entry["short"] = parameter.flags[1]
    if parameter.kind != "flag" and parameter.default not in (None, ""):
        entry["default"] = parameter.default
    if parameter.choices:
        entry["enum"] = list(parameter.choices)
    return entry


def markdown() -> str:
    """Every command for `docs/cli.md`."""
    parts = []
    group = ""
    for command in _COMMANDS:
        here = command.path.rpartition(" ")[0]
        if here != group:
            group = here
            parts.append(f"## {group}\n\n{GROUPS[group]}\n" if group else "")
        parts.append(_section(command))
    return "\n".join(part for part in parts if part)


def _section(command: Command) -> str:
    level = "###" if " " in command.path else "##"
    text = f"{level} joelclaw {command.path}\n\n{_cell(command.help)}\n\n```\n{usage_line(command)}\n```\n"
    if command.parameters:
        text += "\n| parameter | what | values | default |\n|---|---|---|---|\n"
        text += "\n".join(_row(parameter) for parameter in command.parameters) + "\n"
    return text


def _row(parameter: Parameter) -> str:
    if parameter.flags:
        name = ", ".join(f"`{flag}`" for flag in parameter.flags)
    else:
        name = f"`{parameter.metavar}`" + (" (required)" if parameter.required else "")
    values = "" if parameter.kind == "flag" else _values(parameter)
    shown = f"`{default(parameter)}`" if default(parameter) else ""
    return f"| {name} | {_cell(parameter.help)} | {values} | {shown} |"


def _values(parameter: Parameter) -> str:
    if parameter.choices:
        return ", ".join(f"`{choice}`" for choice in parameter.choices)
    kinds = {"text": "file" if parameter.file else "text", "whole": "whole number", "number": "number"}
    kind = kinds.get(parameter.kind, "`true` or `false`")
    range_ = limits(parameter)
    many = ", repeatable" if parameter.many and parameter.flags else ""
    return f"{kind}, {range_}{many}" if range_ else kind + many


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
