"""What is wrong with the words of a call, and what to do about it; and calls of the mirrored CLI that are not ours.

The list of these is `docs/mirrored.md`'s. A command of our own goes before a name there.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice

from cli import commands
from cli.parameter import Command
from cli.reference import GROUPS, every
from core.errors import Failure, usage

NOT_MIRRORED = "NOT_MIRRORED"
FAMILIES = {
    "the event bus and its workers": (
        "send runs run event events functions capabilities recover logs log loop watch inngest schema refresh deploy"
        " heal queue jobs restate workload workloads webhook agent runbooks diagnose"
    ),
    "the gateway and its channels": (
        "gateway tui messages notify mail email call x subscribe sleep approvals review discover"
    ),
    "the operator's machines and services": "nas satellite fleet secrets langfuse o11y pds models machine",
    "publishing and documents": "docs content briefing summary retro skills observer observations",
}
"""What it belongs to → first words."""
PARTS = {
    **dict.fromkeys(("memory review", "memory health"), "the review of proposed memories by a model"),
    "knowledge clear-failed": "agent loops",
    "sessions chunks": "the index of chunks on a central machine",
    **dict.fromkeys(("sessions signals", "sessions friction"), "the mining of a user's turns for moods"),
    **{f"vault adr {verb}": "the upkeep of decision records" for verb in ("audit", "refs", "prompt", "rank", "next")},
}
"""Commands of groups that are here, and what they belong to."""
FLAGS = {
    "recall": (
        "--workstream --allowed-privacy --reflection-limit --observation-limit --curated-limit --request-file".split()
    ),
}
"""Options of the original's later recall, which asks three stores of its own."""
INSTEAD = {
    **dict.fromkeys(("event", "events", "runs", "run"), "joelclaw otel list"),
    "logs": "joelclaw otel list --level error,fatal",
    "log": "joelclaw otel emit --help",
    "send": "joelclaw memory write --help",
    "docs": "joelclaw knowledge search --help",
    "sleep": "joelclaw off",
    **dict.fromkeys(("diagnose", "gateway", "inngest"), "joelclaw status"),
    **dict.fromkeys(("observations", "memory review"), "joelclaw memory recent"),
    "memory health": "joelclaw memory scorecard",
    **{f"sessions {verb}": "joelclaw sessions search --help" for verb in ("chunks", "signals", "friction")},
    "vault adr audit": "joelclaw vault adr collisions",
    "vault adr refs": "joelclaw vault search --help",
    "vault adr prompt": "joelclaw vault adr locate --help",
    **dict.fromkeys(("vault adr rank", "vault adr next"), "joelclaw vault adr list"),
}
_OPTIONS = dict.fromkeys(("version", "verson", "verion", "v"), "--version") | {"help": "--help", "hlep": "--help"}
"""What is typed as a command, or mistyped, and is an option."""
_LONGEST_WORD = 60


def outside(words: Sequence[str]) -> Failure | None:
    """Why a call is not done here, None for one that is not the mirrored CLI's.

    The `NOT_MIRRORED` failure ends with exit 2; its fix names what is here instead.
    """
    name = _name_outside(words)
    if not name:
        return None
    if name in FLAGS:
        flag = next(word for word in words if word.partition("=")[0] in FLAGS[name])
        return usage(
            NOT_MIRRORED,
            f"{flag.partition('=')[0]} is of the original's later recall, which asks three stores of its own",
            f"it is outside of what this joelclaw does: leave the option out; see joelclaw {name} --help",
        )
    of = PARTS.get(name) or next(family for family, names in FAMILIES.items() if name in names.split())
    return usage(
        NOT_MIRRORED,
        f"`joelclaw {name}` belongs to {of}",
        "it is outside of what this joelclaw does: leave the call out, or make it with the original;"
        f" what is here instead: {INSTEAD.get(name, 'joelclaw --help')}",
    )


def _name_outside(words: Sequence[str]) -> str:
    """The name in the tables that the words begin with, "" for none."""
    for length in (3, 2):
        if " ".join(words[:length]) in PARTS:
            return " ".join(words[:length])
    first = words[0] if words else ""
    if any(word.partition("=")[0] in FLAGS.get(first, ()) for word in words[1:]):
        return first
    is_ours = commands.is_taken(first)
    return first if not is_ours and any(first in names.split() for names in FAMILIES.values()) else ""


def named(words: Sequence[str]) -> str:
    """What the envelope calls this call."""
    return f"joelclaw {_name_outside(words) or path_of(words) or _shown(words[0])}"


def path_of(words: Sequence[str]) -> str:
    """The command or group that the words begin with, or nothing."""
    command = commands.called(words)
    if command is not None:
        return command.path
    return next((" ".join(words[:length]) for length in (2, 1) if " ".join(words[:length]) in GROUPS), "")


def failure(words: Sequence[str], message: str, *, extra: bool, strange: bool) -> Failure:
    """Wrong usage with a fix: quotes around a text, the command that was meant, or where to read what it takes.

    Args:
        message: what is wrong, as Typer says it.
        extra: there is a word too many.
        strange: an option is unknown, and none is like it.
    """
    command, path = commands.called(words), path_of(words)
    message = "".join(c if c.isprintable() else "\ufffd" for c in message)
    if command is not None:
        fix = f"see what it takes: joelclaw {path} --help"
        rest = words[len(path.split()) :]
        metavars = {parameter.metavar for parameter in command.parameters}
        if extra and metavars & {"QUERY", "TEXT"}:
            fix = f"put it in quotes: {_as_query(command, rest, end=False)}"
        elif strange and "QUERY" in metavars:
            fix = f"to look for it: {_as_query(command, rest)}; {fix}"
        return usage(command.code, message, fix)
    wanted = _path_meant(words, path)
    if wanted:
        typed = " ".join(words[: 1 + bool(path)])
        return usage("USAGE", f"there is no command {_shown(typed)!r}", f"did you mean `joelclaw {wanted}`?")
    inside = [one.path for one in every() if not path or one.path.startswith(path + " ")]
    return usage("USAGE", message, f"use one of: {', '.join(inside)}")


def _shown(word: str) -> str:
    """A word of the user's without control characters, cut to a length that can be shown."""
    word = "".join(c if c.isprintable() else "\ufffd" for c in word)
    return word if len(word) <= _LONGEST_WORD else word[: _LONGEST_WORD - 1] + "…"


def _as_query(command: Command, words: Sequence[str], *, end: bool = True) -> str:
    """The call in which all that is no option of the command is looked for; `end` puts `--` before it."""
    flags = {flag: parameter for parameter in command.parameters for flag in parameter.flags}
    known: list[str] = []
    query: list[str] = []
    rest = iter(words)
    for word in rest:
        parameter = flags.get(word.partition("=")[0])
        if parameter is None:
            query += [word] if word != "--" else []
            continue
        known.append(_shown(word))
        if parameter.kind != "flag" and "=" not in word:
            known += [_shown(value) for value in islice(rest, 1)]
    return shlex.join(["joelclaw", *command.path.split(), *known, *(["--"] if end else []), _shown(" ".join(query))])


def _path_meant(words: Sequence[str], group: str) -> str:
    """The command nearest to mistyped words: by its whole name, or by the last word of it."""
    meant = _OPTIONS.get(words[0].lower().strip("-")) if words and not group else None
    if meant:
        return meant
    typed = [word for word in words[:2] if not word.startswith("-")]
    if not typed or (group and len(typed) == 1):
        return ""
    paths = [command.path for command in every()]
    inside = [name for name in (*paths, *GROUPS) if not group or name.startswith(group + " ")]
    for text in (" ".join(typed), typed[0]):
        near = get_close_matches(text, inside, 1, 0.7)
        if near:
            return near[0]
    by_last = {path.split()[-1]: path for path in paths}
    near = get_close_matches(typed[-1] if group else typed[0], list(by_last), 1, 0.75)
    return by_last[near[0]] if near else ""
