"""What is wrong with the words of a call, and what to do about it: the same for both front ends."""

from __future__ import annotations

import shlex
from difflib import get_close_matches
from itertools import islice

from cli import front
from cli.commands import GROUPS, every
from core.errors import Failure, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cli.parameter import Command, Parameter

_COMMANDS = every()
_BY_PATH = {command.path: command for command in _COMMANDS}
_NAME = "joelclaw"
_LONGEST_WORD = 60


def path_of(words: Sequence[str]) -> str:
    """The command or group that the words begin with, or nothing."""
    for length in (2, 1):
        path = " ".join(words[:length])
        if len(words) >= length and (path in _BY_PATH or path in GROUPS):
            return path
    return ""


def named(words: Sequence[str]) -> str:
    """What the envelope calls this call."""
    return f"{_NAME} {path_of(words) or shown(words[0])}"


def shown(word: str) -> str:
    """A word of the user's without control characters, cut to a length that can be shown."""
    word = "".join(c if c.isprintable() else "\ufffd" for c in word)
    return word if len(word) <= _LONGEST_WORD else word[: _LONGEST_WORD - 1] + "…"


def failure(words: Sequence[str], message: str, *, extra: bool = False, strange: bool = False) -> Failure:
    """Wrong usage with a fix: quotes around a text, the command that was meant, or where to read what it takes.

    Args:
        message: what is wrong, as Typer says it.
        extra: there is a word too many.
        strange: an option is unknown, and none is like it.
    """
    path = path_of(words)
    command = _BY_PATH.get(path)
    message = "".join(c if c.isprintable() else "\ufffd" for c in message)
    if command is not None:
        fix = f"see what it takes: {_NAME} {path} --help"
        rest = words[len(path.split()) :]
        if extra and any(p.metavar in ("QUERY", "TEXT") for p in command.parameters):
            fix = f"put it in quotes: {_as_query(command, rest, end=False)}"
        elif strange and any(p.metavar == "QUERY" for p in command.parameters):
            fix = f"to look for it: {_as_query(command, rest)}; {fix}"
        return usage(command.code, message, fix)
    wanted = _path_meant(words, path)
    if wanted:
        typed = " ".join(words[: 1 + bool(path)])
        return usage("USAGE", f"there is no command {shown(typed)!r}", f"did you mean `{_NAME} {wanted}`?")
    inside = [c.path for c in _COMMANDS if not path or c.path.startswith(path + " ")]
    return usage("USAGE", message, f"use one of: {', '.join(inside)}")


def of_call(words: Sequence[str]) -> Failure | None:
    """What is wrong with a call; None where Typer is to read it: help, and options run together."""
    if any(word in ("--help", "-h", "--version") for word in words):
        return None
    path = path_of(words)
    command = _BY_PATH.get(path)
    if command is not None:
        return _of_command(command, words, words[len(path.split()) :])
    word = words[len(path.split())]
    if word.startswith("--") and len(word) > 2:
        return failure(words, f"No such option: {shown(word.partition('=')[0])}", strange=True)
    return None if word.startswith("-") else failure(words, f"No such command {shown(word)!r}.")


def _of_command(command: Command, words: Sequence[str], rest: Sequence[str]) -> Failure | None:
    loose: list[str] = []
    values: list[tuple[Parameter, str]] = []
    flags = {flag: parameter for parameter in command.parameters for flag in parameter.flags}
    waiting = iter(front.spelled_out(command, rest))
    for word in waiting:
        if word == "--":
            loose += waiting
        elif not word.startswith("-") or word == "-":
            loose.append(word)
        elif word not in flags and not word.startswith("--"):
            return None  # perhaps two options in one word
        else:
            name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
            fault = _of_flag(flags, name, bool(equals))
            if fault:
                return failure(words, fault, strange="Did you mean" not in fault and name not in flags)
            if flags[name].kind == "flag":
                continue
            given = value if equals else next(waiting, None)
            if given is None:
                return failure(words, f"Option {name!r} requires an argument.")
            if not flags[name].many:  # the last one counts
                values = [one for one in values if one[0] is not flags[name]]
            values.append((flags[name], given))
    for parameter in command.parameters:
        taken = [] if parameter.flags else loose if parameter.many else loose[:1]
        loose = loose[len(taken) :]
        if parameter.required and not taken:
            return failure(words, f"Missing argument {parameter.metavar!r}.")
        values += [(parameter, word) for word in taken]
    if loose:
        several = "s" * (len(loose) > 1)
        return failure(words, f"Got unexpected extra argument{several} ({shown(' '.join(loose))})", extra=True)
    return next(filter(None, (_of_value(command, *one) for one in values)), None)


def _of_flag(flags: Mapping[str, Parameter], name: str, has_value: bool) -> str:
    """What is wrong with an option, "" for nothing."""
    if name not in flags:
        near = get_close_matches(name, flags, 1)
        return f"No such option: {shown(name)}" + (f" Did you mean {near[0]}?" if near else "")
    return f"Option {name!r} does not take a value." if has_value and flags[name].kind == "flag" else ""


def _of_value(command: Command, parameter: Parameter, text: str) -> Failure | None:
    try:
        parameter.convert(text, command.code)
    except Failure as fault:
        return fault
    return None


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
        known.append(shown(word))
        if parameter.kind != "flag" and "=" not in word:
            known += [shown(value) for value in islice(rest, 1)]
    return shlex.join([_NAME, *command.path.split(), *known, *(["--"] if end else []), shown(" ".join(query))])


_OPTIONS = dict.fromkeys(("version", "verson", "verion", "v"), "--version") | {"help": "--help", "hlep": "--help"}
"""What is typed as a command, or mistyped, and is an option."""


def _path_meant(words: Sequence[str], group: str) -> str:
    """The command nearest to mistyped words: by its whole name, or by the last word of it."""
    meant = _OPTIONS.get(words[0].lower().strip("-")) if words and not group else None
    if meant:
        return meant
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
