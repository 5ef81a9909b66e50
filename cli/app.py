"""The Typer app, made from the declarations: help, wrong usage, and what the first front end does not read.

Typer only takes the words apart. Values are turned by `Parameter.convert`, as in the first front end, and a wrong one
is reported by the same `Failure`.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from contextlib import nullcontext, redirect_stdout
from functools import cache
from inspect import Parameter as Argument
from inspect import Signature
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_command

from cli import execution, reference
from cli.answer import StdoutFullError, print_envelope, write_out
from cli.commands import GROUPS, every
from core import envelope as envelopes
from core.errors import Failure, usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cli.parameter import Command, Parameter
    from core.envelope import NextAction

_COMMANDS = every()
_BY_PATH = {command.path: command for command in _COMMANDS}
_NAME = "joelclaw"
_ABOUT = "Lets a coding agent keep what a context compaction throws away."
_AFTER = "--json, anywhere: one JSON object on stdout, as when stdout is no terminal."
_HELP = {"help_option_names": ["--help", "-h"]}
_LONGEST_WORD = 60
# Typer brings its own copy of click in some versions and depends on it in others; its base class is public in both.
_Misused: type[Exception] = typer.BadParameter.__mro__[1]


def run_app(words: list[str], *, as_json: bool) -> int:
    """Run what the words ask for; returns the exit code (0 done, 1 failed, 2 wrong usage)."""
    try:
        return _run(words, as_json=as_json)
    except StdoutFullError as error:
        return execution.unprinted(_path(words), error)


def _run(words: list[str], *, as_json: bool) -> int:
    if not words:
        return _overview(as_json=as_json)
    terminal = execution.stdout_is_terminal()
    printed = io.StringIO()  # Typer has its own ways with a stdout that nobody reads
    try:
        with nullcontext() if terminal else redirect_stdout(printed):
            read = parse_with_typer(words, rich=terminal)
    except Failure as failure:
        return execution.report(_named(words), failure, as_json=as_json)
    except KeyboardInterrupt:
        return execution.INTERRUPTED
    except Exception as error:
        if os.environ.get("JOELCLAW_DEBUG"):
            raise
        return execution.report(_named(words), execution.unknown(error), as_json=as_json)
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
        read = _parser(rich=rich).main(args=list(words), prog_name=_NAME, standalone_mode=False)
    except _Misused as error:
        raise _misuse(words, error) from None
    if not isinstance(read, tuple):
        return None
    command, given = read
    return command, _options(command, given)


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
        from session.health import versions

        about = versions()
        sys.stdout.write(f"{_NAME} {about['version']} (python {about['python']}, sqlite {about['sqlite']})\n")
        raise typer.Exit


_Version = Annotated[
    bool,
    typer.Option(
        "--version",
        help="Show the versions of joelclaw, Python and SQLite.",
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


def _path(words: Sequence[str]) -> str:
    """The command or group that the words begin with, or nothing."""
    for length in (2, 1):
        path = " ".join(words[:length])
        if len(words) >= length and (path in _BY_PATH or path in GROUPS):
            return path
    return ""


def _named(words: Sequence[str]) -> str:
    """What the envelope calls this call."""
    return f"{_NAME} {_path(words) or _shown(words[0])}"


def _shown(word: str) -> str:
    """A word of the user's without control characters, cut to a length that can be shown."""
    word = "".join(c if c.isprintable() else "\ufffd" for c in word)
    return word if len(word) <= _LONGEST_WORD else word[: _LONGEST_WORD - 1] + "…"


def _misuse(words: Sequence[str], error: Exception) -> Failure:
    """Typer's complaint as a failure, with what to do about it."""
    path = _path(words)
    command = _BY_PATH.get(path)
    describe: Callable[[], str] = getattr(error, "format_message", lambda: str(error))
    message = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(describe().split()))
    if command is not None:
        fix = f"see what it takes: {_NAME} {path} --help"
        rest = words[len(path.split()) :]
        if "extra argument" in message and any(p.metavar in ("QUERY", "TEXT") for p in command.parameters):
            fix = f"put it in quotes: {_as_query(command, rest, end=False)}"
        elif getattr(error, "possibilities", None) == [] and any(p.metavar == "QUERY" for p in command.parameters):
            fix = f"to look for it: {_as_query(command, rest)}; {fix}"
        return usage(command.code, message, fix)
    wanted = _path_meant(words, path)
    if wanted:
        return usage(
            "USAGE",
            f"there is no command {_shown(' '.join(words[: 1 + bool(path)]))!r}",
            f"did you mean `{_NAME} {wanted}`?",
        )
    inside = [c.path for c in _COMMANDS if not path or c.path.startswith(path + " ")]
    return usage("USAGE", message, f"use one of: {', '.join(inside)}")


def _as_query(command: Command, words: Sequence[str], *, end: bool = True) -> str:
    """The call in which all that is no option of the command is looked for; `end` puts `--` before it."""
    flags = {flag: parameter for parameter in command.parameters for flag in parameter.flags}
    known: list[str] = []
    query: list[str] = []
    rest = iter(words)
    for word in rest:
        parameter = flags.get(word.partition("=")[0])
        if parameter is None:
            query += [word] if word != "--" else []
            continue
        known.append(_shown(word))
        if parameter.kind != "flag" and "=" not in word:
            known += [_shown(value) for value in islice(rest, 1)]
    return shlex.join([_NAME, *command.path.split(), *known, *(["--"] if end else []), _shown(" ".join(query))])


def _path_meant(words: Sequence[str], group: str) -> str:
    """The command nearest to mistyped words: by its whole name, or by the last word of it."""
    from difflib import get_close_matches

    typed = [word for word in words[:2] if not word.startswith("-")]
    if not typed or (group and len(typed) == 1):
        return ""
    names = {command.path: command.path for command in _COMMANDS} | {group: group for group in GROUPS}
    for text in (" ".join(typed), typed[0]):
        near = get_close_matches(text, [n for n in names if not group or n.startswith(group + " ")], 1, 0.7)
        if near:
            return near[0]
    by_last = {command.path.split()[-1]: command.path for command in _COMMANDS}
    near = get_close_matches(typed[-1] if group else typed[0], list(by_last), 1, 0.75)
    return by_last[near[0]] if near else ""


def _overview(*, as_json: bool) -> int:
    """`joelclaw` alone: help for a person; for a program the commands as an envelope."""
    if not as_json:
        parse_with_typer(["--help"], rich=True)
        return 0
    actions: list[NextAction] = [
        {"command": f"{_NAME} {path} --help", "description": about}
        for path, about in [*GROUPS.items(), ("recall", _BY_PATH["recall"].help), ("status", _BY_PATH["status"].help)]
    ]
    print_envelope(envelopes.done(f"{_NAME} --help", reference.tree(), actions))
    return 0
