"""The Typer app, made from the declarations: help, wrong usage, and what the first front end does not read.

Typer only takes the words apart. Values are turned by `Parameter.convert`, as in the first front end, and a wrong one
is reported by the same `Failure`.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import nullcontext, redirect_stdout
from functools import cache
from inspect import Parameter as Argument
from inspect import Signature
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_command

from cli import execution, front, reference
from cli.answer import StdoutFullError, write_out
from cli.commands import GROUPS, every
from cli.unread_calls import misuse, plain_help
from cli.unread_calls.answer import versions
from core.errors import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cli.parameter import Command, Parameter

_COMMANDS = every()
_BY_PATH = {command.path: command for command in _COMMANDS}
_NAME = "joelclaw"
_HELP = {"help_option_names": ["--help", "-h"]}
# Typer brings its own copy of click in some versions and depends on it in others; its base class is public in both.
_Misused: type[Exception] = typer.BadParameter.__mro__[1]


def run_app(words: list[str], *, as_json: bool) -> int:
    """Run what the words ask for; returns the exit code (0 done, 1 failed, 2 wrong usage)."""
    try:
        return _run(words, as_json=as_json)
    except StdoutFullError as error:
        return execution.unprinted(misuse.path_of(words), error)


def _run(words: list[str], *, as_json: bool) -> int:
    if not words or " ".join(words) in GROUPS:
        parse_with_typer([*words, "--help"], rich=execution.stdout_is_terminal())
        return 0
    terminal = execution.stdout_is_terminal()
    printed = io.StringIO()  # Typer has its own ways with a stdout that nobody reads
    try:
        with nullcontext() if terminal else redirect_stdout(printed):
            read = parse_with_typer(words, rich=terminal)
    except Failure as failure:
        return execution.report(misuse.named(words), failure, as_json=as_json)
    except KeyboardInterrupt:
        return execution.INTERRUPTED
    except Exception as error:
        if os.environ.get("JOELCLAW_DEBUG"):
            raise
        return execution.report(misuse.named(words), execution.unknown(error), as_json=as_json)
    write_out(printed.getvalue())
    return 0 if read is None else execution.run(*read, as_json=as_json)


def parse_with_typer(words: Sequence[str], *, rich: bool = False) -> tuple[Command, dict[str, Any]] | None:
    """Parse the words with Typer into the command and its options; nothing is run.

    None when `--help` or `--version` was among the words: that has been printed.

    Args:
        rich: whether help is drawn for a terminal.

    Raises:
        Failure: wrong usage, with the command's code and exit 2.
    """
    try:
        read = _parser(rich=rich).main(args=_spelled_out(words), prog_name=_NAME, standalone_mode=False)
    except _Misused as error:
        raise _misuse(words, error) from None
    if not isinstance(read, tuple):
        return None
    command, given = read
    return command, _options(command, given)


def _spelled_out(words: Sequence[str]) -> list[str]:
    command = _BY_PATH.get(misuse.path_of(words))
    if command is None:
        return list(words)
    named = command.path.split()
    return [*named, *front.spelled_out(command, words[len(named) :])]


@cache
def _parser(*, rich: bool) -> Any:
    return get_command(make_app(rich=rich))


def make_app(*, rich: bool) -> typer.Typer:
    """The app with every command; running it reads the words and returns `(command, words by parameter)`."""
    mode: Any = "rich" if rich else None
    style: dict[str, Any] = {"rich_markup_mode": mode, "add_completion": False, "context_settings": _HELP}
    app = typer.Typer(name=_NAME, help=plain_help.ABOUT, epilog=plain_help.AFTER, **style)
    app.callback()(_root)
    groups = {name: typer.Typer(help=about, **style) for name, about in GROUPS.items()}
    added: set[str] = set()
    for command in _COMMANDS:
        group, _, name = command.path.rpartition(" ")
        if group and group not in added:
            added.add(group)
            app.add_typer(groups[group], name=group)
        home = groups[group] if group else app
        home.command(name, help=_text(command.help, rich), context_settings=_HELP)(_reader(command, rich))
    return app


def _show_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(versions())
        raise typer.Exit


_Version = Annotated[
    bool,
    typer.Option(
        "--version",
        help=plain_help.VERSION,
        is_eager=True,
        callback=_show_version,
    ),
]


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
    kind: Any = bool if parameter.kind == "flag" else list[str] if parameter.many else str
    declared: Any
    if parameter.flags:
        metavar = None if parameter.kind == "flag" else reference.placeholder(parameter)
        declared = typer.Option(*parameter.flags, help=about, metavar=metavar, show_default=False)
    else:
        declared = typer.Argument(help=about, metavar=parameter.metavar, show_default=False)
    if parameter.kind == "flag":
        default: Any = False
    elif parameter.required:
        default = Argument.empty
    else:
        kind, default = kind | None, None
    return Argument(parameter.name, Argument.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declared])


def _text(text: str, rich: bool) -> str:
    if rich:
        from rich.markup import escape

        return escape(text)
    return text


def _options(command: Command, given: dict[str, Any]) -> dict[str, Any]:
    options = command.defaults()
    for parameter in command.parameters:
        value = given[parameter.name]
        if parameter.kind == "flag":
            options[parameter.name] = value
        elif parameter.many:
            options[parameter.name] = [parameter.convert(word, command.code) for word in value or ()]
        elif value is not None:
            options[parameter.name] = parameter.convert(value, command.code)
    return options


def _misuse(words: Sequence[str], error: Exception) -> Failure:
    """Typer's complaint as a failure, with what to do about it."""
    describe: Callable[[], str] = getattr(error, "format_message", lambda: str(error))
    message = " ".join(describe().split())
    strange = getattr(error, "possibilities", None) == []
    return misuse.failure(words, message, extra="extra argument" in message, strange=strange)
