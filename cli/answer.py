"""What a handler returns, and how it is printed: as text, or in the JSON envelope of the mirrored CLI.

That is `{ok, command, result, error?, fix?, next_actions}`.
"""

from __future__ import annotations

import sys

from cli.stdout import is_terminal, write_out
from core import TYPE_CHECKING, json_text
from core.errors import Failure, usage

if TYPE_CHECKING:
    from typing import Any, NotRequired, TypedDict

    class NextAction(TypedDict):
        """A command that makes sense next. With `params`, it is a template to fill in."""

        command: str
        description: str
        params: NotRequired[dict[str, dict[str, Any]]]

    class Envelope(TypedDict):
        """What a command prints."""

        ok: bool
        command: str
        result: Any
        error: NotRequired[dict[str, str]]
        fix: NotRequired[str]
        next_actions: list[NextAction]


_NAME = "joelclaw "


class Answer:
    """The envelope's `result`, or with `--raw` the `text`; `framed`: by `core.quoting.enclose`."""

    __slots__ = ("exit_code", "framed", "next_actions", "result", "said", "text")

    def __init__(
        self, result: object, next_actions: list[NextAction] | None = None, text: str | None = None, *,
        framed: bool = False, exit_code: int = 0, said: str = "",
    ) -> None:  # fmt: skip
        self.result, self.next_actions, self.text = result, next_actions or [], text
        self.framed, self.exit_code, self.said = framed, exit_code, said


def done(command: str, result: object, next_actions: list[NextAction] | None = None) -> Envelope:
    """The envelope of a command that succeeded. `command` begins with `joelclaw `."""
    return {"ok": True, "command": command, "result": result, "next_actions": next_actions or []}


def failed(command: str, failure: Failure, next_actions: list[NextAction]) -> Envelope:
    """The envelope of a command that failed."""
    return {
        "ok": False,
        "command": command,
        "result": None,
        "error": {"message": failure.message or failure.code, "code": failure.code},
        "fix": failure.fix,
        "next_actions": next_actions,
    }


def step(command: str, description: str, params: dict[str, dict[str, Any]] | None = None) -> NextAction:
    """A command that makes sense now; with `params` it is a template to fill in."""
    action: NextAction = {"command": command, "description": description}
    return {**action, "params": params} if params else action


def quoted(word: str) -> str:
    """A word as a shell takes it."""
    if word.replace("-", "").replace("_", "").replace(".", "").isalnum() and word.isascii() and word[0] != "-":
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def print_answer(command: str, answer: Answer) -> None:
    """The answer on stdout: raw text, or the envelope; nothing in it acts on a terminal or passes for markup."""
    if answer.text is None:
        print_envelope(done(command, answer.result, answer.next_actions))
    elif answer.text:
        text = answer.text
        if not answer.framed:
            from core.output import shown

            text = shown(text)
        write_out(text + "\n")


def print_envelope(envelope: Envelope) -> None:
    """One indented JSON object and a newline; the commands in its fix and next actions run as they stand."""
    printed: Envelope = {**envelope}
    if "fix" in envelope:
        printed["fix"] = runnable(envelope["fix"])
    actions = envelope["next_actions"]
    printed["next_actions"] = [{**action, "command": runnable(action["command"])} for action in actions]
    write_json(json_text.pretty(printed))


def runnable(text: str) -> str:
    """The text with our commands in it as a shell runs them from any folder (`session.own_command`)."""
    if _NAME not in text:
        return text
    from session import own_command

    word = own_command.word()
    if word == own_command.NAME:
        return text
    from cli import commands

    before, *behind = text.split(_NAME)
    for part in behind:
        is_command = (not before or before[-1] in " `(") and commands.begins_one(part)
        before += f"{word} {part}" if is_command else _NAME + part
    return before


def write_json(text: str) -> bool:
    """JSON text and a newline, with escapes for what acts on a terminal or passes for markup; as `write_out`."""
    # Most answers hold nothing to escape but the places that our own next actions leave.
    if not (text.isascii() and "\x7f" not in text and "<" not in text.replace("<id>", "").replace("<query>", "")):
        from core.output import escaped

        text = escaped(text)
    return write_out(text + "\n")


def write_verbatim(text: str) -> int:
    """Text as it is stored to stdout; returns the exit code. Ask `refuse_terminal` first."""
    write_out(text)
    return 0


def is_for_person() -> bool:
    """Whether a person reads stdout: a terminal, and no JSON was asked for."""
    return is_terminal() and "--json" not in sys.argv


def refuse_terminal(code: str) -> None:
    """`--verbatim` is for programs: what is stored may hold anything, and a terminal would act on it."""
    if is_terminal():
        raise usage(code, "--verbatim prints stored text unchanged, and stdout is a terminal",
                    "write to a file or a pipe, or leave out --verbatim")  # fmt: skip
