"""The first front end: reads the words of a call without importing an argument parser.

`argparse` imports `re` and `gettext`: with it a command starts at twice the time of bare Python, without it at 1.4;
Typer takes 0.2 s. It takes exactly what the declaration knows; anything else (help, an unknown flag, a wrong value) is
left to Typer, which explains it. A property test holds the two alike.
"""

from __future__ import annotations

from cli import commands
from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cli.parameter import Command, Parameter


def find(words: Sequence[str]) -> tuple[Command, Sequence[str]] | None:
    """The command that the first words name, and the words after its name."""
    for length in (1, 2):
        command = commands.named(" ".join(words[:length])) if len(words) >= length else None
        if command is not None:
            return command, words[length:]
    return None


def parse(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The options that the words give, or None where they are not exactly what the command takes."""
    options = command.defaults()
    loose = _flagged(command, words, options)
    if loose is None:
        return None
    for parameter in command.parameters:
        if parameter.flags:
            continue
        taken = loose if parameter.many else loose[:1]
        loose = loose[len(taken) :]
        if parameter.required and not taken:
            return None
        for word in taken:
            if not _set(options, parameter, word, command.code):
                return None
    return None if loose else options


def spelled_out(command: Command, words: Sequence[str]) -> list[str]:
    """The words with the `true` that a bare `--success` means; Typer wants a value."""
    flags = {flag: parameter for parameter in command.parameters for flag in parameter.flags}
    spelt: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        spelt.append(word)
        parameter = flags.get(word)
        if word == "--":
            break
        if parameter is None or parameter.kind == "flag":
            continue
        if parameter.kind == "truth" and (at == len(words) or words[at][:1] == "-"):
            spelt.append("true")
        elif at < len(words):
            spelt.append(words[at])
            at += 1
    return [*spelt, *words[at:]]


def _flagged(command: Command, words: Sequence[str], options: dict[str, Any]) -> list[str] | None:
    """Put the flags' values into the options; returns the words that are left, or None."""
    flags = {flag: parameter for parameter in command.parameters for flag in parameter.flags}
    loose: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            loose.extend(words[at:])
            break
        if not word.startswith("-") or word == "-":
            loose.append(word)
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        parameter = flags.get(name)
        if parameter is None or (equals and parameter.kind == "flag"):
            return None
        if parameter.kind == "flag":
            options[parameter.name] = True
            continue
        if not equals and parameter.kind == "truth" and (at == len(words) or words[at][:1] == "-"):
            value = "true"
        elif not equals:
            if at == len(words):
                return None
            value = words[at]
            at += 1
        if not _set(options, parameter, value, command.code):
            return None
    return loose


def _set(options: dict[str, Any], parameter: Parameter, text: str, code: str) -> bool:
    try:
        value = parameter.convert(text, code)
    except Failure:
        return False  # Typer says it again, in its own frame
    if parameter.many:
        options[parameter.name].append(value)
    else:
        options[parameter.name] = value
    return True
