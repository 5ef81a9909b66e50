"""What the calls before a compaction worked with, and its summary does not tell: files, names, commands, errors."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING

from core import shell_command
from core.names import ENDINGS
from core.places import place_of, relative
from core.store.sessions.calls import FADING_CALLS
from session.lost.entry import Command, Error, File, Name, by_name
from session.lost.shell_command import is_worth_running, key_of, steps, worth_of
from session.lost.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.records import Call
    from core.records import Name as NameRow

EDIT_WEIGHT, READ_WEIGHT = 3.0, 1.0
MOST_ALIKE = 2
"""Of names that always came together, such as the fields of a listing, two weigh in full, and each further one less."""
ERROR_CHARS = 200
_WRITERS = ("edit", "write", "patch", "replace", "create_file")
# What a tool says when it was used wrongly or stopped: it tells nothing of the work.
_TOOL_NOISE = (
    "<tool_use_error>", "the user doesn't want to", "could not find the exact text", "file content (",
    "command aborted", "[request interrupted", "exit code", "error: exit code", "file has not been read",
    "string to replace not found", "no changes to make", "inputvalidationerror", "file has been modified since read",
    "command timed out", "permission to use", "cancelled", "process exited with code", "found 0 occurrences",
    "file does not exist", "old_string", "no such tool", "[redacted", "error task failed",
    "request failed with status code", "(eval):cd",
)  # fmt: skip
_DULL_NAMES = frozenset(
    "in_progress node_modules tool_use_error files_with_matches replace_all old_string new_string".split()
)
_LEAST_LETTERS = 3
_ESCAPED = re.compile(r"[nt][A-Z][a-z]+$")  # the rest of a line break or a tab in a quoted text
_RANDOM = re.compile(r"(?=.{8})[A-Za-z\d]*[A-Za-z]\d+[A-Za-z][A-Za-z\d]*$")
_NUMBERED = re.compile(r"\d{5}")
_WORD = re.compile(r"[a-z]{4}")
_HASHED = re.compile(r"-(?=[A-Z]*\d)[A-Z0-9]{8}\.|[0-9a-f]{8}-[0-9a-f]{4}-")
_LABEL = re.compile(r"^\[[\w:.-]+\] ")
_LISTING = re.compile(r"\d+\s*[│|→]")


@dataclass(frozen=True, slots=True)
class Work:
    """What stood before a compaction and after it.

    Args:
        session: its id.
        folder: to which files are relative.
        told: what the summary tells.
        before, after: the calls before the compaction and after it, oldest first.
        names: of the whole session.
        call: number of the last call before the compaction.
        prompts: how many the user had given by then.
    """

    session: str
    folder: str
    told: Told
    before: Sequence[Call]
    after: Sequence[Call]
    names: Sequence[NameRow]
    call: int
    prompts: int

    def files(self) -> list[File]:
        """Files, those that weigh most first: edits more than reads, and each fading with the calls after it."""
        again = {file for call in self.after for file, _ in self._touched(call)}
        reads: dict[str, int] = {}
        edits: dict[str, int] = {}
        last: dict[str, Call] = {}
        weights: dict[str, float] = {}
        for call in self.before:
            for file, edited in self._touched(call):
                count = edits if edited else reads
                count[file] = count.get(file, 0) + 1
                last[file] = call
                weights[file] = weights.get(file, 0.0) + self._faded(
                    EDIT_WEIGHT if edited else READ_WEIGHT, call["number"]
                )
        found = [
            File(
                file=file, reads=reads.get(file, 0), edits=edits.get(file, 0),
                prompts_before=self._prompts_before(call["prompt"]), calls_before=self.call - call["number"],
                again=file in again, get=by_name(file, self.session),
            )
            for file, call in last.items()
            if not self.told.file(file)
        ]  # fmt: skip
        return sorted(found, key=lambda one: (one.again, -weights[one.file]))

    def found_names(self) -> list[Name]:
        """Names by their fading weight; those that came back since behind the others.

        Left out are those that the list of files has, the tools, and the project's own folders.
        """
        listed = {one.file.rpartition("/")[2] for one in self.files()}
        listed |= {call["tool"] for call in (*self.before, *self.after)} | set(self.folder.split("/")) | _DULL_NAMES
        prompts = {call["number"]: call["prompt"] for call in self.before}
        ranked: list[tuple[bool, float, Name]] = []
        alike: dict[str, tuple[int, int, int, str]] = {}
        known = {row["name"] for row in self.names}
        for row in self.names:
            name = row["name"]
            if row["first"] > self.call or name in listed or not is_telling(name) or self.told.name(name):
                continue
            if name[0] in "nt" and name[1:] in known:
                continue
            again = row["last"] > self.call
            last = min(row["last"], self.call)
            place = relative(row["place"], self.folder).removeprefix("./")
            one = Name(
                name=name, place=place if place.rpartition("/")[2] != name else "", uses=row["calls"],
                prompts_before=self._prompts_before(prompts.get(last, 0)), calls_before=self.call - last, again=again,
                get=by_name(name, self.session),
            )  # fmt: skip
            ranked.append((again, -self._faded(row["weight"], row["last"]), one))
            alike[one.name] = (row["first"], row["last"], row["calls"], place)
        ranked.sort(key=lambda entry: (*entry[:2], entry[2].name))
        counted: dict[tuple[int, int, int, str], int] = {}
        spread: list[tuple[bool, float, Name]] = []
        for again, weight, one in ranked:
            seen = counted[alike[one.name]] = counted.get(alike[one.name], 0) + 1
            spread.append((again, weight * min(1.0, MOST_ALIKE / seen), one))
        return [one for _, _, one in sorted(spread, key=lambda entry: entry[:2])]

    def commands(self) -> list[Command]:
        """Commands as they were run last, by how often and how lately; not what looks around or is done once."""
        again = {key_of(call["command"]) for call in self.after}
        runs: dict[str, int] = {}
        last: dict[str, Call] = {}
        weights: dict[str, float] = {}
        for call in self.before:
            key = key_of(call["command"])
            if key and is_worth_running(call["command"]):
                runs[key] = runs.get(key, 0) + 1
                last[key] = call
                weights[key] = weights.get(key, 0.0) + self._faded(worth_of(call["command"]), call["number"])
        found = [
            Command(
                command=self._here(call["command"]), outcome=shell_command.told(call["command"], call["outcome"]),
                error=_telling_error(call["error"]), runs=runs[key],
                prompts_before=self._prompts_before(call["prompt"]), calls_before=self.call - call["number"],
                again=key in again, get=by_name(next(iter(steps(call["command"]))), self.session),
            )
            for key, call in last.items()
            if not self.told.line(self._here(call["command"]))
        ]  # fmt: skip
        return sorted(found, key=lambda one: (one.again, -weights[key_of(one.command)]))

    def errors(self) -> list[Error]:
        """What failed: first what no later success has answered, each the latest first and once."""
        found: dict[str, Error] = {}
        done: set[str] = set()
        for call in reversed(self.after):
            if call["outcome"] == "ok":
                done |= steps(call["command"]).keys()
        for call in reversed(self.before):
            keys = steps(call["command"]).keys()
            error = _telling_error(call["error"])
            if call["outcome"] == "ok":
                done |= keys
                continue
            looked_around = call["command"] and not keys
            if call["outcome"] == "failed" and error and not looked_around and not self.told.line(error):
                shape = "".join("0" if c.isdigit() else c for c in error)
                doing = " ".join(self._here(call["command"]).split()) or f"{call['tool']} {call['file']}".strip()
                found.setdefault(
                    shape,
                    Error(
                        error=error, doing=doing[:ERROR_CHARS], answered=not keys.isdisjoint(done),
                        prompts_before=self._prompts_before(call["prompt"]),
                        calls_before=self.call - call["number"], get=by_name(error, self.session),
                    ),
                )  # fmt: skip
        return sorted(found.values(), key=lambda one: one.answered)

    def _touched(self, call: Call) -> Iterator[tuple[str, bool]]:
        """The file that a call worked on, and whether it wrote it; of a command the one that it names."""
        tool = call["tool"].lower()
        if call["file"]:
            yield call["file"], bool(call["command"]) or any(word in tool for word in _WRITERS)
        elif call["command"] and call["outcome"] != "failed" and not call["command"].startswith("git "):
            place = relative(place_of("", call["command"]), self.folder).removeprefix("./")
            if place.rpartition(".")[2] in ENDINGS and "/" in place and not set(place) & set("*$:{}<>=\\"):
                yield place, False

    def _here(self, command: str) -> str:
        """A command as it is run in the project's folder."""
        for folder in (self.folder, shlex.quote(self.folder), f'"{self.folder}"'):
            start = f"cd {folder} && "
            if self.folder and command.startswith(start):
                return command[len(start) :].lstrip()
        return command

    def _faded(self, weight: float, number: int) -> float:
        return weight * exp(min(0, number - self.call) / FADING_CALLS)

    def _prompts_before(self, prompt: int) -> int:
        return max(0, self.prompts - prompt)


def is_telling(name: str) -> bool:
    """Whether a name says something by itself: it is no random token, no end of a name, no `\\nWord`."""
    if _ESCAPED.match(name) or _HASHED.search(name) or _NUMBERED.search(name) or name.startswith("_test."):
        return False
    if any(_RANDOM.match(part) and not _WORD.search(part) for part in re.split(r"[._]", name)):
        return False
    return sum(map(str.isalpha, name.rpartition(".")[0] or name)) >= _LEAST_LETTERS


def _telling_error(error: str) -> str:
    """The line of a failure, "" where it says nothing of the work."""
    line = " ".join(error.split())
    bare = _LABEL.sub("", line.lower())
    return "" if bare.startswith(_TOOL_NOISE) or _LISTING.match(line) else line[:ERROR_CHARS]
