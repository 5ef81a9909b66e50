"""What the calls before a compaction worked with, and its summary does not tell: files, names, commands, errors."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp

from core import records, shell_command
from core.names import ENDINGS
from core.project import relative
from core.shell_command import place_of
from core.store.sessions.name_rows import FADING_CALLS
from session.inject.work import is_failure
from session.lost.entry import Command, Error, File, Name, by_name
from session.lost.summary_coverage import SummaryCoverage

EDIT_WEIGHT, READ_WEIGHT = 3.0, 1.0
ERROR_CHARS = 200
LONGEST_COMMAND = 200
"""A longer one is a script that somebody wrote for one look."""
_CHECKS = ("test", "lint", "check", "build", "fmt", "format", "vet", "tsc", "pytest", "make", "verify", "bench", "e2e")
_CHECK_WEIGHT = 4.0
_WRITERS = ("edit", "write", "patch", "replace", "create_file")
_DULL_NAMES = frozenset(
    "in_progress node_modules tool_use_error files_with_matches replace_all old_string new_string".split()
)
_LEAST_LETTERS = 3
_RANDOM = re.compile(r"(?=.{8})[A-Za-z\d]*[A-Za-z]\d+[A-Za-z][A-Za-z\d]*$")
# The rest of a line break or a tab in a quoted text, numbers, hashes.
_NO_NAME = re.compile(r"[nt][A-Z][a-z]+$|.*(?:\d{5}|-(?=[A-Z]*\d)[A-Z0-9]{8}\.|[0-9a-f]{8}-[0-9a-f]{4}-)|_test\.")


@dataclass(frozen=True, slots=True)
class Work:
    """What stood before a compaction and after it.

    Args:
        session: its id.
        folder: to which files are relative.
        summary: what it tells.
        before, after: the calls before the compaction and after it, oldest first.
        names: of the whole session.
        call: number of the last call before the compaction.
        prompts: how many the user had given by then.
    """

    session: str
    folder: str
    summary: SummaryCoverage
    before: Sequence[records.Call]
    after: Sequence[records.Call]
    names: Sequence[records.Name]
    call: int
    prompts: int

    def files(self) -> list[File]:
        """Files, those that weigh most first: edits more than reads, and each fading with the calls after it."""
        again = {file for call in self.after for file, _ in self._touched(call)}
        uses: dict[str, list[int]] = {}
        last: dict[str, records.Call] = {}
        weights: dict[str, float] = {}
        for call in self.before:
            for file, edited in self._touched(call):
                uses.setdefault(file, [0, 0])[edited] += 1
                last[file] = call
                weight = self._faded(EDIT_WEIGHT if edited else READ_WEIGHT, call["number"])
                weights[file] = weights.get(file, 0.0) + weight
        found = [
            File(
                file=file, reads=uses[file][False], edits=uses[file][True],
                prompts_before=self._prompts_before(call["prompt"]), calls_before=self.call - call["number"],
                again=file in again, get=by_name(file, self.session),
            )
            for file, call in last.items()
            if not self.summary.file(file)
        ]  # fmt: skip
        return sorted(found, key=lambda one: (one.again, -weights[one.file]))

    def found_names(self) -> list[Name]:
        """Names by their fading weight; those that came back since behind the others.

        Left out are those that the list of files has, the tools, and the project's own folders.
        """
        listed = {one.file.rpartition("/")[2] for one in self.files()}
        listed |= {call["tool"] for call in (*self.before, *self.after)} | set(self.folder.split("/")) | _DULL_NAMES
        prompts = {call["number"]: call["prompt"] for call in self.before}
        ranked: list[tuple[bool, float, str, Name]] = []
        known = {row["name"] for row in self.names}
        for row in self.names:
            name = row["name"]
            if row["first"] > self.call or name in listed or not is_telling(name) or self.summary.name(name):
                continue
            if name[0] in "nt" and name[1:] in known:
                continue
            again, last = row["last"] > self.call, min(row["last"], self.call)
            place = relative(row["place"], self.folder).removeprefix("./")
            one = Name(
                name=name, place=place if place.rpartition("/")[2] != name else "", uses=row["calls"],
                prompts_before=self._prompts_before(prompts.get(last, 0)), calls_before=self.call - last, again=again,
                get=by_name(name, self.session),
            )  # fmt: skip
            ranked.append((again, -self._faded(row["weight"], row["last"]), name, one))
        return [one for *_, one in sorted(ranked, key=lambda entry: entry[:3])]

    def commands(self) -> list[Command]:
        """Commands as they were run last, by how often and how lately; not what looks around or is done once."""
        again = {shell_command.without_filters(call["command"]) for call in self.after}
        runs: dict[tuple[str, ...], int] = {}
        last: dict[tuple[str, ...], records.Call] = {}
        weights: dict[tuple[str, ...], float] = {}
        for call in self.before:
            if self._is_worth_running(call["command"]):
                key = shell_command.without_filters(self._here(call["command"]))
                checks = any(word.rpartition("/")[2].startswith(_CHECKS) for word in call["command"].split())
                runs[key] = runs.get(key, 0) + 1
                last[key] = call
                weight = self._faded(_CHECK_WEIGHT if checks else 1.0, call["number"])
                weights[key] = weights.get(key, 0.0) + weight
        found = []
        for key, call in sorted(last.items(), key=lambda entry: -weights[entry[0]]):
            command = self._here(call["command"])
            if not self.summary.line(command):
                found.append(Command(
                    command=command, outcome=shell_command.told(call["command"], call["outcome"]),
                    error=_telling_error(call["error"]), runs=runs[key],
                    prompts_before=self._prompts_before(call["prompt"]), calls_before=self.call - call["number"],
                    again=key in again, get=by_name(_done(call["command"])[0], self.session),
                ))  # fmt: skip
        return sorted(found, key=lambda one: one.again)

    def errors(self) -> list[Error]:
        """What failed: first what no later success has answered, each the latest first and once."""
        found: dict[str, Error] = {}
        done: set[str] = set()
        for call in reversed([*self.before, *self.after]):
            kinds = _done(call["command"])
            if call["outcome"] == "ok":
                done.update(kinds if shell_command.tells(call["command"]) else ())
                continue
            error = _telling_error(call["error"])
            looked_around = call["command"] and shell_command.only_looks(call["command"])
            if call["number"] > self.call or call["outcome"] != "failed" or looked_around:
                continue
            if error and not self.summary.line(error):
                shape = "".join("0" if c.isdigit() else c for c in error)
                doing = " ".join(self._here(call["command"]).split()) or f"{call['tool']} {call['file']}".strip()
                found.setdefault(shape, Error(
                    error=error, doing=doing[:ERROR_CHARS], answered=not done.isdisjoint(kinds),
                    prompts_before=self._prompts_before(call["prompt"]), calls_before=self.call - call["number"],
                    get=by_name(error, self.session),
                ))  # fmt: skip
        return sorted(found.values(), key=lambda one: one.answered)

    def _touched(self, call: records.Call) -> Iterator[tuple[str, bool]]:
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

    @staticmethod
    def _is_worth_running(command: str) -> bool:
        """Whether a command may be wanted again as it stands; what git is asked for is done once."""
        if len(command) > LONGEST_COMMAND or "\n" in command or "<<" in command:
            return False
        steps = shell_command.steps(command)
        return any(shell_command.does(step) and step["program"] not in ("git", "gh") for step in steps)

    def _faded(self, weight: float, number: int) -> float:
        return weight * exp(min(0, number - self.call) / FADING_CALLS)

    def _prompts_before(self, prompt: int) -> int:
        return max(0, self.prompts - prompt)


def is_telling(name: str) -> bool:
    """Whether a name says something by itself: it is no random token, no end of a name, no `\\nWord`."""
    if _NO_NAME.match(name):
        return False
    if any(_RANDOM.match(part) and not re.search(r"[a-z]{4}", part) for part in re.split(r"[._]", name)):
        return False
    return sum(map(str.isalpha, name.rpartition(".")[0] or name)) >= _LEAST_LETTERS


def _done(command: str) -> list[str]:
    """What a command does: each step that does not only look, as it is run."""
    return [" ".join(step["words"]) for step in shell_command.steps(command) if not step["looks"]]


def _telling_error(error: str) -> str:
    """The line of a failure, "" where it says nothing of the work."""
    line = " ".join(error.split())
    return line[:ERROR_CHARS] if is_failure(line) and not re.match(r"\d+\s*[│|→]", line) else ""
