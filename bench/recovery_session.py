"""A real session as a list of moments, and what its compactions made the agent look up again.

Defines what `bench/recovery.py` counts.
"""

from __future__ import annotations

import lzma
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import clients
from clients import content
from clients.content import parse_timestamp
from core import project
from core.errors import either

if TYPE_CHECKING:
    from clients.entries import Entry

NEXT_CALLS = 40
"""How far the agent's work is followed after an injection, in tool calls."""
LEAST_CALLS = 30
"""A compaction with fewer tool calls after it, before the next one, says too little."""
LONGEST_COMMAND = 200
_FIRST_LINES = 50
_ENDINGS = "go py ts tsx js exs ex md json css sh rs toml yml yaml".split()
_FORMS = (
    r"[a-z]+[A-Z]\w+",  # lowerCamel
    r"[A-Z][a-z0-9]+[A-Z]\w+",  # UpperCamel
    r"\w+_\w+",  # snake_case
    rf"[\w-]+\.(?:{'|'.join(_ENDINGS)})",  # a file's name
)
_IDENTIFIER = re.compile(rf"\b(?:{'|'.join(_FORMS)})\b")

MomentKind = Literal["prompt", "said", "call", "result", "compaction", "kept"]


def identifiers(text: str) -> set[str]:
    """The names in a text: camelCase, snake_case, and names of files."""
    return set(_IDENTIFIER.findall(text))


class NoTranscript(ValueError):
    """A file that no client wrote as a session."""


@dataclass(frozen=True)
class Moment:
    """One thing that happened: `text` is what it put into the context, of a call its input; `line` counts from 0."""

    kind: MomentKind
    text: str
    line: int
    tool: Entry | None = None
    call: str = ""
    """Of a result: the id of the call."""
    failed: bool = False


@dataclass(frozen=True)
class Needed:
    """What stood in the session before a compaction, is absent from what the client keeps, and was needed after it."""

    names: frozenset[str]
    commands: frozenset[str]
    files: frozenset[str]
    """Base names."""


@dataclass
class Session:
    """A transcript: its raw lines, what happened in it, and where it was compacted.

    Raises:
        NoTranscript: no line of it has the form of a client that keeps files, or it is a subagent's.
        OSError: it cannot be read.
    """

    path: Path
    client: str = field(init=False)
    id: str = field(init=False)
    cwd: str = field(init=False, default="")
    lines: list[bytes] = field(init=False)
    records: list[dict[str, Any]] = field(init=False)
    moments: list[Moment] = field(init=False)
    usage: dict[int, int] = field(init=False, default_factory=dict)
    """Tokens in the context, by line."""

    def __post_init__(self) -> None:
        self.lines = _read(self.path)
        parsed = (content.parsed(line) for line in self.lines)
        self.records = [record if isinstance(record, dict) else {} for record in parsed]
        client = clients.detect(self.records[:_FIRST_LINES])
        if not client:
            raise NoTranscript(f"{self.path} is no session of {either(clients.keeping_files())}")
        self.client = client
        heads = [
            entries[0] for record in self.records[:_FIRST_LINES] if (entries := clients.by_name(client).entries(record))
        ]
        sides = [head.is_side for head in heads if head.is_side is not None]
        if sides and all(sides):
            raise NoTranscript(f"{self.path} is a subagent's")
        self.id = ""
        self.moments = [moment for n, record in enumerate(self.records) for moment in self._moments_of(n, record)]
        self.id = self.id or next((name for r in self.records if (name := content.as_text(r.get("sessionId")))), "")
        self.id = self.id or self.path.name.split(".")[0]
        self.cwd = self.cwd or next((cwd for r in self.records if (cwd := content.as_text(r.get("cwd")))), "/")

    @property
    def project(self) -> str:
        """The name of the project that it worked on."""
        return project.name_of(self.cwd)

    @property
    def began(self) -> int:
        """Its first time, ms since the epoch; 0 where no line tells one."""
        return next((at for n in range(len(self.records)) if (at := self.at(n))), 0)

    def at(self, line: int) -> int | None:
        """When a line was written, ms since the epoch."""
        return parse_timestamp(self.records[line].get("timestamp"))

    @cached_property
    def compactions(self) -> list[int]:
        """The places of all compactions in `moments`."""
        return [place for place, moment in enumerate(self.moments) if moment.kind == "compaction"]

    @cached_property
    def measurable(self) -> list[int]:
        """Those with a summary that can be read and at least 30 tool calls before the next one."""
        return [
            place
            for place in self.compactions
            if self.kept(place) and sum(moment.kind == "call" for moment in self._after(place)) >= LEAST_CALLS
        ]

    def kept(self, compaction: int) -> str:
        """What the client keeps: its summary and, where it says so, the messages that it leaves in the context."""
        found = []
        for moment in self._after(compaction):
            if moment.kind == "kept":
                found.append(moment.text)
            elif moment.kind in ("call", "said"):
                break
        line = self.moments[compaction].line
        first = self._first_kept(line)
        if first is not None:
            found += [moment.text for moment in self.moments[:compaction] if first <= moment.line < line]
        return "\n".join(found)

    def names_before(self, place: int) -> set[str]:
        """All identifiers that stood in the session before a place."""
        found: set[str] = set()
        for moment in self.moments[:place]:
            found |= identifiers(moment.text)
        return found

    def used_next(self, place: int) -> set[str]:
        """The identifiers in the inputs of the next 40 tool calls."""
        calls = [moment for moment in self.moments[place:] if moment.kind == "call"]
        return {name for call in calls[:NEXT_CALLS] for name in identifiers(call.text)}

    def needed(self, compaction: int) -> Needed:
        """What the agent had to look up, run or touch again in its next 40 tool calls (up to the next compaction).

        Names: came back in a result or a prompt, and then stood in the input of a call. Commands: run again word for
        word, if shorter than 200 characters. Files: the target of a call again, by their whole path.
        """
        kept = self.kept(compaction)
        calls = [moment.tool for moment in self.moments[:compaction] if moment.tool]
        ran = {tool.command for tool in calls} - {""}
        touched = {tool.target for tool in calls} - {""}
        lost = self.names_before(compaction) - identifiers(kept)
        came_back: set[str] = set()
        names: set[str] = set()
        commands: set[str] = set()
        files: set[str] = set()
        count = 0
        for moment in self._after(compaction):
            if moment.kind in ("result", "prompt"):
                came_back |= identifiers(moment.text)
            elif moment.tool:
                count += 1
                if count > NEXT_CALLS:
                    break
                names |= identifiers(moment.text) & lost & came_back
                command, target = moment.tool.command, moment.tool.target
                if command in ran and len(command) < LONGEST_COMMAND and command not in kept:
                    commands.add(command)
                if target in touched and os.path.basename(target) not in kept:
                    files.add(os.path.basename(target))
        return Needed(frozenset(names), frozenset(commands), frozenset(files))

    def _after(self, compaction: int) -> list[Moment]:
        later = [place for place in self.compactions if place > compaction]
        return self.moments[compaction + 1 : later[0] if later else None]

    def _moments_of(self, n: int, record: dict[str, Any]) -> Iterator[Moment]:
        for entry in clients.by_name(self.client).entries(record):
            yield from self._of_entry(n, entry)

    def _of_entry(self, n: int, entry: Entry) -> Iterator[Moment]:
        self.id, self.cwd = self.id or entry.session, self.cwd or entry.folder
        if entry.kind in ("prompt", "answer") and entry.text:
            yield Moment("prompt" if entry.kind == "prompt" else "said", entry.text, n)
        elif entry.kind == "call":
            yield Moment("call", content.given_text(entry.given), n, entry)
        elif entry.kind == "result" and not entry.unrun:
            yield Moment("result", entry.text, n, call=entry.call, failed=bool(entry.failed))
        elif entry.kind == "history" and entry.id:  # the client records no compaction, but the history that it left
            yield Moment("compaction", "", n)
            yield Moment("kept", "\n".join(content.texts_in(entry.content)), n)
        elif entry.kind == "compaction":
            yield Moment("compaction", "", n)
        elif entry.kind == "summary":
            yield Moment("kept", entry.text, n)
        elif entry.kind == "usage" and entry.tokens:
            self.usage[n] = entry.tokens

    def _first_kept(self, line: int) -> int | None:
        """The line of the oldest message that a compaction leaves in the context."""
        name = self.records[line].get("firstKeptEntryId")
        return next((n for n, other in enumerate(self.records) if name and other.get("id") == name), None)


def _read(path: Path) -> list[bytes]:
    try:
        with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
            return [line if line.endswith(b"\n") else line + b"\n" for line in file if line.strip()]
    except (lzma.LZMAError, EOFError) as error:
        raise NoTranscript(f"{path} cannot be unpacked: {error}") from None
