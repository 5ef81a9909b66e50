"""What a compaction can drop, a record each, and the commands that bring it back.

In each `prompts_before` and `calls_before` count what stood between its last use and the compaction, `again` says that
it was used again since, and `get` is the command that brings it back.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from session import own_command

QUERY_CHARS = 80
_UNSAFE = frozenset('"$`\\!')
"""What a shell would act on between double quotes."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that was worked on, relative to the project's folder, and how often it was read and edited."""

    file: str
    reads: int
    edits: int
    prompts_before: int
    calls_before: int
    again: bool
    get: str


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier or a file's name in what tools were given and returned, and where it was last at work."""

    name: str
    place: str
    uses: int
    prompts_before: int
    calls_before: int
    again: bool
    get: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it was run last: ok, failed, or "" where what came back says nothing of it (`make | tail`)."""

    command: str
    outcome: str
    error: str
    runs: int
    prompts_before: int
    calls_before: int
    again: bool
    get: str


@dataclass(frozen=True, slots=True)
class Error:
    """What a command, or a tool on its file, failed with; answered where a later call did the same with success."""

    error: str
    doing: str
    answered: bool
    prompts_before: int
    calls_before: int
    get: str


@dataclass(frozen=True, slots=True)
class Words:
    """What the user said, on one line and cut."""

    text: str
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
