"""Reports errors: failures of commands, wrong usage, and faults that a command met on the way."""

import os
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches

from cli.output import StdoutFullError, failure_envelope, print_envelope, runnable, step, tell
from cli.parser import printable
from core import clock, config, files, json_text
from core.errors import FAILED, Failure, usage
from core.quoting import shown
from core.words import fingerprint
from otel import log
from otel.log import new_event

SYNONYMS = {
    **dict.fromkeys(("version", "verson", "verion", "v"), "--version"), "help": "--help", "hlep": "--help",
    **dict.fromkeys(("setup", "init", "configure", "add", "enable"), "install"),
    **dict.fromkeys(("remove", "disable"), "uninstall"), "list": "session list", "ls": "session list",
    "remember": "memory write", "write": "memory write", "check": "doctor", "delete": "memory forget",
    **{name: f"memory {name}" for name in ("forget", "import", "export", "stats")}, "find": "recall", "ask": "recall",
}  # fmt: skip
"""What other programs call a command, or how it is mistyped: the command here."""


def report(path: str, error: Exception, *, as_json: bool, helped: str | None = None) -> int:
    """Print a failure of a command, as JSON on stdout or for a person on stderr; returns its exit code.

    `helped` is the command or group whose help makes sense next, if it is not the command itself.
    """
    failure = error if isinstance(error, Failure) else unexpected(error)
    name = f"joelclaw {path}"
    if as_json:
        words = filter(None, ("joelclaw", path if helped is None else helped, "--help"))
        print_envelope(failure_envelope(name, failure, [step(" ".join(words), "what this command takes")]))
    else:
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


def report_incomplete_output(path: str, error: StdoutFullError) -> int:
    """Report that the output could not be written completely; returns the exit code."""
    tell(f"joelclaw{' ' * bool(path)}{path}: stdout cannot be written: {error}; the output is incomplete\n")
    return FAILED


def report_unknown_settings(unknown: Sequence[tuple[str, str]], *, quiet: bool) -> None:
    """Report unknown settings (place and name), each once: as an event and, unless `quiet`, on stderr."""
    events = []
    for place, name in _unreported(unknown[:20]):  # a file may hold thousands
        message = config.describe_unknown(place, name)
        about = {"path": place[-300:], "key": name[:80], "meant": config.closest_setting(name), "message": message}
        action = "config.variable_ignored" if place == config.HOOK_ENVIRONMENT else "config.key_unknown"
        events.append(new_event(action, component="config", level="warn", metadata=about, now=clock.now_ms()))
    if events and log.spool(events) and not quiet:
        tell(shown("".join(f"joelclaw: {event['metadata']['message']}\n" for event in events)))


def _unreported(unknown: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The settings that are not in a list of reported ones in the cache; adds them to the list."""
    path = os.path.join(files.home(), "cache", "unknown-settings.json")
    reported: list[str] = []
    with suppress(OSError, json_text.InvalidJSON, TypeError):
        reported = [str(mark) for mark in json_text.loads(files.read_file(path))]
    by_mark = {fingerprint(f"{place}\0{name}"): (place, name) for place, name in unknown}
    new = [mark for mark in by_mark if mark not in reported]
    with suppress(OSError):
        if new:
            files.write_whole(path, json_text.dumps([*reported, *new][-200:]).encode())
        return [by_mark[mark] for mark in new]
    return []  # the list cannot be written, so each command would report them again


def report_corrected_modes(paths: list[str], *, quiet: bool) -> None:
    """Report that other users could read files of the home: as an event and, unless `quiet`, on stderr."""
    metadata = {"count": len(paths), "first": paths[:5]}
    event = new_event(
        "home.modes.corrected", source="joelclaw", component="home", level="warn", metadata=metadata, now=clock.now_ms()
    )
    log.spool([event])
    if not quiet:
        tell(f"joelclaw: others could read {len(paths)} files or folders in {files.home()}; now only you can\n")


# Wrong usage


def report_unknown_command(words: Sequence[str], *, as_json: bool) -> int:
    """Report that the words call no command, with the command that was probably meant, or those there are."""
    from cli import declarations
    from cli.commands import MODULES

    group = words[0] if declarations.group_help(words[0]) else ""
    last = words[1] if group else words[0]
    typed = f"{group} {last}" if group else last
    message = f"there is no command {printable(typed)!r}"
    if last[:1] == "-":
        message = f"there is no option {printable(last)}"
    known = f"use one of: {', '.join(declarations.declared(group) if group else MODULES)}"
    meant = probable_command(words, group)
    if meant:
        fix = f"did you mean `joelclaw {meant}`?"
    else:
        fix = known if group else f"{known}; joelclaw --help --all says what each does"
    return report(printable(words[0]), usage("USAGE", message, fix), as_json=as_json, helped=group)


def probable_command(words: Sequence[str], group: str) -> str:
    """The command or group that mistyped words are nearest to, or ""."""
    from cli import declarations

    meant = SYNONYMS.get(words[0].lower().strip("-")) if words and not group else None
    typed = [word for word in words[:2] if not word.startswith("-")]
    if meant or not typed or (group and len(typed) == 1):
        return meant or ""
    paths = list(
        declarations.declared(group) if group else {**declarations.every_command(), **declarations.every_group()}
    )
    near = get_close_matches(" ".join(typed), paths, 1, 0.72) or get_close_matches(typed[0], paths, 1, 0.72)
    return near[0] if near else ""
