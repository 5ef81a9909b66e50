"""What is said when something is wrong: a failure, words that are not understood, and what a command met on the way.

Calls of the mirrored CLI that are outside of what is done here are told by name; their list is `docs/mirrored.md`'s.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from difflib import get_close_matches

from cli import commands
from cli.answer import print_envelope, runnable, step
from cli.parameter import Command
from cli.reference import GROUPS, every
from cli.stdout import StdoutFullError, tell
from core import clock, files
from core import envelope as envelopes
from core.errors import FAILED, Failure, usage
from core.output import shown
from otel import spool
from otel.event import new_event

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
"""What it belongs to → first words. A command of our own goes before a name here."""
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


def report(name: str, error: Exception, *, as_json: bool) -> int:
    """Print a failure, as JSON on stdout or for a person on stderr; returns its exit code."""
    failure = error if isinstance(error, Failure) else unknown(error)
    if as_json:
        path = name.removeprefix("joelclaw ")
        help_for = name if commands.named(path) or path in GROUPS else "joelclaw"
        print_envelope(envelopes.failed(name, failure, [step(f"{help_for} --help", "what this command takes")]))
    else:
        tell(shown(f"{name}: {failure.message}\n  {runnable(failure.fix)}\n"))
    return failure.exit_code


def unknown(error: Exception) -> Failure:
    """An unexpected exception as a failure: of the database, or a fault of ours."""
    if type(error).__module__ == "apsw":
        from core.store import sqlite

        if isinstance(error, sqlite.StoreError):
            return sqlite.as_failure(error)
    about = f"{type(error).__name__}: {error}"
    return Failure("UNKNOWN_ERROR", about, "run it again with JOELCLAW_DEBUG=1 and report what it prints")


def unprinted(path: str, error: StdoutFullError) -> int:
    """Say that stdout took not all of it; returns the exit code. What the command was to do, it has done."""
    tell(f"joelclaw{' ' * bool(path)}{path}: stdout takes no more: {error}; what was printed is not all\n")
    return FAILED


def tell_faults(dropped: tuple[tuple[str, str], ...], unknown: tuple[tuple[str, str], ...]) -> None:
    """What is wrong with settings, a project's files and the store: on stderr and as events."""
    from session import settings_faults

    made = settings_faults.events(dropped, unknown, clock.now_ms())
    if made and spool.keep(made):
        tell(shown("".join(f"joelclaw: {event['metadata']['message']}\n" for event in made)))
    if files.is_store_older():
        older = settings_faults.tell_older(clock.now_ms())
        if older:
            tell(f"joelclaw: {runnable(older)}\n")


def tell_corrected(paths: list[str], *, quiet: bool) -> None:
    """Say, once, that others could use files of the home: as an event, and to who runs a command by hand."""
    about = {"count": len(paths), "first": paths[:5]}
    made = new_event("home.modes.corrected", source="joelclaw", component="home", level="warn", metadata=about,
                     now=clock.now_ms())  # fmt: skip
    spool.keep([made])
    if not quiet:
        tell(f"joelclaw: others could use {len(paths)} files or folders in {files.home()}; now only you can\n")


def outside(words: Sequence[str]) -> Failure | None:
    """The `NOT_MIRRORED` failure of a call of the mirrored CLI that is not done here; None of any other."""
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
    for length in (3, 2):
        if " ".join(words[:length]) in PARTS:
            return " ".join(words[:length])
    first = words[0] if words else ""
    if any(word.partition("=")[0] in FLAGS.get(first, ()) for word in words[1:]):
        return first
    is_ours = first in commands.FOLDERS
    return first if not is_ours and any(first in names.split() for names in FAMILIES.values()) else ""


def named(words: Sequence[str]) -> str:
    """What the envelope calls this call."""
    return f"joelclaw {_name_outside(words) or _path_of(words) or _short(words[0])}"


def _path_of(words: Sequence[str]) -> str:
    command = commands.called(words)
    if command is not None:
        return command.path
    return next((" ".join(words[:length]) for length in (2, 1) if " ".join(words[:length]) in GROUPS), "")


def misuse(words: Sequence[str], message: str) -> Failure:
    """Typer's message with a fix: quotes around a text, the command that was meant, or where to read what it takes."""
    command, path = commands.called(words), _path_of(words)
    message = "".join(c if c.isprintable() else "\ufffd" for c in message)
    if command is not None:
        fix = f"see what it takes: joelclaw {path} --help"
        if "extra argument" in message and {one.metavar for one in command.parameters} & {"QUERY", "TEXT"}:
            fix = f"put it in quotes: {_in_quotes(command, list(words[len(path.split()) :]))}"
        return usage(command.code, message, fix)
    wanted = _path_meant(words, path)
    if wanted:
        typed = " ".join(words[: 1 + bool(path)])
        return usage("USAGE", f"there is no command {_short(typed)!r}", f"did you mean `joelclaw {wanted}`?")
    inside = [one.path for one in every() if not path or one.path.startswith(path + " ")]
    return usage("USAGE", message, f"use one of: {', '.join(inside)}")


def _short(word: str) -> str:
    """A word of the user's without control characters, cut to a length that can be shown."""
    word = "".join(c if c.isprintable() else "\ufffd" for c in word)
    return word if len(word) <= _LONGEST_WORD else word[: _LONGEST_WORD - 1] + "…"


def _in_quotes(command: Command, rest: list[str]) -> str:
    flags = {flag: parameter for parameter in command.parameters for flag in parameter.flags}
    known: list[str] = []
    text: list[str] = []
    while rest:
        word = rest.pop(0)
        if word == "--":
            continue
        parameter = flags.get(word.partition("=")[0])
        takes = parameter is not None and parameter.kind != "flag" and "=" not in word
        (known if parameter else text).extend([word, *(rest[:1] if takes else ())])
        del rest[:takes]
    return shlex.join(["joelclaw", *command.path.split(), *map(_short, known), _short(" ".join(text))])


def _path_meant(words: Sequence[str], group: str) -> str:
    """The command nearest to mistyped words: by its whole name, or by the last word of it."""
    meant = _OPTIONS.get(words[0].lower().strip("-")) if words and not group else None
    typed = [word for word in words[:2] if not word.startswith("-")]
    if meant or not typed or (group and len(typed) == 1):
        return meant or ""
    paths = {command.path: command.path for command in every()} | {name: name for name in GROUPS}
    inside = {path: path for path in paths if not group or path.startswith(group + " ")}
    last = {path.split()[-1]: path for path in paths}
    asked = ((" ".join(typed), inside), (typed[0], inside), (typed[-1] if group else typed[0], last))
    near = (names[one] for text, names in asked for one in get_close_matches(text, names, 1, 0.72))
    return next(near, "")
