"""How the commands in `cli/commands/` are declared, and how their declarations are read.

First what the commands share: common options and a progress bar. Then the functions that read the commands' paths,
parameters, help and error codes from what was declared.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from typer import Argument, Option
from typer.models import ArgumentInfo, ParameterInfo

from cli.commands import MODULES
from cli.parser import TRUTHS, Command, Parameter
from core.errors import Failure

Advance = Callable[[int], None]


def group(app: typer.Typer, name: str, help: str) -> typer.Typer:
    """Declare a group of commands, such as `memory`."""
    declared = typer.Typer(help=help)
    app.add_typer(declared, name=name)
    return declared


def true_or_false(text: str) -> bool:
    """The value of an option such as `--success true`."""
    if text.lower() not in TRUTHS:
        raise typer.BadParameter("give true or false")
    return TRUTHS[text.lower()]


class OneOf:
    """Converts a word that must be one of some values: for lists, and for values that are known only at run time."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def __call__(self, text: str) -> str:
        """The word itself."""
        if text not in self.choices:
            raise typer.BadParameter(f"give one of {', '.join(self.choices)}")
        return text


def stored(kind: str) -> Callable[[], list[str]]:
    """Completions for an option: the newest values of a kind, as `store_file.newest` names them, in the store."""

    def values() -> list[str]:
        import re

        from core import quoting
        from core.store import sqlite, store_file
        from session.known_states import session_of, state_times

        most = 100
        found: list[str] = []
        with suppress(Failure, sqlite.StoreError):
            if kind == "sessions":  # a script's session need not be archived
                times = state_times()
                found = [session_of(path) for path in sorted(times, key=times.__getitem__, reverse=True)[:most]]
            db = sqlite.open_reading()
            found += store_file.newest(db, kind, most) if db is not None else []
        shown = dict.fromkeys(quoting.shown_id(value) if kind == "sessions" else value for value in found)
        return [value for value in shown if re.fullmatch(r"[\w./:@+,=-]+", value)]  # a shell expands other characters

    return values


def session_option(help: str) -> Any:
    """An option whose value is the id of a session."""
    return Option(metavar="ID", help=help, autocompletion=stored("sessions"))


def session_argument(help: str, metavar: str = "ID") -> Any:
    """An argument that is the id of a session."""
    return Argument(metavar=metavar, help=help, autocompletion=stored("sessions"))


def project_option(help: str) -> Any:
    """An option whose value is the name of a project."""
    return Option(help=help, autocompletion=stored("projects"))


def memory_argument(help: str, metavar: str = "ID") -> Any:
    """An argument that is the id of a memory."""
    return Argument(metavar=metavar, help=help, autocompletion=stored("memories"))


def limit_option(most: int = 100) -> Any:
    """An option whose value is a number of results."""
    return Option("--limit", "-n", min=1, max=most, help="Maximum number of results")


Query = Annotated[list[str] | None, Argument(metavar="QUERY", help="What to look for")]
RequiredQuery = Annotated[list[str], Argument(metavar="QUERY", help="What to look for")]
Hits = Annotated[int | None, limit_option()]
Raw = Annotated[bool, Option("--raw", help="Print only the text")]
Verbatim = Annotated[bool, Option("--verbatim", help="Print the text exactly as stored, except on a terminal")]
ExitCode = Annotated[bool, Option("--exit-code", help="Exit 1 if nothing is found")]
Since = Annotated[str | None, Option(metavar="TIME", help="Only newer: 2w (h, d, w, mo, y), or a date")]
Hours = Annotated[float, Option("--hours", min=0, max=876_000, help="How far back, in hours")]
Session = Annotated[str | None, session_option("The session's id")]
Stdin = Annotated[bool, Option("--stdin", help="Also read a JSON object from stdin")]
Percent = Annotated[float | None, Option("--percent", min=0, max=100, metavar="P", help="Context usage in percent")]
ConfirmedDeletion = Annotated[
    bool | None, Option("--yes/--dry-run", "-y", help="Do not ask, or only show what would happen")
]
Category = Annotated[
    str | None,
    Option("--category", "-c", help="Only this category, such as ops", autocompletion=stored("categories")),
]


@contextmanager
def progress_bar(label: str, total: int | None = None, *, in_bytes: bool = False) -> Iterator[tuple[Advance, Advance]]:
    """A bar on stderr, if stderr is a terminal. Yields functions that set the total, and that advance the bar."""
    if not sys.stderr.isatty():
        yield (lambda _: None), (lambda _: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn(label), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=total)
        yield (lambda count: shown.update(task, total=count)), (lambda count: shown.advance(task, count))


# Reading the declarations

ABOUT = "Lets a coding agent keep what a context compaction throws away."
_KINDS = {int: "whole", float: "number"}
_USAGE_CODES = {
    "mcp": "USAGE", "status": "USAGE", "restore": "BACKUP_INVALID_ARGS", "uninstall": "INSTALL_INVALID_ARGS",
    "memory search": "RECALL_INVALID_ARGS", "memory scorecard": "SCORECARD_FAILED", "note": "MEMORY_INVALID_ARGS",
    "knowledge note": "INVALID_KNOWLEDGE_NOTE", "o11y session": "OTEL_INVALID_ARGS",
    "o11y system": "OTEL_INVALID_ARGS", **dict.fromkeys(("off", "on", "exclude"), "SWITCH_INVALID_ARGS"),
}  # fmt: skip
"""Error codes of wrong usage other than `WORD_INVALID_ARGS`."""


def module_of(word: str) -> typer.Typer:
    """The Typer app that declares the commands beginning with a word."""
    app: typer.Typer = import_module(f"cli.commands.{MODULES[word]}").app
    return app


def called(words: list[str] | tuple[str, ...]) -> Command | None:
    """The command that the first words call, or None."""
    if not words or words[0] not in MODULES:
        return None
    commands = declared(words[0])
    return commands.get(words[0]) or commands.get(" ".join(words[:2]))


def every_command() -> dict[str, Command]:
    """All commands by their path, in the order of the help."""
    return {path: command for word in MODULES for path, command in declared(word).items()}


def every_group() -> dict[str, str]:
    """The help of all command groups."""
    return {word: about for word in MODULES if (about := group_help(word))}


def group_help(word: str) -> str:
    """The help of a command group; "" if the word is not a group."""
    groups = module_of(word).registered_groups if word in MODULES else []
    apps = (group.typer_instance for group in groups if group.name == word)
    return next((str(app.info.help) for app in apps if app is not None), "")


@cache
def declared(word: str) -> dict[str, Command]:
    """The commands that begin with a word, by their path."""
    return {command.path: command for command in _walk(module_of(word), "") if command.path.split()[0] == word}


def _walk(app: typer.Typer, group: str) -> Iterator[Command]:
    for info in app.registered_commands:
        function: Callable[..., Any] | None = info.callback
        if function is not None:
            path = f"{group} {info.name}".strip()
            code = _USAGE_CODES.get(path, f"{path.split()[0].upper()}_INVALID_ARGS")
            parameters = [_parameter(parameter) for parameter in inspect.signature(function).parameters.values()]
            yield Command(path, function, parameters, code, help=inspect.cleandoc(info.help or function.__doc__ or ""))
    for sub in app.registered_groups:
        if sub.typer_instance is not None:
            yield from _walk(sub.typer_instance, f"{group} {sub.name}".strip() if isinstance(sub.name, str) else group)


def _parameter(declared: inspect.Parameter) -> Parameter:
    annotation, info = get_args(declared.annotation)[:2]
    kind, many, choices = _kind(annotation)
    is_required = declared.default is inspect.Parameter.empty
    given: dict[str, Any] = {
        "kind": kind, "many": many, "choices": choices, "low": info.min, "high": info.max, "help": info.help or "",
        "default": None if is_required else declared.default, "completions": info.autocompletion,
    }  # fmt: skip
    if info.parser is true_or_false:
        given["kind"] = "truth"
    elif isinstance(info.parser, OneOf):
        given["choices"] = info.parser.choices
    if isinstance(info, ArgumentInfo):
        given |= {"required": is_required, "metavar": info.metavar or declared.name.upper()}
    else:
        on, off = _flags(info, declared.name)
        name = "N" if kind in _KINDS.values() else on[0].lstrip("-").upper()
        given |= {"flags": on, "off": off, "metavar": info.metavar or name}
    return Parameter(declared.name, **given)


def _flags(info: ParameterInfo, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The flags of an option, and those that mean no (`--archive/--no-archive`)."""
    # In `Annotated`, Typer also takes the first flag from `default`, the first parameter of `typer.Option`.
    first = (info.default,) if isinstance(info.default, str) else ()
    written = (*first, *(info.param_decls or ())) or ("--" + name.replace("_", "-"),)
    pairs = [flag.partition("/")[::2] for flag in written]
    return tuple(flag for flag, _ in pairs), tuple(off for _, off in pairs if off)


def _kind(annotation: Any) -> tuple[str, bool, tuple[str, ...]]:
    """The kind of a value, whether there may be many, and its choices."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (member for member in get_args(annotation) if member is not NoneType)
    many = get_origin(annotation) is list
    if many:
        (annotation,) = get_args(annotation)
    if get_origin(annotation) is Literal:
        return "text", many, get_args(annotation)
    if annotation is bool:
        return "flag", many, ()
    return _KINDS.get(annotation, "text"), many, ()
