"""The man page `joelclaw(1)`, made from the declarations.

`make completions` writes it beside the completion scripts; the wheel puts it where `man` looks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from cli import reference
from cli.parameter import Command, Parameter
from cli.reference import GROUPS, every
from core import VERSION

FILE = "joelclaw.1"
_ABOUT = "keeps what a coding agent's context compaction throws away"
_EXITS = (("0", "done"), ("1", "failed; error.code and fix say why and what to do"), ("2", "wrong usage"))
_VARIABLES = (
    ("JOELCLAW_HOME", "where everything is kept; ~/.joelclaw where it is not set"),
    ("JOELCLAW_SESSION_ID", "the session of a command that is given none"),
    ("NO_COLOR", "no colours on a terminal"),
)


def page() -> str:
    """The page in the man macros."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield '.\\" Made from cli/*/commands.py by `make completions`: change that, not this.'
    yield f'.TH JOELCLAW 1 "" "joelclaw {VERSION}" "User Commands"'
    yield from (".SH NAME", f"joelclaw \\- {_text(_ABOUT)}")
    yield from (".SH SYNOPSIS", ".B joelclaw", "[\\-\\-json] COMMAND [ARGUMENTS]")
    yield ".SH COMMANDS"
    group = ""
    for command in every():
        here = command.path.rpartition(" ")[0]
        if here != group:
            group = here
            if group:
                yield from (f".SS {_text(group)}", _text(GROUPS[group]))
        yield from _command(command)
    for heading, entries in (("EXIT STATUS", _EXITS), ("ENVIRONMENT", _VARIABLES)):
        yield f".SH {heading}"
        for name, about in entries:
            yield from (".TP", f".B {_text(name)}", _text(about))


def _command(command: Command) -> Iterator[str]:
    yield from (".TP", f".B {_text(reference.usage_line(command))}", _text(command.help))
    if command.parameters:
        yield ".RS"
        for parameter in command.parameters:
            yield from (".TP", _spelled(parameter), _text(reference.explained(parameter)))
        yield ".RE"


def _spelled(parameter: Parameter) -> str:
    if not parameter.flags:
        return f".I {_text(parameter.metavar)}"
    value = "" if parameter.kind == "flag" else f" {reference.placeholder(parameter)}"
    return f".B {_text(', '.join(parameter.flags) + value)}"


def _text(text: str) -> str:
    """A line of text in which nothing is a request or an escape of roff."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as handle:
        handle.write(page())
