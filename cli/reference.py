"""Describes the declared commands: the help, JSON for agents, and completion.

Words that call no command are reported here, too, with the command that was probably meant.
"""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from difflib import get_close_matches
from typing import Any

import typer
from typer.main import get_command

from cli.declarations import ABOUT, app_of, called, declared, every_command, first_words, group_help
from cli.hot_table import WORDS
from cli.output import Answer, is_terminal, print_answer, report, step, write_out
from cli.parser import HELP_FLAGS, Command, Parameter, canonical
from core import VERSION
from core.errors import usage
from core.store.sqlite import apsw

_EPILOG = "--json prints a JSON object, the default when stdout is not a terminal. --version prints the versions."


def print_page(words: list[str], *, as_json: bool) -> int:
    """Print the versions, the help, or a group's page. Other words call no command: report that."""
    asks_help = bool({*words} & {*HELP_FLAGS})
    names = [word for word in words if word not in HELP_FLAGS]
    if words[:1] == ["--version"]:
        python = ".".join(map(str, sys.version_info[:3]))
        write_out(f"joelclaw {VERSION} (python {python}, sqlite {apsw.sqlite_lib_version()})\n")
    elif len(names) > 1 or (names and not group_help(names[0])):
        return report_unknown_command(words, as_json=as_json)
    elif as_json and not asks_help:
        print_overview(*names)
    else:
        print_help(names)
    return 0


def print_help(words: list[str]) -> None:
    """Print Typer's help of a command, a group or all commands, drawn on a terminal and plain elsewhere."""
    is_drawn = is_terminal()
    printed = io.StringIO()  # Typer does not handle a reader of stdout that goes away
    with nullcontext() if is_drawn else redirect_stdout(printed):
        root = typer_command(words[0] if words else "", rich=is_drawn)
        root.main(args=[*words, "--help"], prog_name="joelclaw", standalone_mode=False)
    write_out(printed.getvalue())


def typer_command(word: str, *, rich: bool = False) -> Any:
    """Typer's command for the commands that begin with a word. For "", a command that only can print the list of all.

    Typer takes as long as a bare start of Python for the parameters of all commands, which that list does not have.
    """
    root = typer.Typer(
        help=ABOUT, epilog=_EPILOG, add_completion=False, context_settings={"help_option_names": [*HELP_FLAGS]},
        rich_markup_mode="rich" if rich else None,
    )  # fmt: skip
    if word:
        root.add_typer(app_of(WORDS[word]))
    for name, about in () if word else first_words().items():
        root.command(name, help=about)(lambda: None)
    return get_command(root)


def usage_line(command: Command) -> str:
    """`joelclaw memory forget ID... [options]`: `[QUERY]` is optional, `ID...` may be repeated."""
    words = ["joelclaw", command.path]
    for argument in command.arguments():
        shown = argument.metavar + "..." * (argument.many and argument.metavar != "QUERY")
        words.append(shown if argument.required else f"[{shown}]")
    return " ".join([*words, *["[options]"] * any(parameter.flags for parameter in command.parameters)])


# Unknown commands


def report_unknown_command(words: Sequence[str], *, as_json: bool) -> int:
    """Report that the words call no command, with the command that was probably meant, or those there are."""
    group = words[0] if group_help(words[0]) else ""
    typed = f"{group} {words[1]}" if group else words[0]
    kind = "option" if words[0][:1] == "-" else "command"
    paths = list(declared(group) if group else {**every_command(), **first_words()})
    near = get_close_matches(" ".join(words[:2]), paths, 1, 0.72) or get_close_matches(words[0], paths, 1, 0.72)
    of_a_group = [path for path in paths if path.endswith(f" {words[0]}")]
    fix = f"use one of: {', '.join(declared(group) if group else WORDS)}; joelclaw --help says what each does"
    if near or len(of_a_group) == 1:
        fix = f"did you mean `joelclaw {(near or of_a_group)[0]}`?"
    failure = usage("USAGE", f"there is no {kind} {typed[:60]!r}", fix)
    return report(words[0][:60], failure, as_json=as_json, helped=group)


# JSON for agents


def print_overview(group: str = "") -> None:
    """Print the usage of all commands, or of those in a group, as an envelope."""
    commands = declared(group) if group else every_command()
    helps = {path: command.help for path, command in commands.items()} if group else first_words()
    usages = {path[len(group) :].lstrip(): usage_line(command) for path, command in commands.items()}
    result: dict[str, Any] = {"description": group_help(group) if group else ABOUT, "commands": usages}
    if group:
        result["subcommands"] = usages
    else:
        result["groups"] = {word: about for word, about in helps.items() if group_help(word)}
    if group == "vault":
        result["vault_root"] = os.path.expanduser(os.environ.get("VAULT_PATH", "").strip() or "~/Vault")
    actions = [step(f"joelclaw {path} --help", about) for path, about in helps.items()]
    print_answer(f"joelclaw {group or '--help'}", Answer(result, actions))


# Shell completion

_COMMON_OPTIONS = {"--json": "One JSON object on stdout", "--help": "What this command takes", "-h": "The same"}
FILES = "@files"  # offered instead of words: the shell completes a path
_FILE_METAVARS = ("FILE", "DIR", "PATH", "FOLDER", "TRANSCRIPT", "SESSION")


def completions(before: list[str], word: str) -> dict[str, str]:
    """The words that may come after those before, and their help. They need not begin with `word`."""
    names = canonical([name for name in before if name[:1] != "-"])
    command = called(names)
    if command is None:
        if word[:1] == "-":
            return {**_COMMON_OPTIONS, "--version": "The versions of joelclaw, Python and SQLite"}
        if names:
            commands = declared(names[0]) if group_help(names[0]) and not names[1:] else {}
            return {path.partition(" ")[2]: command.help for path, command in commands.items()}
        return first_words()
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
    return {value: "" for argument in command.arguments()[:1] for value in _values(argument)}


def _values(parameter: Parameter) -> Sequence[str]:
    """The values that a parameter may have, or those in the store."""
    if parameter.completions is not None:
        return parameter.completions()
    known = ("true", "false") if parameter.kind == "truth" else parameter.choices
    return known or (FILES,) * (parameter.metavar in _FILE_METAVARS)
