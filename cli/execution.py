"""Runs one command: calls its handler, prints the answer or the failure, and returns the exit code."""

from __future__ import annotations

import os

from cli import commands
from cli.answer import Answer, StdoutFullError, print_answer, print_envelope, runnable, step, tell
from core import envelope as envelopes
from core import files
from core.errors import FAILED, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cli.parameter import Command
    from core.envelope import NextAction

INTERRUPTED = 130
_ALONE = ("hook", "otel export", "store ", "status", "doctor", "install", "uninstall", "idle run", "completion", "mcp")
"""Commands that start no background job when they end: they send by themselves, start them before, or only look."""


def stdout_is_terminal() -> bool:
    """Whether stdout is a terminal, where a person reads it."""
    try:
        return os.isatty(1)
    except OSError:
        return False


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
        code = unprinted(command.path, error)
    corrected = files.take_corrected()
    if corrected:
        _tell_corrected(corrected, quiet=command.path == "hook")
    if code == 0 and not command.path.startswith(_ALONE):
        start_due()
    return code


def start_due() -> None:
    """Tell of a project's files that were left out, and start the background jobs that are due."""
    try:
        from core import config
        from core.process import background_jobs

        settings = config.load()
        unknown = (*settings.unknown, *config.unknown_variables())
        if settings.dropped or unknown:
            _tell_faults(settings.dropped, unknown)
        if files.is_store_older():
            _tell_older()
        background_jobs.start_due(settings)
    except Exception:  # the command is done, and what waits goes with the next one
        if os.environ.get("JOELCLAW_DEBUG"):
            raise


def _tell_faults(dropped: tuple[tuple[str, str], ...], unknown: tuple[tuple[str, str], ...]) -> None:
    """What is wrong with settings and a project's files, once: on stderr and as events."""
    from core import clock
    from core.output.shown import shown
    from otel import spool
    from session import settings_faults

    made = settings_faults.events(dropped, unknown, clock.now_ms())
    if made and spool.keep(made):
        tell(shown("".join(f"joelclaw: {settings_faults.line(event)}\n" for event in made)))


def _tell_older() -> None:
    """Say once that the store lacks what was acknowledged."""
    from core import clock
    from session import faults

    told = faults.tell_older(clock.now_ms())
    if told:
        tell(f"joelclaw: {runnable(told)}\n")


def _tell_corrected(paths: list[str], *, quiet: bool) -> None:
    """Say, once, that others could use files of the home: as an event, and to who runs a command by hand."""
    from core import clock
    from otel import spool
    from otel.event import new_event

    number = len(paths)
    about = {"count": number, "first": paths[:5]}
    now = clock.now_ms()
    told = new_event("home.modes.corrected", source="joelclaw", component="home", level="warn", metadata=about, now=now)
    spool.keep([told])
    if not quiet:
        tell(f"joelclaw: others could use {number} files or folders in {files.home()}; now only you can\n")


def _run(command: Command, options: dict[str, Any], *, as_json: bool) -> int:
    name = f"joelclaw {command.path}"
    try:
        answer: Answer | int | None = load(command.run)(options)
    except Failure as failure:
        return report(name, failure, as_json=as_json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except StdoutFullError:
        raise
    except Exception as error:
        if os.environ.get("JOELCLAW_DEBUG"):
            raise
        return report(name, unknown(error), as_json=as_json)
    if answer is None:
        return 0
    if isinstance(answer, int):
        return answer
    if as_json or answer.text is not None or not command.view:
        print_answer(name, answer)
    else:
        draw(command, answer)
    return answer.exit_code


def draw(command: Command, answer: Answer) -> None:
    """Show a result on a terminal: by the command's view, or as JSON where that fails."""
    try:
        load(command.view)(answer)
    except KeyboardInterrupt:
        return
    except Exception:
        if os.environ.get("JOELCLAW_DEBUG"):
            raise
        print_answer(f"joelclaw {command.path}", answer)


def unprinted(path: str, error: StdoutFullError) -> int:
    """Say that stdout took not all of it; returns the exit code. What the command was to do, it has done."""
    tell(f"joelclaw{' ' * bool(path)}{path}: stdout takes no more: {error}; what was printed is not all\n")
    return FAILED


def unknown(error: Exception) -> Failure:
    """An unexpected exception as a failure: of the database, or a fault of ours."""
    if type(error).__module__ == "apsw":
        from core.store import sqlite

        if isinstance(error, sqlite.StoreError):
            return sqlite.as_failure(error)
    return Failure(
        "UNKNOWN_ERROR",
        f"{type(error).__name__}: {error}",
        "run it again with JOELCLAW_DEBUG=1 and report what it prints",
        FAILED,
    )


def report(name: str, failure: Failure, *, as_json: bool) -> int:
    """Print a failure, as JSON on stdout or for a person on stderr; returns its exit code."""
    if as_json:
        path = name.removeprefix("joelclaw ")
        help_for = name if commands.named(path) or path in commands.GROUPS else "joelclaw"
        action: NextAction = step(f"{help_for} --help", "what this command takes")
        print_envelope(envelopes.failed(name, failure, [action]))
    else:
        from core.output.shown import shown

        tell(shown(f"{name}: {failure.message}\n  {runnable(failure.fix)}\n"))
    return failure.exit_code
