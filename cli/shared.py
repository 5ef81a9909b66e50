"""What the declarations in `cli/commands/` share: options and arguments, groups, and a progress bar."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from typer import Argument, Option

import clients
from core.errors import Failure

Advance = Callable[[int], None]


def group(app: typer.Typer, name: str, help: str) -> typer.Typer:
    """Declare a group of commands, such as `memory`."""
    declared = typer.Typer(help=help)
    app.add_typer(declared, name=name)
    return declared


def stored(kind: str) -> Callable[[], list[str]]:
    """Completions for an option: the newest values of a kind, as `store_file.newest` names them, in the store."""

    def values() -> list[str]:
        import re

        from core import quoting
        from core.store import sqlite, store_file
        from session.known_states import session_of, state_times

        most = 100
        found: list[str] = []
        with suppress(Failure, sqlite.StoreError):
            if kind == "sessions":  # a script's session need not be archived
                times = state_times()
                found = [session_of(path) for path in sorted(times, key=times.__getitem__, reverse=True)[:most]]
            found += store_file.newest(sqlite.open_or_empty(), kind, most)
        shown = dict.fromkeys(quoting.shown_id(value) if kind == "sessions" else value for value in found)
        return [value for value in shown if re.fullmatch(r"[\w./:@+,=-]+", value)]  # a shell expands other characters

    return values


def session_option(help: str) -> Any:
    """An option whose value is the id of a session."""
    return Option(metavar="ID", help=help, autocompletion=stored("sessions"))


def session_argument(help: str, metavar: str = "ID") -> Any:
    """An argument that is the id of a session."""
    return Argument(metavar=metavar, help=help, autocompletion=stored("sessions"))


def memory_argument(help: str, metavar: str = "ID") -> Any:
    """An argument that is the id of a memory."""
    return Argument(metavar=metavar, help=help, autocompletion=stored("memories"))


def limit_option(most: int = 100) -> Any:
    """An option whose value is a number of results."""
    return Option("--limit", "-n", min=1, max=most, help="Maximum number of results")


Query = Annotated[list[str] | None, Argument(metavar="QUERY", help="What to look for")]
RequiredQuery = Annotated[list[str], Argument(metavar="QUERY", help="What to look for")]
Hits = Annotated[int | None, limit_option()]
Limit = Annotated[int, limit_option()]
Page = Annotated[int, Option("--page", min=1, max=1_000_000, help="Page number")]
Raw = Annotated[bool, Option("--raw", help="Print only the text")]
Verbatim = Annotated[bool, Option("--verbatim", help="Print the stored text unchanged (not on a terminal)")]
ExitCode = Annotated[bool, Option("--exit-code", help="Exit 1 if nothing is found")]
Since = Annotated[str | None, Option(metavar="TIME", help="Only newer: 2w (h, d, w, mo, y), or a date")]
Hours = Annotated[float, Option("--hours", min=0, max=876_000, help="Hours to look back")]
OnlyProject = Annotated[str, Option("--project", help="Only this project", autocompletion=stored("projects"))]
Project = Annotated[
    str, Option("--project", help="Its project (default: the folder's)", autocompletion=stored("projects"))
]
FolderProject = Annotated[bool, Option("--project", help="The folder's project")]
OnlySession = Annotated[str, session_option("Only this session")]
Session = Annotated[str | None, session_option("The session's id")]
Stdin = Annotated[bool, Option("--stdin", help="Also read a JSON object from stdin")]
Percent = Annotated[float | None, Option("--percent", min=0, max=100, metavar="P", help="Context usage in percent")]
CLIENTS = "|".join(clients.NAMES)  # a metavar such as `a|b` names the only values of an option
OnlyClient = Annotated[str | None, Option("--client", metavar=f"{CLIENTS}|generic", help="Only this client")]
Confirmed = Annotated[bool | None, Option("--yes/--dry-run", "-y", help="Do not ask, or only show what would happen")]
ModelCommand = Annotated[str, Option("--command", metavar="CMD", help="Runs the model (default: model.command)")]
Category = Annotated[
    str | None, Option("--category", "-c", help="Only this category, such as ops", autocompletion=stored("categories"))
]


@contextmanager
def progress_bar(label: str, total: int | None = None) -> Iterator[tuple[Advance, Advance]]:
    """A bar on stderr, if stderr is a terminal. Yields functions that set the total, and that advance the bar."""
    if not sys.stderr.isatty():
        yield (lambda _: None), (lambda _: None)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=total)
        yield (lambda count: shown.update(task, total=count)), (lambda count: shown.advance(task, count))
