"""What is said when something is wrong: a failure, words that are not understood, and what a command met on the way."""

import shlex
from collections.abc import Sequence
from difflib import get_close_matches

from cli import commands
from cli.answer import failed, print_envelope, runnable, step
from cli.parameter import Command
from cli.reference import GROUPS, every
from cli.stdout import StdoutFullError, tell
from core import clock, files
from core.errors import FAILED, Failure, usage
from core.output import shown
from otel import log
from otel.event import new_event

_OTHERS = {
    **dict.fromkeys(("version", "verson", "verion", "v"), "--version"), "help": "--help", "hlep": "--help",
    **dict.fromkeys(("setup", "init", "configure", "add", "enable"), "install"),
    **dict.fromkeys(("remove", "disable"), "uninstall"), "list": "session list", "ls": "session list",
    "remember": "memory write", "write": "memory write", "check": "doctor", "delete": "memory forget",
    **{name: f"memory {name}" for name in ("forget", "import", "export", "stats")}, "find": "recall", "ask": "recall",
}  # fmt: skip
"""What other programs call it, or what is mistyped: what it is here."""
_LONGEST_WORD, _LONGEST_MESSAGE = 60, 2_000


def report(name: str, error: Exception, *, as_json: bool) -> int:
    """Print a failure, as JSON on stdout or for a person on stderr; returns its exit code."""
    failure = error if isinstance(error, Failure) else unknown(error)
    if as_json:
        path = name.removeprefix("joelclaw ")
        help_for = name if commands.named(path) or path in GROUPS else "joelclaw"
        print_envelope(failed(name, failure, [step(f"{help_for} --help", "what this command takes")]))
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
    """Say that stdout took not all of it; returns the exit code."""
    tell(f"joelclaw{' ' * bool(path)}{path}: stdout cannot be written: {error}; the output is incomplete\n")
    return FAILED


def tell_faults(unknown: tuple[tuple[str, str], ...]) -> None:
    """Report unknown settings, on stderr and as events."""
    from session import settings_faults

    made = settings_faults.events(unknown, clock.now_ms())
    if made and log.spool(made):
        tell(shown("".join(f"joelclaw: {event['metadata']['message']}\n" for event in made)))


def tell_corrected(paths: list[str], *, quiet: bool) -> None:
    """Say, once, that others could use files of the home: as an event, and to who runs a command by hand."""
    about, now = {"count": len(paths), "first": paths[:5]}, clock.now_ms()
    told = new_event("home.modes.corrected", source="joelclaw", component="home", level="warn", metadata=about, now=now)
    log.spool([told])
    if not quiet:
        tell(f"joelclaw: others could read {len(paths)} files or folders in {files.home()}; now only you can\n")


def named(words: Sequence[str]) -> str:
    """What the envelope calls this call."""
    return f"joelclaw {_path_of(words) or _short(words[0])}"


def _path_of(words: Sequence[str]) -> str:
    command = commands.called(words)
    group = next((name for name in (" ".join(words[:2]), *words[:1]) if name in GROUPS), "")
    return command.path if command is not None else group


def misuse(words: Sequence[str], message: str) -> Failure:
    """Typer's message with a fix: quotes around a text, the command that was meant, or where to read what it takes."""
    command, path = commands.called(words), _path_of(words)
    message = _short(message, _LONGEST_MESSAGE)
    if command is not None:
        fix = f"see what it takes: joelclaw {path} --help"
        rest = list(words[len(path.split()) :])
        texts = {one.metavar for one in command.parameters}
        if "TEXT" in texts and "extra argument" in message:
            fix = f"put it in quotes: {_in_quotes(command, rest)}"
        if "QUERY" in texts and "No such option" in message and "Possible" not in message:
            fix = f"put a query that has a flag in it in quotes: {_in_quotes(command, rest)}"
        return usage(command.code, message, fix)
    wanted = _path_meant(words, path)
    if wanted:
        typed = " ".join(words[: 1 + bool(path)])
        return usage("USAGE", f"there is no command {_short(typed)!r}", f"did you mean `joelclaw {wanted}`?")
    if path:
        inside = [one.path for one in every() if one.path.startswith(path + " ")]
        return usage("USAGE", message, f"use one of: {', '.join(inside)}")
    message = f"there is no command {_short(words[0])!r}" if words and words[0][:1] != "-" else message
    known = ", ".join(commands.FOLDERS)
    return usage("USAGE", message, f"use one of: {known}; joelclaw --help --all says what each does")


def _short(text: str, most: int = _LONGEST_WORD) -> str:
    """Words of the user's without control characters, cut to a length that can be shown."""
    text = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _in_quotes(command: Command, rest: list[str]) -> str:
    takes = {flag: one.kind != "flag" for one in command.parameters for flag in one.flags}
    known: list[str] = []
    text: list[str] = []
    while rest:
        word = rest.pop(0)
        (known if word.partition("=")[0] in takes else text).append(word)
        if rest and takes.get(word):
            known.append(rest.pop(0))
    behind = ["--"] if text and text[0][:2] == "--" else []
    return shlex.join(["joelclaw", *command.path.split(), *map(_short, known), *behind, _short(" ".join(text))])


def _path_meant(words: Sequence[str], group: str) -> str:
    """The command nearest to mistyped words: by its whole name, or by the last word of it."""
    meant = _OTHERS.get(words[0].lower().strip("-")) if words and not group else None
    typed = [word for word in words[:2] if not word.startswith("-")]
    if meant or not typed or (group and len(typed) == 1):
        return meant or ""
    paths = [*(command.path for command in every()), *GROUPS]
    inside = {path.removeprefix(group).lstrip(): path for path in paths if path.startswith(f"{group} ".lstrip())}
    last = {path.split()[-1]: path for path in paths}
    asked = ((" ".join(typed[bool(group) :]), inside), (typed[0], inside), (typed[-1] if group else typed[0], last))
    near = (names[one] for text, names in asked for one in get_close_matches(text, names, 1, 0.72))
    return next(near, "")
