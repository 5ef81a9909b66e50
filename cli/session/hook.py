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
    """Answer one event. Whatever goes wrong, the agent gets a valid answer, and the fault becomes an event."""
    began = time.perf_counter()
    try:
        from cli import piped
        from session.hook import Hook
    except Exception:  # the installation is being replaced while we run
        return 0
    hook = Hook(options["agent"] or "", options["event"] or "", began)
    is_printed = False
    try:
        if os.environ.get("JOELCLAW_IN_MODEL"):  # the model that we ask ourselves runs hooks too: they record nothing
            piped.read_object(_STDIN_BYTES)  # a client may not bear a broken pipe
            _print(hook.empty())
            return 0
        hook.watch()
        text = hook.answer(piped.read_object(_STDIN_BYTES))
        is_printed = True
        _print(text)
        hook.close()
    except BaseException as error:
        try:
            hook.failed(error)  # before the answer: if this hangs, the deadline prints the answer
        except BaseException:  # the disk is gone: there is no place for an event
            pass
        try:
            if not is_printed and hook.claim():
                _print(hook.empty())
        except BaseException:  # stdout is gone
            pass
    return 0


def _print(text: str) -> None:
    if text:
        write_out(text + "\n")
