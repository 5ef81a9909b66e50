"""The help of a command or a group, which Typer draws from the declarations."""

import io
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from functools import cache
from inspect import Parameter as Argument
from inspect import Signature
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.main import get_command

from cli import reference
from cli.parameter import Command
from cli.reference import GROUPS
from cli.stdout import is_terminal, write_out

_NAME = "joelclaw"


def print_help(path: str) -> None:
    """The help of the command or group of that name, drawn on a terminal, plain text elsewhere."""
    terminal = is_terminal()
    printed = io.StringIO()  # Typer has its own ways with a stdout that nobody reads
    with nullcontext() if terminal else redirect_stdout(printed):
        _parser(rich=terminal).main(args=[*path.split(), "--help"], prog_name=_NAME, standalone_mode=False)
    write_out(printed.getvalue())


@cache
def _parser(*, rich: bool) -> Any:
    """Every command as Typer has it; none is ever called."""
    style: dict[str, Any] = {"rich_markup_mode": "rich" if rich else None, "add_completion": False}
    style["context_settings"] = {"help_option_names": ["--help", "-h"]}
    app = typer.Typer(name=_NAME, help=reference.ABOUT, **style)
    groups: dict[str, typer.Typer] = {"": app}
    for command in reference.every():
        group, _, name = command.path.rpartition(" ")
        if group not in groups:
            groups[group] = typer.Typer(help=GROUPS[group], **style)
            app.add_typer(groups[group], name=group)
        about = _text(command.help, rich)
        groups[group].command(name, help=about, context_settings=style["context_settings"])(_signed(command, rich))
    return get_command(app)


def _signed(command: Command, rich: bool) -> Callable[..., None]:
    """A function whose signature tells Typer the command's parameters."""

    def signed(**_given: Any) -> None:
        pass

    arguments = []
    for one in command.parameters:
        is_flag = one.kind == "flag"
        about: dict[str, Any] = {"help": _text(reference.explained(one), rich), "show_default": False}
        about["metavar"] = None if is_flag else reference.placeholder(one) if one.flags else one.metavar
        declared: Any = typer.Option(*one.flags, **about) if one.flags else typer.Argument(**about)
        default: Any = False if is_flag else Argument.empty if one.required else None
        kind: Any = bool if is_flag else list[str] if one.many or one.is_query else str
        asked: Any = Annotated[kind | None if default is None else kind, declared]
        arguments.append(Argument(one.name, Argument.KEYWORD_ONLY, default=default, annotation=asked))
    # Typer asks both; what must be there comes first in a signature.
    arguments.sort(key=lambda argument: argument.default is not Argument.empty)
    signed.__signature__ = Signature(arguments)  # type: ignore[attr-defined]  # that is where inspect looks first
    signed.__annotations__ = {argument.name: argument.annotation for argument in arguments}
    return signed


def _text(text: str, rich: bool) -> str:
    return escape(text) if rich else text
