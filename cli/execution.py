"""Runs one command: calls its handler, prints the answer or the failure, and returns the exit code. Hot path."""

from __future__ import annotations

import os

from cli.answer import Answer, print_answer
from cli.stdout import StdoutFullError
from core import files
from core.errors import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cli.parameter import Command

INTERRUPTED = 130
_ALONE = ("background", "otel export", "store ", "status", "doctor", "install", "uninstall", "idle run", "completion",
          "mcp")  # fmt: skip
"""Commands that start no background job when they end: they send by themselves, or only look."""


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
    """Tell of a project's files that were left out, and start the background jobs that are due."""
    try:
        from core import config
        from core.process import background_jobs

        settings = config.load()
        unknown = (*settings.unknown, *config.unknown_variables())
        if settings.dropped or unknown or files.is_store_older():
            from cli import complaints

            complaints.tell_faults(settings.dropped, unknown)
        background_jobs.start_due(settings)
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
            draw(command, answer)
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
