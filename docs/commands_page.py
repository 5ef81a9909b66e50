"""Generates the list of commands in docs/cli.md, and cli/hot_table.py: run `make docs`."""

import sys
from collections import Counter
from typing import Any

from cli.commands import MODULES
from cli.declarations import every_command, first_words
from cli.parser import Parameter
from cli.reference import usage_line


def page() -> str:
    """The commands as Markdown. Parameters of several commands are described once, at the beginning."""
    commands = every_command().values()
    rows = [parameter_line(parameter) for command in commands for parameter in command.parameters]
    shared = [row for row, count in Counter(rows).items() if count > 1]
    lines = ["## Options of several commands", "", *(f"    {row}" for row in shared)]
    before: list[str] = []
    for command in commands:
        usage = usage_line(command).removeprefix("joelclaw ").removesuffix(" [options]")
        lines += ["", f"## {usage}", "", command.help, ""]
        own: list[str] = []
        also: list[str] = []
        for parameter in command.parameters:
            row, default = parameter_line(parameter), parameter.default
            shown = f"={default}" if default not in (None, "", False) and not parameter.many else ""
            if row not in shared:
                own.append(f"    {row}" + f" ({shown[1:]})" * bool(shown))
            elif parameter.flags:
                also.append(parameter.flags[0] + shown)
        rows = [*own, *[f"    {' '.join(also)}"] * bool(also)]
        lines += ["    the same options"] if len(also) > 5 and rows == before else rows
        before = rows
    return "\n".join(line for at, line in enumerate(lines) if line or lines[at - 1]).rstrip()


def parameter_line(parameter: Parameter) -> str:
    """A parameter's flags or name, with its help and choices."""
    names = ", ".join((*parameter.flags, *parameter.off)) or parameter.metavar
    notes = ["|".join(parameter.choices)] if parameter.choices and parameter.flags else []
    notes += ["repeatable"] if parameter.many and parameter.flags else []
    return f"{names}: {parameter.help}" + f" ({', '.join(notes)})" * bool(notes)


_TABLE = '''"""The first words of all commands, and the parameters of the hot commands: `make docs` writes this file."""

# fmt: off
WORDS = {word: module for module, words in {
%s
}.items() for word in words.split()}
"""The module that declares the commands that begin with a word."""
COMMANDS = {
'''


def hot_table() -> str:
    """The source of `cli/hot_table.py`: the functions, error codes and parameters of the hot commands."""
    lines = []
    for path, command in every_command().items():
        if not isinstance(command.function, str):
            continue
        lines.append(f'    "{path}": ("{command.function}", "{command.code}", {{')
        for parameter in command.parameters:
            row = f"{(' '.join(parameter.flags) or parameter.metavar)!r}: {_declared(parameter)},"
            if lines[-1][-1] == "{" or len(lines[-1]) + len(row) > 118:  # columns
                lines.append(" " * 7)
            lines[-1] += f" {row}"
        lines.append("    }),")
    words = "\n".join(f'    "{module}": "{" ".join(first_words(module))}",' for module in MODULES)
    return _TABLE % words + "\n".join([*lines, "}", ""])


def _declared(parameter: Parameter) -> dict[str, Any]:
    """What the small parser needs to know of a parameter, without what follows from its flags and kind."""
    names = ("kind", "default", "off", "choices", "low", "high", "many", "required")
    values = {name: getattr(parameter, name) for name in names}
    implied = {name: getattr(Parameter, name) for name in names}
    implied["default"] = False if parameter.kind == "flag" else None
    if parameter.flags:
        implied["name"] = Parameter(flags=parameter.flags).name
    return {n: v for n, v in {"name": parameter.name, **values}.items() if n not in implied or v != implied[n]}


if __name__ == "__main__":
    sys.stdout.write(hot_table())
