"""Reads the words of a call without an argument parser, runs the command, and prints its answer. Hot path."""

from __future__ import annotations

import os

from cli.answer import Answer, print_answer
from cli.stdout import StdoutFullError
from core import TYPE_CHECKING, files
from core.errors import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from cli.parameter import Command, Parameter

INTERRUPTED = 130
_ALONE = ("background", "otel export", "store ", "status", "doctor", "install", "uninstall", "idle run", "completion",
          "mcp")  # fmt: skip
"""Commands that start no background job when they end: they send by themselves, or only look."""


def parse(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The options that the words give, or None where they are not exactly what the command takes."""
    options = command.defaults()
    try:
        loose = _flagged(command, list(words), options)
        for parameter in command.parameters:
            if parameter.flags:
                continue
            taken = loose if parameter.many or parameter.is_query else loose[:1]
            loose = loose[len(taken) :]
            if parameter.is_query and taken:
                taken = [" ".join(taken)]
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
        if is_text(command, word, loose):
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


def is_text(command: Command, word: str, before: Sequence[str]) -> bool:
    """Whether a word is text, with such words `before` it: one with a dash is where it has a blank as no flag has in
    its name (a bullet), or where it belongs to a command that is asked for and not quoted (`how git add -p`)."""
    is_long = word[:2] == "--" and word[:3] != "---"
    if not word.startswith("-") or word == "-" or (not is_long and len(word.split(None, 1)) > 1):
        return True
    asked = len(" ".join(before[:1]).split()) == 1 and any(one.takes_flags for one in command.parameters)
    own = {flag for one in command.parameters for flag in one.flags if asked and flag[:2] == "--"}
    return asked and word.partition("=")[0] not in own | {"--help", "-h"}


def _set(options: dict[str, Any], parameter: Parameter, text: str, code: str) -> None:
    value = parameter.convert(text, code)
    options[parameter.name] = [*options[parameter.name], value] if parameter.many else value


def load(target: str) -> Callable[..., Any]:
    """The function that `module:function` names."""
    module, _, function = target.partition(":")
    found: Callable[..., Any] = getattr(__import__(module, fromlist=[function]), function)
    return found


def run(command: Command, options: dict[str, Any], *, as_json: bool) -> int:
    """Run one command, print its answer, and start the background jobs that are due; returns the exit code."""
    try:
        code = _run(command, options, as_json=as_json)
    except StdoutFullError as error:
        from cli import complaints

        code = complaints.unprinted(command.path, error)
    corrected = files.take_corrected()
    if corrected:
        from cli import complaints

        complaints.tell_corrected(corrected, quiet=False)
    if code == 0 and not command.path.startswith(_ALONE):
        start_due()
    return code


def start_due() -> None:
    """Report unknown settings, and start the background jobs that are due."""
    try:
        from core import config
        from core.process import background

        settings = config.load()
        unknown = (*settings.unknown, *config.unknown_variables())
        if unknown:
            from cli import complaints

            complaints.tell_faults(unknown)
        background.start_due(settings)
    except Exception:  # the command is done, and what waits goes with the next one
        if os.environ.get("JOELCLAW_DEBUG"):
            raise


def _run(command: Command, options: dict[str, Any], *, as_json: bool) -> int:
    name = f"joelclaw {command.path}"
    try:
        answer: Answer | int | None = load(command.run)(options)
        if not isinstance(answer, Answer):
            return answer or 0
        if as_json or answer.text is not None or not command.view:
            print_answer(name, answer)
        else:
            try:
                load(command.view)(answer)
            except Exception:  # an answer that cannot be drawn is told all the same
                if os.environ.get("JOELCLAW_DEBUG"):
                    raise
                print_answer(name, answer)
    except KeyboardInterrupt:
        return INTERRUPTED
    except StdoutFullError:
        raise
    except Exception as error:
        if os.environ.get("JOELCLAW_DEBUG") and not isinstance(error, Failure):
            raise
        from cli import complaints

        return complaints.report(name, error, as_json=as_json)
    return answer.exit_code
