"""Describes the declared commands: for the help, and as JSON for agents."""

import os
import re
import sys
from typing import Any

from cli.answer import Answer, print_answer, step
from cli.commands import FOLDERS, declared, named
from cli.parameter import Command, Parameter
from core import VERSION
from core.store.sqlite import apsw

ABOUT = "Lets a coding agent keep what a context compaction throws away."
GROUPS = {
    "sessions": "Search and read archived sessions.",
    "memory": "Write, find, move and forget memories.",
    "knowledge": "Sync and search folders of markdown.",
    "vault": "Read and search the notes of one folder.",
    "otel": "Emit, search and follow events.",
    "o11y": "All events of one session or machine.",
    "session": "All sessions, and one in detail, on a terminal or as a page.",
    "store": "Prune the local store; set up, fill and compare a Typesense cluster.",
    "checkpoint": "What one session is doing, saved as its context fills.",
    "inject": "Short texts to hand to an agent.",
    "idle": "Compact sessions while they are idle.",
    "compaction": "Decide, prepare, serialize and summarize a compaction.",
}
_FIRST_PAGE = {
    "Find earlier work": "recall show how fix lost search",
    "Keep and correct": "note memory session",
    "Set up": "install doctor status off on uninstall",
}
"""What people type, by what they want to do."""


def every() -> tuple[Command, ...]:
    """All commands, in the order of the help."""
    return tuple(command for word in FOLDERS for command in declared(word) if command.path.partition(" ")[0] == word)


def first_page(*, whole: bool = False) -> str:
    """The help of `joelclaw` alone: what people type, or all commands, the first clause of each; where the rest is."""
    lines = ["Usage: joelclaw COMMAND [options]", "", ABOUT]
    for wanted, names in ({"All commands": " ".join(FOLDERS)} if whole else _FIRST_PAGE).items():
        lines += ["", wanted]
        for name in names.split():
            command = named(name)
            words = [name, *(one.metavar for one in (command.parameters if command else ()) if not one.flags)]
            about = re.split(" ?[.:;(]", command.help if command else GROUPS[name])[0]
            lines.append(f"  {' '.join(words):<18}{about}")
    lines += ["", "Options of one: joelclaw COMMAND --help"]
    lines += ["Version: joelclaw --version" if whole else "All commands: joelclaw --help --all; version: --version"]
    return "\n".join([*lines, "JSON instead of text: --json, the default when stdout is not a terminal", ""])


def versions() -> str:
    """The line that `--version` prints."""
    python = ".".join(map(str, sys.version_info[:3]))
    return f"joelclaw {VERSION} (python {python}, sqlite {apsw.sqlite_lib_version()})\n"


def placeholder(parameter: Parameter) -> str:
    """What stands for the value in a usage line."""
    if parameter.choices:
        return "|".join(parameter.choices)
    return "true|false" if parameter.kind == "truth" else parameter.metavar


def limits(parameter: Parameter) -> str:
    """The values that a number may have, as `1 to 100`; empty where any will do."""
    low, high = (f"{value:,.10g}" if value is not None else "" for value in (parameter.low, parameter.high))
    return f"{low} to {high}" if high else f"at least {low}" if low else ""


def default(parameter: Parameter) -> str:
    """The default as it would be typed, empty where there is none."""
    return "" if parameter.kind == "flag" or parameter.default is None else str(parameter.default)


def explained(parameter: Parameter) -> str:
    """The help of one parameter, with its limits and its default."""
    said = "at most" in parameter.help or " 0 to " in parameter.help
    notes = ["" if said else limits(parameter), "repeatable" * bool(parameter.many and parameter.flags)]
    told = ", ".join(filter(None, [*notes, default(parameter) and f"default {default(parameter)}"]))
    return f"{parameter.help} [{told}]" if told else parameter.help


def usage_line(command: Command) -> str:
    """`joelclaw memory forget ID... [options]`: `[QUERY]` may be left out, of `ID...` there may be several."""
    words = ["joelclaw", command.path]
    for one in (one for one in command.parameters if not one.flags):
        shown = one.metavar + "..." * one.many
        words.append(shown if one.required else f"[{shown}]")
    return " ".join([*words, "[options]"] if any(one.flags for one in command.parameters) else words)


def print_overview(group: str) -> None:
    """All commands with their parameters, or how those of a group are called, as an envelope."""
    result: dict[str, Any]
    if group:
        inside = [command for command in every() if command.path.rpartition(" ")[0] == group]
        usages = {command.path.rpartition(" ")[2]: usage_line(command) for command in inside}
        result = {"description": GROUPS[group], "commands": usages}
        if group == "otel":
            result["subcommands"] = usages
        if group == "vault":
            result["vault_root"] = os.path.expanduser(os.environ.get("VAULT_PATH", "").strip() or "~/Vault")
        named = {command.path: command.help for command in inside}
    else:
        commands = [
            {
                "command": f"joelclaw {command.path}",
                "usage": usage_line(command),
                "description": command.help,
                "params": {p.flags[0] if p.flags else p.metavar: _as_json(p) for p in command.parameters},
            }
            for command in every()
        ]
        result = {"groups": dict(GROUPS), "commands": commands}
        named = {**GROUPS, **{command.path: command.help for command in every() if " " not in command.path}}
    actions = [step(f"joelclaw {path} --help", about) for path, about in named.items()]
    print_answer(f"joelclaw {group or '--help'}", Answer(result, actions))


def _as_json(parameter: Parameter) -> dict[str, Any]:
    told = None if parameter.kind == "flag" else parameter.default
    more = {"short": "".join(parameter.flags[1:2]), "default": told, "enum": list(parameter.choices)}
    filled = {name: value for name, value in more.items() if value not in (None, "", [])}
    return {"description": parameter.help, "required": parameter.required, **filled}
