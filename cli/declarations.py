"""Reads the commands' paths, parameters, help and error codes from what `cli/commands/` declares with Typer."""

import inspect
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import typer
from typer.models import ArgumentInfo, CommandInfo

from cli.commands import MODULES
from cli.hot_table import WORDS
from cli.parser import Command, Parameter

ABOUT = "Lets a coding agent keep what a context compaction throws away."
_KINDS = {int: "whole", float: "number"}
_KINDS_BY_METAVAR = {"true|false": "truth", "NAME=VALUE": "named"}
_USAGE_CODES = {
    "mcp": "USAGE", "status": "USAGE", "restore": "BACKUP_INVALID_ARGS", "uninstall": "INSTALL_INVALID_ARGS",
    "memory search": "RECALL_INVALID_ARGS", "memory scorecard": "SCORECARD_FAILED", "note": "MEMORY_INVALID_ARGS",
    "knowledge note": "INVALID_KNOWLEDGE_NOTE", "o11y session": "OTEL_INVALID_ARGS",
    "o11y system": "OTEL_INVALID_ARGS", **dict.fromkeys(("off", "on", "exclude"), "SWITCH_INVALID_ARGS"),
}  # fmt: skip
"""Error codes of wrong usage other than `WORD_INVALID_ARGS`."""


def app_of(module: str) -> typer.Typer:
    """The Typer app of a module in `cli/commands/`."""
    app: typer.Typer = import_module(f"cli.commands.{module}").app
    return app


def called(words: list[str] | tuple[str, ...]) -> Command | None:
    """The command that the first words call, or None."""
    if not words:
        return None
    commands = declared(words[0])
    return commands.get(words[0]) or commands.get(" ".join(words[:2]))


def declared(word: str) -> dict[str, Command]:
    """The commands that begin with a word, by their path."""
    commands = _commands_of(WORDS[word]) if word in WORDS else {}
    return {path: command for path, command in commands.items() if path.split()[0] == word}


def every_command() -> dict[str, Command]:
    """All commands by their path, in the order of the help."""
    return {path: command for module in MODULES for path, command in _commands_of(module).items()}


def group_help(word: str) -> str:
    """The help of a command group; "" if the word is not a group."""
    group = _groups_of(WORDS[word]).get(word) if word in WORDS else None
    return str(group.info.help) if group is not None else ""


def first_words(*modules: str) -> dict[str, str]:
    """The first words of the commands of these modules or of all, and their help, without reading their parameters."""
    words: dict[str, str] = {}
    for module in modules or MODULES:
        words |= {str(info.name): _help_of(info) for info in app_of(module).registered_commands}
        words |= {name: str(group.info.help) for name, group in _groups_of(module).items()}
    return words


@cache
def _commands_of(module: str) -> dict[str, Command]:
    groups = {"": app_of(module), **_groups_of(module)}
    found = [_command(group, info) for group, app in groups.items() for info in app.registered_commands]
    return {command.path: command for command in found}


def _groups_of(module: str) -> dict[str, typer.Typer]:
    groups = {str(group.name): group.typer_instance for group in app_of(module).registered_groups}
    return {name: group for name, group in groups.items() if group is not None}


def _help_of(info: CommandInfo) -> str:
    return inspect.cleandoc(info.help or (info.callback and info.callback.__doc__) or "")


def _command(group: str, info: CommandInfo) -> Command:
    path = f"{group} {info.name}".lstrip()
    function: Any = info.callback
    signature = inspect.signature(function)
    if signature.return_annotation is None and path != "hook":  # a hot command; `cli/start.py` runs `hook`
        function = f"cli.commands.{'recall_hot' if path == 'recall' else 'hot'}:{path.replace(' ', '_')}"
    code = _USAGE_CODES.get(path, f"{path.split()[0].upper()}_INVALID_ARGS")
    return Command(path, function, [*map(_parameter, signature.parameters.values())], code, help=_help_of(info))


def _parameter(declared: inspect.Parameter) -> Parameter:
    annotation, info = get_args(declared.annotation)[:2]
    kind, many, choices = _kind(annotation)
    is_required = declared.default is inspect.Parameter.empty
    given: dict[str, Any] = {
        "kind": kind, "required": is_required, "many": many, "choices": choices, "low": info.min, "high": info.max,
        "default": None if is_required else declared.default, "help": info.help or "",
        "completions": info.autocompletion,
    }  # fmt: skip
    if isinstance(info, ArgumentInfo):
        given["metavar"] = info.metavar or declared.name.upper()
    else:
        # In `Annotated`, Typer also takes the first flag from `default`, the first parameter of `typer.Option`.
        first = (info.default,) if isinstance(info.default, str) else ()
        written = (*first, *(info.param_decls or ())) or ("--" + declared.name.replace("_", "-"),)
        pairs = [flag.partition("/")[::2] for flag in written]  # `--archive/--no-archive`
        on, off = (tuple(filter(None, flags)) for flags in zip(*pairs, strict=True))
        metavar = info.metavar or ("N" if kind in _KINDS.values() else on[0].lstrip("-").upper())
        given |= {"flags": on, "off": off, "metavar": metavar, "kind": _KINDS_BY_METAVAR.get(metavar, kind)}
        if "|" in metavar and given["kind"] == "text":
            given["choices"] = tuple(metavar.split("|"))
    return Parameter(declared.name, **given)


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
