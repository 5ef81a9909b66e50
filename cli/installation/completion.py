"""Shell completion: what may follow the words of a command line, and the scripts of three shells that ask for it."""

from __future__ import annotations

import os

from cli import commands
from cli.answer import Answer
from core import TYPE_CHECKING
from core.errors import Failure, usage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cli.parameter import Parameter

_SCRIPTS = {"bash": "joelclaw.bash", "zsh": "_joelclaw", "fish": "joelclaw.fish"}
_FILES = "@files"
"""Instead of offers: the shell's own, for a path."""
_FLAGS = {"--json": "one JSON object on stdout", "--help": "what this command takes", "-h": "likewise"}
_VERSION = {"--version": "versions of joelclaw, Python and SQLite"}
_KINDS = {"session": "sessions", "project": "projects", "tag": "tags", "ids": "memories", "id": "memories"}
"""Parameters for which the store has values, and of which kind."""
_MOST = 100


def run(options: dict[str, Any]) -> Answer:
    """The script as text, so that a shell can source it; with `--offer` an offer a line, a tab and what it means."""
    if options["offer"]:
        *before, word = options["offer"]
        word = "" if word == "=" else word  # bash hands over `--budget=lean` in three words
        offers = _offers(before, word)
        rows = [f"{one}\t{about}".rstrip() for one, about in offers.items() if one.startswith((word, _FILES))]
        return Answer(None, text="\n".join(rows))
    shell = options["shell"] or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in _SCRIPTS:
        named = f"$SHELL is {shell}, for which there is no script" if shell else "$SHELL names no shell"
        raise usage("COMPLETION_INVALID_ARGS", named, "name one: joelclaw completion bash (or zsh, or fish)")
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    with open(os.path.join(root, "completions", _SCRIPTS[shell]), encoding="utf-8") as file:
        return Answer(None, text=file.read().rstrip("\n"))


def _offers(before: list[str], word: str) -> dict[str, str]:
    """What may follow words and begin like this one, and what each means."""
    plain = [one for one in before if one[:1] != "-"]
    command = commands.called(commands.real(plain))
    if command is None:
        return _names(plain, word)
    flags = {flag: one for one in command.parameters for flag in one.flags}
    name, equals, _ = word.partition("=")
    asked = name if equals else [one for one in before if one != "="][-1]
    if (parameter := flags.get(asked)) is not None and parameter.kind != "flag":
        return {f"{name}={one}" if equals else one: "" for one in _values(command.path, parameter)}
    if word[:1] == "-":
        return {**{flag: one.help for flag, one in flags.items()}, **_FLAGS}
    loose = next((one for one in command.parameters if not one.flags), None)
    return dict.fromkeys(_values(command.path, loose), "") if loose is not None else {}


def _names(before: Sequence[str], word: str) -> dict[str, str]:
    """The commands of the group that is named, or all that stand alone and the groups."""
    from cli.reference import GROUPS, every

    group = " ".join(before)
    if group and group not in GROUPS:
        return {}
    if word[:1] == "-":
        return _FLAGS if group else {**_FLAGS, **_VERSION}
    inside = {one.path.rpartition(" ")[2]: one.help for one in every() if one.path.rpartition(" ")[0] == group}
    return inside if group else {**inside, **GROUPS}


def _values(path: str, parameter: Parameter) -> Sequence[str]:
    """The values that a parameter may have, or those that the store has for it."""
    if parameter.kind == "truth":
        return ("true", "false")
    if parameter.choices:
        return parameter.choices
    kind = "" if path.startswith("otel emit") else _KINDS.get(parameter.name, "")
    if parameter.name == "id" and path.startswith(("session ", "checkpoint ")):
        kind = "sessions"
    if kind:
        return _kept(kind)
    return (_FILES,) if parameter.file else ()


def _kept(kind: str) -> list[str]:
    """What the store has of a kind. A shell expands what it is offered, so words of other signs are left out."""
    import re

    from core import ids
    from core.store import overview, sqlite

    try:
        db = sqlite.open_reading()
        found = overview.newest(db, kind, _MOST) if db is not None else []
    except (Failure, sqlite.StoreError):
        found = []
    shown = map(ids.shown, found) if kind == "sessions" else found
    return [one for one in shown if re.fullmatch(r"[\w./:@+,=-]+", one)]
