"""What a command says when something is wrong: its failure, and once of each what it met on the way."""

from __future__ import annotations

from cli import commands
from cli.answer import print_envelope, runnable, step
from cli.reference import GROUPS
from cli.stdout import StdoutFullError, tell
from core import clock, files
from core import envelope as envelopes
from core.errors import FAILED, Failure
from core.output import shown
from otel import spool
from otel.event import new_event


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
    from session import faults, settings_faults

    made = settings_faults.events(dropped, unknown, clock.now_ms())
    if made and spool.keep(made):
        tell(shown("".join(f"joelclaw: {settings_faults.line(event)}\n" for event in made)))
    if files.is_store_older():
        older = faults.tell_older(clock.now_ms())
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
