"""What a handler returns, and how it is printed."""

from __future__ import annotations

import os
import sys

from core import envelope as envelopes
from core import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.envelope import Envelope, NextAction


class Answer:
    """The result of a command.

    Args:
        result: the envelope's `result`, JSON values only.
        text: with `--raw`, what is printed instead of the envelope.
        next_actions: commands that make sense now.
    """

    __slots__ = ("next_actions", "result", "text")

    def __init__(self, result: object, next_actions: list[NextAction] | None = None, text: str | None = None) -> None:
        self.result = result
        self.next_actions = next_actions or []
        self.text = text


def step(command: str, description: str, params: dict[str, dict[str, Any]] | None = None) -> NextAction:
    """A command that makes sense now; with `params` it is a template to fill in."""
    action: NextAction = {"command": command, "description": description}
    return {**action, "params": params} if params else action


def quoted(word: str) -> str:
    """A word as a shell takes it."""
    if word.replace("-", "").replace("_", "").replace(".", "").isalnum() and word.isascii() and word[0] != "-":
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def write_out(text: str) -> None:
    """Text to stdout as UTF-8, whatever the locale; a reader that went away is no error."""
    data = text.encode("utf-8", "replace")
    if sys.stdout is None:  # it was closed when we began, and descriptor 1 may be any file's by now
        return
    try:
        sys.stdout.flush()
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]
    except BrokenPipeError:
        # Python would complain once more when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def print_answer(command: str, answer: Answer) -> None:
    """The answer on stdout: raw text, or the envelope."""
    if answer.text is not None:
        if answer.text:
            write_out(answer.text + "\n")
        return
    print_envelope(envelopes.done(command, answer.result, answer.next_actions))


def print_envelope(envelope: Envelope) -> None:
    """One indented JSON object and a newline."""
    write_out(json_text.pretty(envelope) + "\n")
