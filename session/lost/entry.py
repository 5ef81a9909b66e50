"""What a compaction can drop, a record each, and the commands that bring it back."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from session import own_command

QUERY_CHARS = 80
_UNSAFE = frozenset('"$`\\!')
"""What a shell would act on between double quotes."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that was worked on."""

    file: str
    """Relative to the project's folder, where it lies in it."""
    reads: int
    """How often a tool read it, or a command named it."""
    edits: int
    prompts_before: int
    """How many prompts of the user stood between its last use and the compaction."""
    calls_before: int
    again: bool
    """It was used again after the compaction."""
    get: str


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier or a file's name in what tools were given and returned."""

    name: str
    place: str
    """The file, or the beginning of the command, where it was last at work; "" where that is not known."""
    uses: int
    prompts_before: int
    calls_before: int
    again: bool
    get: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it was run last."""

    command: str
    outcome: str
    """ok, failed, or "" where nothing came back, or what came says nothing of the command: `make | tail`."""
    error: str
    runs: int
    prompts_before: int
    calls_before: int
    again: bool
    get: str


@dataclass(frozen=True, slots=True)
class Error:
    """What a call failed with."""

    error: str
    doing: str
    """The command, or the tool and its file."""
    answered: bool
    """A later call did the same with success, before the compaction or after it."""
    prompts_before: int
    calls_before: int
    get: str


@dataclass(frozen=True, slots=True)
class Words:
    """What the user said."""

    text: str
    """One line, cut."""
    by: str
    id: str
    prompts_before: int
    get: str


Entry = File | Name | Command | Error | Words


def by_name(name: str, session: str) -> str:
    """The command that recalls a name, a path, a command or an error in a session; runs as it stands."""
    return f"{own_command.word()} recall {_query(name)} --session {shlex.quote(session)} --limit 3"


def by_id(identifier: str) -> str:
    """The command that shows a memory."""
    return f"{own_command.word()} memory show {shlex.quote(identifier)}"


def _query(text: str) -> str:
    """A text as one word of a shell, on one line and without what does not show; never taken for a flag."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    while len(line) > QUERY_CHARS and " " not in line and "/" in line:  # the end of a path tells more than its start
        line = line.partition("/")[2]
    line = line[:QUERY_CHARS].lstrip("- ").rstrip()
    return shlex.quote(line) if not line or not _UNSAFE.isdisjoint(line) else f'"{line}"'
