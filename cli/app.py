"""The Typer app, made from the declarations: help, wrong usage, and what `execution.parse` does not read.

Typer only takes the words apart. Values are turned by `Parameter.convert` in either case, and a wrong one is reported
by the same `Failure`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from functools import cache
from inspect import Parameter as Argument
from inspect import Signature
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.main import get_command

from cli import commands, complaints, execution, reference
from cli.parameter import Command, Parameter
from cli.reference import GROUPS
from cli.stdout import is_terminal, write_out
from core.errors import Failure

_NAME = "joelclaw"
_ABOUT = "Lets a coding agent keep what a context compaction throws away."
_AFTER = "--json, anywhere: one JSON object on stdout, as when stdout is no terminal."
_HELP = {"help_option_names": ["--help", "-h"]}
# Typer brings its own copy of click in some versions and depends on it in others; its base class is public in both.
_Misused: type[Exception] = typer.BadParameter.__mro__[1]


def run_app(words: list[str], *, as_json: bool) -> int:
    """Run what the words ask for; returns the exit code (0 done, 1 failed, 2 wrong usage)."""
    refused = complaints.outside(words)
    if refused is not None:
        return complaints.report(complaints.named(words), refused, as_json=as_json)
    if not words or " ".join(words) in GROUPS:
        if as_json:
            reference.print_overview(" ".join(words))
            return 0
        words = [*words, "--help"]
    terminal = is_terminal()
    printed = io.StringIO()  # Typer has its own ways with a stdout that nobody reads
    try:
        with nullcontext() if terminal else redirect_stdout(printed):
            read = parse_with_typer(words, rich=terminal)
    except KeyboardInterrupt:
        return execution.INTERRUPTED
    except Exception as error:
        if os.environ.get("JOELCLAW_DEBUG") and not isinstance(error, Failure):
            raise
        return complaints.report(complaints.named(words), error, as_json=as_json)
    write_out(printed.getvalue())
    return 0 if read is None else execution.run(*read, as_json=as_json)


def parse_with_typer(words: Sequence[str], *, rich: bool = False) -> tuple[Command, dict[str, Any]] | None:
    """The command that the words call, and its options; nothing is run.

    None when `--help` or `--version` was among them: that has been printed, `rich` as for a terminal.
    """
    try:
        read = _parser(rich=rich).main(args=_spelled_out(words), prog_name=_NAME, standalone_mode=False)
    except _Misused as error:
        describe: Callable[[], str] = getattr(error, "format_message", error.__str__)
        raise complaints.misuse(words, " ".join(describe().split())) from None
    if not isinstance(read, tuple):
        return None
    command, given = read
    options = command.defaults()
    for parameter in command.parameters:
        value = given[parameter.name]
        if parameter.kind == "flag":
            options[parameter.name] = value
        elif parameter.many:
            options[parameter.name] = [parameter.convert(word, command.code) for word in value or ()]
        elif value is not None:
            options[parameter.name] = parameter.convert(value, command.code)
    return command, options


def _spelled_out(words: Sequence[str]) -> list[str]:
    """The words with the `true` that a bare `--success` means; Typer wants a value."""
    command = commands.called(words)
    declared = command.parameters if command is not None else ()
    taking = {flag: parameter for parameter in declared for flag in parameter.flags if parameter.kind != "flag"}
    spelt: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        spelt.append(word)
        if word == "--":
            break
        if word in taking and taking[word].kind == "truth" and (not rest or rest[0][:1] == "-"):
            spelt.append("true")
        elif word in taking and rest:
            spelt.append(rest.pop(0))
    return [*spelt, *rest]


@cache
def _parser(*, rich: bool) -> Any:
    return get_command(make_app(rich=rich))


def make_app(*, rich: bool) -> typer.Typer:
    """The app with every command; running it reads the words and returns `(command, words by parameter)`."""
    mode: Any = "rich" if rich else None
    style: dict[str, Any] = {"rich_markup_mode": mode, "add_completion": False, "context_settings": _HELP}
    app = typer.Typer(name=_NAME, help=_ABOUT, epilog=_AFTER, **style)
    app.callback()(_root)
    groups = {name: typer.Typer(help=about, **style) for name, about in GROUPS.items()}
    added: set[str] = set()
    for command in reference.every():
        group, _, name = command.path.rpartition(" ")
        if group and group not in added:
            added.add(group)
            app.add_typer(groups[group], name=group)
        home = groups[group] if group else app
        home.command(name, help=_text(command.help, rich), context_settings=_HELP)(_reader(command, rich))
    return app


def _show_version(asked: bool) -> None:
    if asked:
        write_out(reference.versions())
        raise typer.Exit


_Version = Annotated[bool, typer.Option("--version", help=reference.VERSION, is_eager=True, callback=_show_version)]


def _root(version: _Version = False) -> None:
    """Options before any command."""


def _reader(command: Command, rich: bool) -> Callable[..., tuple[Command, dict[str, Any]]]:
    """A function whose signature tells Typer the command's parameters; it returns the words that it is given."""

    def read(**given: Any) -> tuple[Command, dict[str, Any]]:
        return command, given

    arguments = [_argument(parameter, rich) for parameter in command.parameters]
    # Typer asks both; what must be there comes first in a signature.
    arguments.sort(key=lambda argument: argument.default is not Argument.empty)
    read.__signature__ = Signature(arguments)  # type: ignore[attr-defined]  # that is where inspect looks first
    read.__annotations__ = {argument.name: argument.annotation for argument in arguments}
    return read


def _argument(parameter: Parameter, rich: bool) -> Argument:
    about = _text(reference.explained(parameter), rich)
    is_flag = parameter.kind == "flag"
    kind: Any = bool if is_flag else list[str] if parameter.many else str
    declared: Any
    if parameter.flags:
        metavar = None if is_flag else reference.placeholder(parameter)
        declared = typer.Option(*parameter.flags, help=about, metavar=metavar, show_default=False)
    else:
        declared = typer.Argument(help=about, metavar=parameter.metavar, show_default=False)
    default: Any = False if is_flag else Argument.empty if parameter.required else None
    kind = kind | None if default is None else kind
    return Argument(parameter.name, Argument.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declared])


def _text(text: str, rich: bool) -> str:
    return escape(text) if rich else text
