"""The Typer app, made from the declarations: help, wrong usage, and what `execution.parse` does not read."""

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
from cli.parameter import Command
from cli.reference import GROUPS
from cli.stdout import is_terminal, write_out
from core.errors import Failure

_NAME = "joelclaw"
# Typer brings its own copy of click in some versions and depends on it in others; its base class is public in both.
_Misused: type[Exception] = typer.BadParameter.__mro__[1]


def run_app(words: list[str], *, as_json: bool) -> int:
    """Run what the words ask for; returns the exit code (0 done, 1 failed, 2 wrong usage)."""
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
    except Exception as error:
        if os.environ.get("JOELCLAW_DEBUG") and not isinstance(error, Failure):
            raise
        return complaints.report(complaints.named(words), error, as_json=as_json)
    write_out(printed.getvalue())
    return 0 if read is None else execution.run(*read, as_json=as_json)


def parse_with_typer(words: Sequence[str], *, rich: bool = False) -> tuple[Command, dict[str, Any]] | None:
    """The command that the words call, and its options; nothing is run."""
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
        if parameter.is_query:
            value = " ".join(value) if value else None
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
    if command is None:  # of a group or a mistyped word `--help` stays where it is
        return list(words)
    taking = {flag: one for one in command.parameters for flag in one.flags if one.kind != "flag"}
    spelt: list[str] = []
    loose: list[str] = []  # behind `--` where one begins with a dash: Typer would take it for a flag
    start = len(command.path.split())
    rest = list(words[start:])
    while rest:
        word = rest.pop(0)
        if word == "--":
            loose, rest = [*loose, *rest], []
            break
        if execution.is_text(command, word, loose):
            loose.append(word)
            continue
        spelt.append(word)
        if word in taking and taking[word].kind == "truth" and (not rest or rest[0][:1] == "-"):
            spelt.append("true")
        elif word in taking and rest:
            spelt.append(rest.pop(0))
    if any(word[:1] == "-" for word in loose):
        return [*words[:start], *spelt, "--", *loose]
    return [*words[:start], *loose, *spelt]  # a flag at the end without its value takes no word of the text


@cache
def _parser(*, rich: bool) -> Any:
    """What takes the words of any command apart; called, it returns `(command, words by parameter)`."""
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
        groups[group].command(name, help=about, context_settings=style["context_settings"])(_reader(command, rich))
    return get_command(app)


def _reader(command: Command, rich: bool) -> Callable[..., tuple[Command, dict[str, Any]]]:
    """A function whose signature tells Typer the command's parameters; it returns the words that it is given."""

    def read(**given: Any) -> tuple[Command, dict[str, Any]]:
        return command, given

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
    read.__signature__ = Signature(arguments)  # type: ignore[attr-defined]  # that is where inspect looks first
    read.__annotations__ = {argument.name: argument.annotation for argument in arguments}
    return read


def _text(text: str, rich: bool) -> str:
    return escape(text) if rich else text
