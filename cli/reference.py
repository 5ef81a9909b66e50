"""Describes the declared commands: the help, JSON for agents, completion, `docs/cli.md` and the hot table.

Words that call no command are reported here, too, with the command that was probably meant.
"""

import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from difflib import get_close_matches
from typing import Any

import typer
from typer.main import get_command

from cli.commands import HOT_FUNCTIONS, MODULES
from cli.declarations import ABOUT, called, declared, every_command, every_group, group_help, module_of
from cli.output import Answer, is_terminal, print_answer, report, step, write_out
from cli.parser import HELP_FLAGS, Command, Parameter, canonical, printable
from core import VERSION
from core.errors import usage
from core.store.sqlite import apsw

_FIRST_PAGE = {
    "Find earlier work": "recall show how fix lost search",
    "Keep and correct": "note memory session",
    "Set up": "install doctor status off on uninstall",
}
"""The commands that people type, by what they want to do."""


def print_page(words: list[str], *, as_json: bool) -> int:
    """Print the versions, the first page of the help, or a group's page. Other words call no command: report that."""
    asks_help = bool({*words} & {*HELP_FLAGS})
    if words[:1] == ["--version"]:
        write_out(versions())
    elif {*words} <= {*HELP_FLAGS, "--all"} and (asks_help or not (words or as_json)):
        write_out(first_page(whole="--all" in words))
    elif not words or (len(words) == 1 and group_help(words[0])):
        if as_json:
            print_overview(*words)
        else:
            print_help(words)
    elif words[1:] and words[1] in HELP_FLAGS and group_help(words[0]):
        print_help(words[:1])
    else:
        return report_unknown_command(words, as_json=as_json)
    return 0


def print_help(words: list[str]) -> None:
    """Print Typer's help of a command or group, drawn on a terminal and plain elsewhere."""
    is_drawn = is_terminal()
    printed = io.StringIO()  # Typer does not handle a reader of stdout that goes away
    with nullcontext() if is_drawn else redirect_stdout(printed):
        root = typer_command(words[0], rich=is_drawn)
        root.main(args=[*words, "--help"], prog_name="joelclaw", standalone_mode=False)
    write_out(printed.getvalue())


def typer_command(word: str, *, rich: bool = False) -> Any:
    """Typer's command for the module with the commands that begin with a word."""
    settings: dict[str, Any] = {"help_option_names": [*HELP_FLAGS]}
    root = typer.Typer(
        help=ABOUT, add_completion=False, context_settings=settings, rich_markup_mode="rich" if rich else None
    )
    root.add_typer(module_of(word))
    return get_command(root)


def first_page(*, whole: bool = False) -> str:
    """The help of `joelclaw` without a command: the commands that people type or, if `whole`, all."""
    commands, groups = every_command(), every_group()
    lines = ["Usage: joelclaw COMMAND [options]", "", ABOUT]
    for title, names in ({"All commands": " ".join(MODULES)} if whole else _FIRST_PAGE).items():
        lines += ["", title]
        for name in names.split():
            command = commands.get(name)
            arguments = command.arguments() if command else []
            shown = [argument.metavar if argument.required else f"[{argument.metavar}]" for argument in arguments]
            about = re.split(" ?[.:;(]", command.help if command else groups[name])[0]
            line = f"  {' '.join([name, *shown]):<19} {about}"
            lines.append(line if len(line) <= 80 else line.rpartition(",")[0] or line)
    lines += ["", "Options of a command: joelclaw COMMAND --help"]
    lines += ["Version: joelclaw --version" if whole else "All commands: joelclaw --help --all; version: --version"]
    return "\n".join([*lines, "JSON instead of text: --json, the default when stdout is not a terminal", ""])


def versions() -> str:
    """The line that `--version` prints."""
    python = ".".join(map(str, sys.version_info[:3]))
    return f"joelclaw {VERSION} (python {python}, sqlite {apsw.sqlite_lib_version()})\n"


def usage_line(command: Command) -> str:
    """`joelclaw memory forget ID... [options]`: `[QUERY]` is optional, `ID...` may be repeated."""
    words = ["joelclaw", command.path]
    for argument in command.arguments():
        shown = argument.metavar + "..." * (argument.many and argument.metavar != "QUERY")
        words.append(shown if argument.required else f"[{shown}]")
    return " ".join([*words, *["[options]"] * any(parameter.flags for parameter in command.parameters)])


# Unknown commands

_SYNONYMS = {
    **dict.fromkeys(("version", "verson", "verion", "v"), "--version"), "help": "--help", "hlep": "--help",
    **dict.fromkeys(("setup", "init", "configure", "add", "enable"), "install"),
    **dict.fromkeys(("remove", "disable"), "uninstall"), "list": "session list", "ls": "session list",
    "remember": "memory write", "write": "memory write", "check": "doctor", "delete": "memory forget",
    **{name: f"memory {name}" for name in ("forget", "import", "export", "stats")}, "find": "recall", "ask": "recall",
}  # fmt: skip
"""What other programs call a command, or how it is mistyped: the command here."""


def report_unknown_command(words: Sequence[str], *, as_json: bool) -> int:
    """Report that the words call no command, with the command that was probably meant, or those there are."""
    group = words[0] if group_help(words[0]) else ""
    last = words[1] if group else words[0]
    typed = f"{group} {last}" if group else last
    message = f"there is no command {printable(typed)!r}"
    if last[:1] == "-":
        message = f"there is no option {printable(last)}"
    known = f"use one of: {', '.join(declared(group) if group else MODULES)}"
    meant = probable_command(words, group)
    if meant:
        fix = f"did you mean `joelclaw {meant}`?"
    else:
        fix = known if group else f"{known}; joelclaw --help --all says what each does"
    return report(printable(words[0]), usage("USAGE", message, fix), as_json=as_json, helped=group)


def probable_command(words: Sequence[str], group: str) -> str:
    """The command or group that mistyped words are nearest to, or ""."""
    meant = _SYNONYMS.get(words[0].lower().strip("-")) if words and not group else None
    typed = [word for word in words[:2] if not word.startswith("-")]
    if meant or not typed or (group and len(typed) == 1):
        return meant or ""
    paths = list(declared(group) if group else {**every_command(), **every_group()})
    near = get_close_matches(" ".join(typed), paths, 1, 0.72) or get_close_matches(typed[0], paths, 1, 0.72)
    return near[0] if near else ""


# JSON for agents


def print_overview(group: str = "") -> None:
    """Print all commands with their parameters, or the usage of those in a group, as an envelope."""
    commands, groups = every_command(), every_group()
    result: dict[str, Any]
    if group:
        inside = {path: command for path, command in commands.items() if path.partition(" ")[0] == group}
        usages = {path.partition(" ")[2]: usage_line(command) for path, command in inside.items()}
        result = {"description": groups[group], "commands": usages}
        if group == "otel":
            result["subcommands"] = usages
        if group == "vault":
            result["vault_root"] = os.path.expanduser(os.environ.get("VAULT_PATH", "").strip() or "~/Vault")
        helps = {path: command.help for path, command in inside.items()}
    else:
        described = [
            {
                "command": f"joelclaw {command.path}",
                "usage": usage_line(command),
                "description": command.help,
                "params": {p.flags[0] if p.flags else p.metavar: _as_json(p) for p in command.parameters},
            }
            for command in commands.values()
        ]
        result = {"groups": groups, "commands": described}
        helps = {**groups, **{path: command.help for path, command in commands.items() if " " not in path}}
    actions = [step(f"joelclaw {path} --help", about) for path, about in helps.items()]
    print_answer(f"joelclaw {group or '--help'}", Answer(result, actions))


def _as_json(parameter: Parameter) -> dict[str, Any]:
    default = None if parameter.kind == "flag" or parameter.many else parameter.default
    optional = {"short": "".join(parameter.flags[1:2]), "default": default, "enum": list(parameter.choices)}
    present = {name: value for name, value in optional.items() if value not in (None, "", [])}
    return {"description": parameter.help, "required": parameter.required, **present}


# Shell completion

_COMMON_OPTIONS = {"--json": "One JSON object on stdout", "--help": "What this command takes", "-h": "The same"}
FILES = "@files"  # offered instead of words: the shell completes a path
_FILE_METAVARS = ("FILE", "DIR", "PATH", "FOLDER", "TRANSCRIPT", "SESSION")


def completions(before: list[str], word: str) -> dict[str, str]:
    """The words that may come after those before, and their help. They need not begin with `word`."""
    names = canonical([name for name in before if name[:1] != "-"])
    command = called(names)
    if command is None:
        return _commands(names, word)
    options = {flag: parameter for parameter in command.parameters for flag in (*parameter.flags, *parameter.off)}
    name, equals, _ = word.partition("=")
    last = name if equals else [name for name in before if name != "="][-1]
    option = options.get(last)
    if option is not None and option.kind != "flag":
        start = f"{name}=" if equals else ""
        if option.metavar in ("CSV", "NAMES"):  # the values before the last comma stay
            start = word[: max(len(start), word.rfind(",") + 1)]
        return {start + value: "" for value in _values(option)}
    if word[:1] == "-":
        return {**{flag: parameter.help for flag, parameter in options.items()}, **_COMMON_OPTIONS}
    argument = next(iter(command.arguments()), None)
    return dict.fromkeys(_values(argument), "") if argument is not None else {}


def _commands(before: list[str], word: str) -> dict[str, str]:
    """The commands of the group in `before`, or all groups and the commands that are in none."""
    group = " ".join(before)
    groups = every_group()
    if group and group not in groups:
        return {}
    if word[:1] == "-":
        version = {} if group else {"--version": "The versions of joelclaw, Python and SQLite"}
        return {**_COMMON_OPTIONS, **version}
    if group:
        return {path.partition(" ")[2]: command.help for path, command in declared(group).items()}
    single = {path: command.help for path, command in every_command().items() if " " not in path}
    return {**single, **groups}


def _values(parameter: Parameter) -> Sequence[str]:
    """The values that a parameter may have, or those in the store."""
    if parameter.kind == "truth":
        return ("true", "false")
    if parameter.choices:
        return tuple(parameter.choices)
    if parameter.completions is not None:
        return tuple(parameter.completions())
    return (FILES,) if parameter.metavar in _FILE_METAVARS else ()


# docs/cli.md


def markdown() -> str:
    """The commands as Markdown. Parameters that several commands of a group share are described once."""
    lines: list[str] = []
    described: set[str] = set()
    group = ""
    for command in every_command().values():
        here = command.path.partition(" ")[0] if " " in command.path else ""
        if here and here != group:
            lines += [f"## {here}", "", every_group()[here], ""]
        if here != group:
            described = set()
        group = here
        usage = usage_line(command).removeprefix("joelclaw ").removesuffix(" [options]")
        lines += [f"{'###' if here else '##'} {usage}", "", command.help, ""]
        rows = [parameter_line(parameter) for parameter in command.parameters]
        again = [f"`{row.split('`')[1]}`" for row in rows if row in described and here]
        new = [row for row in rows if row not in described or not here]
        is_same = len(again) == len(rows) > 3
        new += ["- the same options"] if is_same else [f"- as above: {' '.join(again)}"] if again else []
        described |= {*rows}
        lines += [*new, ""] if new else []
    return "\n".join(lines).rstrip()


def parameter_line(parameter: Parameter) -> str:
    """A parameter as a list item, with its choices, range and default."""
    names = ", ".join(f"`{flag}`" for flag in (*parameter.flags, *parameter.off)) or f"`{parameter.metavar}`"
    notes = [" ".join(f"`{choice}`" for choice in parameter.choices if parameter.flags)]
    notes += ["`true` or `false`"] if parameter.kind == "truth" else []
    if parameter.high is not None and parameter.high <= 1000 and "0 to" not in parameter.help:
        notes.append(f"{parameter.low:g} to {parameter.high:g}")
    notes += ["repeatable"] if parameter.many and parameter.flags else []
    if parameter.default not in (None, "", False) and not parameter.many:
        notes.append(f"default `{parameter.default}`")
    present = ", ".join(filter(None, notes))
    return f"- {names}: {parameter.help}" + f" [{present}]" * bool(present)


# cli/hot_table.py

_TABLE = '''"""The parameters of the hot commands. Generated by `make docs` from the declarations in `cli/commands/`."""

from core import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# fmt: off
# ruff: noqa: E501
COMMANDS: "dict[str, tuple[str, str, list[dict[str, Any]]]]" = {
'''


def hot_table() -> str:
    """The source of `cli/hot_table.py`: the functions, error codes and parameters of the hot commands."""
    lines = []
    for path, function in HOT_FUNCTIONS.items():
        command = every_command()[path]
        lines.append(f'    "{path}": ("cli.commands.{function}", "{command.code}", [')
        for parameter in command.parameters:
            row = f"{_declared(parameter)},"
            if lines[-1][-1] == "[" or len(lines[-1]) + len(row) > 118:  # columns
                lines.append(" " * 7)
            lines[-1] += f" {row}"
        lines.append("    ]),")
    return _TABLE + "\n".join([*lines, "}", ""])


def _declared(parameter: Parameter) -> dict[str, Any]:
    """What the small parser needs to know of a parameter, without the defaults of `Parameter`."""
    names = ("kind", "default", "flags", "off", "choices", "low", "high", "many", "required", "metavar")
    values = {name: getattr(parameter, name) for name in names}
    if parameter.flags:
        del values["metavar"]  # only used for arguments
    return {"name": parameter.name, **{n: v for n, v in values.items() if v != getattr(Parameter, n)}}


if __name__ == "__main__":
    sys.stdout.write(hot_table())
