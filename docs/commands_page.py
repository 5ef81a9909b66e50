"""Generates the lists of commands and settings in docs/, and cli/hot_table.py: run `make docs`."""

import sys
from typing import Any

from cli.commands import MODULES
from cli.declarations import every_command, first_words
from cli.parser import Parameter
from cli.reference import usage_line
from core.config import SETTINGS, Setting


def page() -> str:
    """The commands as Markdown. A parameter is described unless the last command with it had the same description."""
    lines: list[str] = []
    described: dict[str, str] = {}
    before: list[tuple[str, str, str]] = []
    for command in every_command().values():
        usage = usage_line(command).removeprefix("joelclaw ").removesuffix(" [options]")
        lines += ["", f"## {usage}", "", command.help, ""]
        own: dict[str, list[str]] = {}
        known: list[str] = []
        parameters = [_described(parameter) for parameter in command.parameters]
        for names, about, default in parameters:
            if described.get(names) != about:
                own.setdefault(about + f" ({default})" * bool(default), []).append(names)
            elif names[0] == "-":
                known.append(names.partition(",")[0] + f"={default}" * bool(default))
            described[names] = about
        rows = [f"{', '.join(names)}: {about}" for about, names in own.items()] + [" ".join(known)] * bool(known)
        lines += [f"    {row}" for row in (["the same options"] if parameters and parameters == before else rows)]
        before = parameters
    return "\n".join(line for at, line in enumerate(lines) if line or lines[at - 1]).strip()


def _described(parameter: Parameter) -> tuple[str, str, str]:
    """A parameter's flags or name, its help with the choices, and its default."""
    names = ", ".join((*parameter.flags, *parameter.off)) or parameter.metavar
    notes = ["|".join(parameter.choices)] if parameter.choices and parameter.flags else []
    notes += ["repeatable"] if parameter.many and parameter.flags else []
    default = "" if parameter.many or parameter.default in (None, False) else str(parameter.default)
    return names, parameter.help + f" ({', '.join(notes)})" * bool(notes), default


def settings_list() -> str:
    """The settings as Markdown, each with its default, its choices or range, and its description."""
    return "\n".join(
        f"- `{name}`{_values(setting)}: {setting.what}{' *(file only)*' * setting.user_only}"
        for name, setting in SETTINGS.items()
    )


def _values(setting: Setting) -> str:
    default = setting.default
    if isinstance(default, bool):
        return f" `{str(default).lower()}`"
    if isinstance(default, str):
        choices = dict.fromkeys([default, *setting.choices])
        return " " + " or ".join(f"`{choice}`" for choice in choices) if default else ""
    return f" {'off' if default < setting.low else default} ({setting.low:,.12g}–{setting.high:,.12g})"


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
