"""Calls that name no command to run, answered without Typer: the versions, an overview, help and mistakes in a pipe.

A person at a terminal gets Typer's help and complaints; a program gets the same texts without the 200 ms of its import.
"""

from __future__ import annotations

from cli import execution
from cli.commands import GROUPS
from cli.unread_calls import outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.envelope import NextAction

_NAME = "joelclaw"
_HELP = ("--help", "-h")


def answer(words: list[str], *, as_json: bool) -> int | None:
    """Answer the words and return the exit code; None leaves them to Typer."""
    from cli.answer import StdoutFullError

    try:
        return _answer(words, as_json=as_json)
    except StdoutFullError as error:
        return execution.unprinted("", error)


def _answer(words: list[str], *, as_json: bool) -> int | None:
    from cli.answer import write_out

    if words == ["--version"]:
        write_out(versions())
        return 0
    refused = outside.failure(words)
    if refused is not None:
        return execution.report(f"{_NAME} {outside.name_of(words)}", refused, as_json=as_json)
    if not words or " ".join(words) in GROUPS:
        if as_json:
            _print_overview(" ".join(words))
            return 0
        return None
    if words[-1] in _HELP and not execution.stdout_is_terminal():
        from cli.unread_calls import plain_help

        text = plain_help.text(" ".join(words[:-1]))
        if text:
            write_out(text)
            return 0
    if not as_json:
        return None
    from cli.unread_calls import misuse

    fault = misuse.of_call(words)
    return None if fault is None else execution.report(misuse.named(words), fault, as_json=True)


def versions() -> str:
    """The line that `--version` prints."""
    import sys

    from core import VERSION
    from core.store.sqlite import apsw

    python = ".".join(map(str, sys.version_info[:3]))
    return f"{_NAME} {VERSION} (python {python}, sqlite {apsw.sqlite_lib_version()})\n"


def _print_overview(group: str) -> None:
    """All commands, or those of a group, as an envelope."""
    from cli import reference
    from cli.answer import print_envelope
    from core import envelope

    inside = reference.children(group)
    actions: list[NextAction] = [
        {"command": f"{_NAME} {path} --help", "description": about}
        for path, about in (inside if group else [*GROUPS.items(), *((p, a) for p, a in inside if p not in GROUPS)])
    ]
    result: dict[str, Any] = reference.overview(group) if group else reference.tree()
    if group == "vault":
        import os

        result["vault_root"] = os.path.expanduser(os.environ.get("VAULT_PATH", "").strip() or "~/Vault")
    print_envelope(envelope.done(f"{_NAME} {group}" if group else f"{_NAME} --help", result, actions))
