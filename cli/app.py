"""Runs the commands that are declared with Typer. Typer prints the help, and explains wrong usage."""

import io
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from typing import Any

import typer
from typer.main import get_command

from cli import declarations, errors, hot, parser
from cli.commands import MODULES
from cli.output import Answer, is_terminal, print_answer, write_out
from core.errors import Failure

# Typer brings its own copy of click in some versions and depends on it in others; its base class is public in both.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def run_app(words: list[str], *, as_json: bool) -> int:
    """Run the command that the words call; returns the exit code (0 done, 1 failed, 2 wrong usage)."""
    if not words or (len(words) == 1 and declarations.group_help(words[0])):
        if as_json:
            from cli import reference

            reference.print_overview(*words)
            return 0
        words = [*words, "--help"]
    command = declarations.called(words)
    if command is None or {"--help", "-h"} & {*words}:
        return _explain(words, as_json=as_json)

    def call() -> Answer | int | None:
        options = parser.parse(command, words[len(command.path.split()) :])
        return run_with_typer(words) if options is None else command.call(options)

    return hot.run(command.path, call, as_json=as_json)


def _explain(words: list[str], *, as_json: bool) -> int:
    """Print the help that is asked for, or why the words call no command."""
    name = f"joelclaw {errors.called_name(words)}"
    try:
        answer = run_with_typer(words)
    except Exception as error:
        if os.environ.get("JOELCLAW_DEBUG") and not isinstance(error, Failure):
            raise
        return errors.report(name, error, as_json=as_json)
    if isinstance(answer, Answer):  # the word was a value: `recall x --session --help`
        print_answer(name, answer)
    return 0


def run_with_typer(words: Sequence[str]) -> Answer | int | None:
    """Let Typer read the words and call the command. Raises a Failure that says how to fix wrong usage."""
    terminal = is_terminal()
    printed = io.StringIO()  # Typer does not handle a reader of stdout that goes away
    root = typer_app(words[0] if words else "", rich=terminal)
    try:
        with nullcontext() if terminal else redirect_stdout(printed):
            answer: Answer | int | None = root.main(args=list(words), prog_name="joelclaw", standalone_mode=False)
    except _UsageError as error:
        describe: Callable[[], str] = getattr(error, "format_message", error.__str__)
        raise errors.wrong_usage(words, " ".join(describe().split())) from None
    write_out(printed.getvalue())
    return answer


def typer_app(word: str, *, rich: bool = False) -> Any:
    """Typer's command for the modules that a first word needs: importing all of them takes ten times as long."""
    settings: dict[str, Any] = {"help_option_names": ["--help", "-h"]}
    root = typer.Typer(
        help=declarations.ABOUT,
        add_completion=False,
        context_settings=settings,
        rich_markup_mode="rich" if rich else None,
    )
    needed = [word] if word in MODULES else MODULES
    for app in {id(app): app for app in map(declarations.module_of, needed)}.values():
        root.add_typer(app)
    return get_command(root)
