"""What a command returns, and how it is printed: as text, in a rich view, or in the JSON envelope of the mirrored CLI.

The envelope is `{ok, command, result, error?, fix?, next_actions}`. Views are loaded on a terminal only. Hot path.
"""

from __future__ import annotations

import os
import sys

from core import TYPE_CHECKING, json_text
from core.errors import Failure, either, usage, wrong_value

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, NotRequired, TypedDict

    class NextAction(TypedDict):
        """A command that makes sense next. With `params`, it is a template to fill in."""

        command: str
        description: str
        params: NotRequired[dict[str, dict[str, Any]]]


class StdoutFullError(Exception):
    """Stdout cannot be written, because the disk behind it is full, for example. The text is the system's reason."""


class FramedText(str):
    """Text that `core.quoting.enclose` has already made safe to print."""

    __slots__ = ()


class Answer:
    """What a command returns.

    `result` is the result in the envelope. `text` is printed instead of it (`--raw`). On a terminal, `view` draws the
    result (`module:function`, which is loaded only there), after `message`, and the next actions follow.
    """

    def __init__(
        self, result: Any, next_actions: list[NextAction] | None = None, text: str | None = None, *,
        view: str = "cli.terminal:values", message: str = "", exit_code: int = 0
    ) -> None:  # fmt: skip
        self.result = result
        self.next_actions = next_actions or []
        self.text = text
        self.view = view
        self.message = message
        self.exit_code = exit_code


def step(command: str, description: str) -> NextAction:
    """A command that makes sense next."""
    return {"command": command, "description": description}


def template(command: str, description: str, about: str, value: object = None) -> NextAction:
    """A command that makes sense next, with a `<name>` to fill in: what that is and, if it is known, its value."""
    name = command.partition("<")[2].partition(">")[0]
    known = {} if value is None else {"value": value}
    return {**step(command, description), "params": {name: {"description": about, **known, "required": True}}}


def quoted(word: str) -> str:
    """A word as a shell takes it."""
    if word.replace("-", "").replace("_", "").replace(".", "").isalnum() and word.isascii() and word[0] != "-":
        return word
    return "'" + word.replace("'", "'\\''") + "'"


# The envelope


def envelope(
    command: str, result: object, next_actions: list[NextAction], failure: Failure | None = None
) -> dict[str, Any]:
    """The JSON object that a command prints. The commands in its fix and next actions can be run from any folder."""
    about: dict[str, Any] = {"ok": failure is None, "command": command, "result": result}
    if failure is not None:
        about["error"] = {"message": failure.message or failure.code, "code": failure.code}
        about["fix"] = runnable(failure.fix)
    about["next_actions"] = [{**action, "command": runnable(action["command"])} for action in next_actions]
    return about


def print_answer(command: str, answer: Answer) -> None:
    """Print the raw text or the envelope. Nothing in it can control a terminal or imitate markup."""
    text = answer.text
    if text is None:
        about = envelope(command, answer.result, answer.next_actions)
        write_json(json_text.pretty(about | {"ok": not answer.exit_code}))
    elif text:
        if not isinstance(text, FramedText):
            from core.quoting import shown

            text = shown(text)
        write_out(text + "\n")


def report(path: str, error: Exception, *, as_json: bool, helped: str | None = None) -> int:
    """Print a failure of a command, as JSON on stdout or for a person on stderr; returns its exit code.

    `helped` is the command or group whose help makes sense next, if it is not the command itself.
    """
    failure = error if isinstance(error, Failure) else unexpected(error)
    name = f"joelclaw {path}"
    if as_json:
        words = filter(None, ("joelclaw", path if helped is None else helped, "--help"))
        write_json(json_text.pretty(envelope(name, None, [step(" ".join(words), "what it takes")], failure)))
    else:
        from core.quoting import shown

        tell(shown(f"{name}: {failure.message}\n  {runnable(failure.fix)}\n"))
    return failure.exit_code


def unexpected(error: Exception) -> Failure:
    """Turn any exception into a Failure: an error of the database, or a bug."""
    if type(error).__module__ == "apsw":
        from core.store import sqlite

        if isinstance(error, sqlite.StoreError):
            return sqlite.as_failure(error)
    about = f"{type(error).__name__}: {error}"
    return Failure("UNKNOWN_ERROR", about, "run it again with JOELCLAW_DEBUG=1 and report what it prints")


def runnable(text: str) -> str:
    """The text, with our commands in it written so that a shell can run them from any folder."""
    program = "joelclaw "
    if program not in text:
        return text
    from session import own_command

    word = own_command.word()
    if word == own_command.NAME:
        return text
    from cli.hot_table import WORDS

    before, *parts = text.split(program)
    for part in parts:
        first = part.split(None, 1)[0].rstrip("`.,;:)?") if part.strip() else ""
        is_command = (not before or before[-1] in " `(") and (first in WORDS or first.startswith("--"))
        before += f"{word} {part}" if is_command else program + part
    return before


# Writing to stdout and stderr


def write_json(text: str) -> bool:
    """Print JSON text with escapes for anything that controls a terminal or imitates markup; returns as `write_out`."""
    # The placeholders of our own next actions are the only "<" in most answers.
    if not (text.isascii() and "\x7f" not in text and "<" not in text.replace("<id>", "").replace("<query>", "")):
        from core.quoting import escaped

        text = escaped(text)
    return write_out(text + "\n")


def write_out(text: str) -> bool:
    """Write text to stdout as UTF-8, in any locale. Returns False if the reader has gone away, which is no error."""
    return write_bytes(text.encode("utf-8", "replace"))


def write_bytes(data: bytes | bytearray) -> bool:
    """Write bytes to stdout. Returns False if the reader has gone away. Raises StdoutFullError."""
    try:
        with memoryview(data) as view:
            done = 0
            while done < len(view):
                done += os.write(1, view[done:])
    except BrokenPipeError:
        return False
    except OSError as error:
        raise StdoutFullError(error.strerror or type(error).__name__) from None
    return True


def write_verbatim(text: str) -> int:
    """Write stored text to stdout unchanged; returns the exit code. The parser refuses `--verbatim` on a terminal."""
    write_out(text)
    return 0


def tell(text: str) -> None:
    """Write text for a person to stderr, if stderr can be written."""
    try:
        sys.stderr.write(text)
    except OSError:
        pass


def is_terminal() -> bool:
    """Whether stdout is a terminal."""
    return os.isatty(1)


def is_for_person() -> bool:
    """Whether a person reads stdout: it is a terminal, and `--json` was not given."""
    return is_terminal() and "--json" not in sys.argv


def wrong_usage(message: str, fix: str) -> Failure:
    """A Failure caused by the words of a call (exit 2). It gets the error code of the command that is called."""
    return usage("USAGE", message, fix)


def require_known(name: str, given: str, known: Collection[str], code: str = "USAGE") -> None:
    """Raise a Failure unless the value given for `name`, an option or argument, is one of `known`."""
    if given not in known:
        raise wrong_value(name, given, either(known), code)
