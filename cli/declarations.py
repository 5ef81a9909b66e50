"""How the commands in `cli/commands/` are declared, and how their declarations are read.

First what the commands share: a Typer app, common options, and a progress bar. Then the functions that read the
commands' paths, parameters, help and error codes from what was declared.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer
from typer import Argument, Option
from typer.core import TyperCommand
from typer.models import ArgumentInfo, ParameterInfo

from cli.commands import MODULES
from cli.parser import TRUTHS, Command, Parameter
from core.errors import Failure

Function = TypeVar("Function", bound=Callable[..., Any])
Advance = Callable[[int], None]


def _no_type(ctx: Any) -> None:  # noqa: ARG001  called by Typer's help
    return None


class HelpCommand(TyperCommand):
    """A command as Typer's help shows it: arguments and flags get no Python type, such as <list[str]> or <bool>."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters."""
        parameters: list[Any] = super().get_params(ctx)
        for parameter in parameters:
            if parameter.param_type_name == "argument" or parameter.is_flag:
                parameter.display_type_rich = _no_type
        return parameters


class ShellCommand(HelpCommand):
    """A command whose text is a shell command with options of its own: `how git add -p`."""


class Commands(typer.Typer):
    """A Typer app whose commands are `HelpCommand`s."""

    def __init__(self, help: str | None = None) -> None:
        super().__init__(help=help, add_completion=False)

    def group(self, name: str, help: str) -> "Commands":
        """Declare a group of commands, such as `memory`."""
        group = Commands(help)
        self.add_typer(group, name=name)
        return group

    def command(self, name: str | None = None, **more: Any) -> Callable[[Function], Function]:
        """Declare a command, as `typer.Typer.command` does."""
        declare = super().command(name, **{"cls": HelpCommand, **more})

        def with_metavars(function: Function) -> Function:
            for declared in inspect.signature(function).parameters.values():
                info = get_args(declared.annotation)[1]
                parameter = _parameter(declared)
                if info.metavar is None and parameter.kind != "flag":
                    info.metavar = "|".join(parameter.choices) or parameter.metavar  # else Typer shows a Python type
            return declare(function)

        return with_metavars


def true_or_false(text: str) -> bool:
    """The value of an option such as `--success true`."""
    if text.lower() not in TRUTHS:
        raise typer.BadParameter("give true or false")
    return TRUTHS[text.lower()]


class OneOf:
    """Converts a word that must be one of some values: for lists, and for values that are known only at run time."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices
        self.metavar = "|".join(choices)

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

        try:
            db = sqlite.open_reading()
            found = store_file.newest(db, kind, 100) if db is not None else []
        except (Failure, sqlite.StoreError):
            found = []
        if kind == "sessions":
            found = list(dict.fromkeys([*_sessions_with_state(100), *found]))
        shown = [quoting.shown_id(value) if kind == "sessions" else value for value in found]
        return [value for value in shown if re.fullmatch(r"[\w./:@+,=-]+", value)]  # a shell expands other characters

    return values


def _sessions_with_state(most: int) -> list[str]:
    """The sessions with the newest state files: a script's session need not be archived."""
    from session.state_file import session_of, state_times

    try:
        times = state_times()
    except Failure:
        return []
    return [session_of(path) for path in sorted(times, key=times.__getitem__, reverse=True)[:most]]


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


def limit_option(help: str, most: int = 100) -> Any:
    """An option whose value is a number of results."""
    return Option("--limit", "-n", min=1, max=most, help=help)


Query = Annotated[list[str] | None, Argument(metavar="QUERY", help="What to look for")]
RequiredQuery = Annotated[list[str], Argument(metavar="QUERY", help="What to look for")]
Hits = Annotated[int | None, limit_option("Maximum number of hits (default: recall.limit)")]
Raw = Annotated[bool, Option("--raw", help="Print only the text, not JSON")]
Verbatim = Annotated[bool, Option("--verbatim", help="Print only the text, exactly as stored; refused on a terminal")]
Hours = Annotated[float, Option("--hours", min=0, max=876_000, help="How far back, in hours")]
Session = Annotated[str | None, session_option("Session id")]
Percent = Annotated[float | None, Option("--percent", min=0, max=100, metavar="P", help="Context usage, 0 to 100")]
ConfirmedDeletion = Annotated[
    bool | None, Option("--yes/--dry-run", "-y", help="Delete without asking, or only report what would be deleted")
]
Category = Annotated[
    str | None,
    Option("--category", "-c", help="Only this category, or an alias such as ops", autocompletion=stored("categories")),
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


def group_help(word: str) -> str:
    """The help of a command group; "" if the word is not a group."""
    if word not in MODULES:
        return ""
    groups = {group.name: group.typer_instance for group in module_of(word).registered_groups}
    group = groups.get(word)
    return str(group.info.help) if group is not None else ""


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
            about = inspect.cleandoc(info.help or function.__doc__ or "")
            parameters = parameters_of(function)
            yield Command(path, function, parameters, code, help=about, is_shell_text=info.cls is ShellCommand)
    for sub in app.registered_groups:
        if sub.typer_instance is not None:
            yield from _walk(sub.typer_instance, f"{group} {sub.name}".strip() if isinstance(sub.name, str) else group)


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """The parameters of a function that is declared with `Annotated[type, Option(...)]`."""
    return [_parameter(parameter) for parameter in inspect.signature(function).parameters.values()]


def _parameter(declared: inspect.Parameter) -> Parameter:
    annotation, info = get_args(declared.annotation)[:2]
    kind, many, choices = _kind(annotation)
    given: dict[str, Any] = {"kind": kind, "many": many, "choices": choices, "low": info.min, "high": info.max}
    given["help"] = info.help or ""
    given["default"] = None if declared.default is inspect.Parameter.empty else declared.default
    if info.parser is true_or_false:
        given["kind"] = "truth"
    elif isinstance(info.parser, OneOf):
        given["choices"] = info.parser.choices
    if isinstance(info, ArgumentInfo):
        given["required"] = declared.default is inspect.Parameter.empty
        given["metavar"] = info.metavar or declared.name.upper()
    else:
        on, off = _flags(info, declared.name)
        name = "N" if kind in _KINDS.values() else on[0].lstrip("-").upper()
        given |= {"flags": on, "off": off, "metavar": info.metavar or name}
    given["completions"] = info.autocompletion
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
