"""The first front end: reads the words of a call without importing an argument parser. Hot path.

It takes exactly what the declaration knows; anything else (help, an unknown flag, a wrong value) is left to Typer
(0.2 s), which explains it. A property test holds the two alike.
"""

from __future__ import annotations

from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cli.parameter import Command, Parameter


def parse(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The options that the words give, or None where they are not exactly what the command takes."""
    options = command.defaults()
    try:
        loose = _flagged(command, list(words), options)
        for parameter in command.parameters:
            if parameter.flags:
                continue
            taken = loose if parameter.many else loose[:1]
            loose = loose[len(taken) :]
            if parameter.required and not taken:
                return None
            for word in taken:
                _set(options, parameter, word, command.code)
    except (Failure, LookupError):  # Typer says it again, in its own frame
        return None
    return None if loose else options


def _flagged(command: Command, words: list[str], options: dict[str, Any]) -> list[str]:
    """Put the flags' values into the options; returns the words that are left."""
    flags = {flag: parameter for parameter in command.parameters for flag in parameter.flags}
    loose: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            return loose + words
        if not word.startswith("-") or word == "-":
            loose.append(word)
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        parameter = flags[name]
        if parameter.kind == "flag":
            if equals:
                raise LookupError
            options[parameter.name] = True
        else:
            if not equals:
                bare = parameter.kind == "truth" and (not words or words[0][:1] == "-")
                value = "true" if bare else words.pop(0)
            _set(options, parameter, value, command.code)
    return loose


def _set(options: dict[str, Any], parameter: Parameter, text: str, code: str) -> None:
    value = parameter.convert(text, code)
    if parameter.many:
        options[parameter.name].append(value)
    else:
        options[parameter.name] = value
