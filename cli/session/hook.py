"""`joelclaw hook AGENT [EVENT]`: an agent's event on stdin, what that agent accepts on stdout, and always exit 0."""

from __future__ import annotations

import os
import time

from cli.stdout import write_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STDIN_BYTES = 32_000_000
"""A tool's event may hold the whole file that it wrote."""


def run(options: dict[str, Any]) -> int:
    """Answer one event. Whatever goes wrong, the agent gets a valid answer and the fault becomes an event."""
    began = time.perf_counter()
    agent, name = options["agent"] or "", options["event"] or ""
    try:
        from cli import piped
        from session.hook import call
    except Exception:  # an installation that is being replaced under our feet
        return 0
    given = call.Call(agent, name, began)
    try:
        if os.environ.get("JOELCLAW_IN_MODEL"):  # an event of the model that we ask ourselves: it is read, a client may
            piped.read_object(_STDIN_BYTES)  # not bear a pipe that breaks, and nothing is noted
            _print(given, given.empty())
            return 0
        given.watch()
        text = given.answer(piped.read_object(_STDIN_BYTES))
        given.tell()
        _print(given, text)
        given.close()
    except BaseException as error:
        try:
            given.failed(error)  # before the answer, too: where it hangs, the deadline prints that
        except BaseException:  # the disk is gone: there is nobody left to tell
            pass
        try:
            _print(given, given.empty())
        except BaseException:  # as above, of stdout
            pass
    return 0


def _print(given: Any, text: str) -> None:
    if given.claim() and text:
        write_out(text + "\n")
