"""What the calls before a compaction worked with, and its summary does not tell: files, names, commands, errors."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING

from core.store.calls import FADING_CALLS
from memory.archive.call_draft import place_of, relative
from memory.archive.names import ENDINGS
from session.lost.entry import Command, Error, File, Name, by_name
from session.lost.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.store import calls as store

EDIT_WEIGHT, READ_WEIGHT = 3.0, 1.0
RUN_WEIGHT, CHECK_WEIGHT, AD_HOC_WEIGHT = 1.0, 4.0, 0.25
LONGEST_COMMAND = 300
ERROR_CHARS = 200
_WRITERS = ("edit", "write", "patch", "replace", "create_file")
# What looks around, and what is done once: nobody wants to run it again as it stands.
_LOOKS = frozenset(
    "awk basename bat cat cd column command cut diff dirname du echo env exit export false fd file find grep head jq ls"
    " nl printf pwd read realpath rg sed sleep sort stat tail test tmux tree true type uniq wc which xargs".split()
)
_ONCE = frozenset("chmod cp kill killall ln mkdir mv pkill rm rmdir set tee touch unlink unset wait".split())
_ONCE_VERBS = frozenset(
    "add append apply close comment commit config create delete dismiss edit link login merge post publish push release"
    " remove rename reopen reply unlink update upgrade".split()
)
_ONCE_FLAGS = frozenset("-X --method -f -F --field --raw-field --body --body-file --help -h --version".split())
_CHECKS = ("test", "lint", "check", "build", "fmt", "format", "vet", "tsc", "pytest", "make", "verify", "bench", "e2e")
_AD_HOC = frozenset("-c -e --eval".split())
_GIT_LOOKS = frozenset("blame branch config diff fetch log ls-files remote rev-parse show status tag".split())
_PIECE = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|(&&|\|\||[;|\n])|[^'"&|;\n]+|.""", re.S)
_WORDS_BEFORE = frozenset("do then else ! { ( time nohup sudo env exec".split())
_BLOCKS = frozenset("for while until if elif case done fi esac } )".split())
# What a tool says when it was used wrongly or stopped: it tells nothing of the work.
_TOOL_NOISE = (
    "<tool_use_error>", "the user doesn't want to", "could not find the exact text", "file content (", "command aborted",
    "[request interrupted", "exit code", "error: exit code", "file has not been read", "string to replace not found",
    "no changes to make", "inputvalidationerror", "file has been modified since read", "command timed out",
    "permission to use", "cancelled", "process exited with code", "found 0 occurrences", "file does not exist",
    "old_string", "no such tool", "[redacted", "error task failed",
)  # fmt: skip
_DULL_NAMES = frozenset("in_progress node_modules".split())
_LEAST_LETTERS = 3
_ESCAPED = re.compile(r"n[A-Z][a-z]+$")
_RANDOM = re.compile(r"^(?=.{8})[^._]*[A-Za-z]\d+[A-Za-z]")
_WORD = re.compile(r"[a-z]{4}")
_HASHED = re.compile(r"-(?=[A-Z]*\d)[A-Z0-9]{8}\.")
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
    before: Sequence[store.Call]
    after: Sequence[store.Call]
    names: Sequence[store.Name]
    call: int
    prompts: int

    def files(self) -> list[File]:
        """Files, those that weigh most first: edits more than reads, and each fading with the calls after it."""
        again = {file for call in self.after for file, _ in self._touched(call)}
        reads: dict[str, int] = {}
        edits: dict[str, int] = {}
        last: dict[str, store.Call] = {}
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
        for row in self.names:
            name = row["name"]
            if row["first"] > self.call or name in listed or not is_telling(name) or self.told.name(name):
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
        return [one for _, _, one in sorted(ranked, key=lambda entry: (*entry[:2], entry[2].name))]

    def commands(self) -> list[Command]:
        """Commands as they were run last, by how often and how lately; not what looks around or is done once."""
        again = {_key(call["command"]) for call in self.after}
        runs: dict[str, int] = {}
        last: dict[str, store.Call] = {}
        weights: dict[str, float] = {}
        for call in self.before:
            key = _key(call["command"])
            if key and is_worth_running(call["command"]):
                runs[key] = runs.get(key, 0) + 1
                last[key] = call
                weights[key] = weights.get(key, 0.0) + self._faded(_worth(call["command"]), call["number"])
        found = [
            Command(
                command=self._here(call["command"]), outcome=call["outcome"], error=_telling_error(call["error"]), runs=runs[key],
                prompts_before=self._prompts_before(call["prompt"]), calls_before=self.call - call["number"],
                again=key in again, get=by_name(next(iter(steps(call["command"]))), self.session),
            )
            for key, call in last.items()
            if not self.told.line(self._here(call["command"]))
        ]  # fmt: skip
        return sorted(found, key=lambda one: (one.again, -weights[_key(one.command)]))

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
            elif call["outcome"] == "failed" and error and bool(keys) == bool(call["command"]) and not self.told.line(error):
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

    def _touched(self, call: store.Call) -> Iterator[tuple[str, bool]]:
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
    if _ESCAPED.match(name) or _HASHED.search(name) or (_RANDOM.search(name) and not _WORD.search(name)) or name.startswith("_test."):
        return False
    return sum(map(str.isalpha, name.rpartition(".")[0] or name)) >= _LEAST_LETTERS


def is_worth_running(command: str) -> bool:
    """Whether a command may be wanted again as it stands."""
    return len(command) <= LONGEST_COMMAND and "<<" not in command and any(steps(command).values())


def steps(command: str) -> dict[str, bool]:
    """The commands in a line of a shell, without those that look around, and whether each may be wanted again."""
    parts = [""]
    for piece in _PIECE.finditer(command.partition("<<")[0].replace("2>&1", " ")):
        if piece[1]:
            parts.append("")
        else:
            parts[-1] += piece[0]
    found: dict[str, bool] = {}
    for part in parts:
        said = part.split()
        while said and (said[0] in _WORDS_BEFORE or ("=" in said[0] and not said[0].startswith("-"))):
            said = said[1:]
        if not said or said[0] in _BLOCKS:
            continue
        program = said[0].rpartition("/")[2]
        verb = next((word for word in said[1:] if not word.startswith("-")), "")
        if not program.replace("-", "").replace("_", "").replace(".", "").isalnum() or program in _LOOKS:
            continue
        if program == "git":
            if verb not in _GIT_LOOKS:
                found[f"git {verb}"] = False
            continue
        once = program in _ONCE or not _ONCE_VERBS.isdisjoint(said[1:4]) or not _ONCE_FLAGS.isdisjoint(said)
        found[" ".join(said)] = not once
    return found


def _key(command: str) -> str:
    """What two runs of a command have in common, whatever part of the output was wanted."""
    return " && ".join(steps(command))


def _worth(command: str) -> float:
    """How much a run of a command counts: most, where it checks the work."""
    said = command.split()
    if not _AD_HOC.isdisjoint(said):
        return AD_HOC_WEIGHT
    return CHECK_WEIGHT if any(word.rpartition("/")[2].startswith(_CHECKS) for word in said) else RUN_WEIGHT


def _telling_error(error: str) -> str:
    """The line of a failure, "" where it says nothing of the work."""
    line = " ".join(error.split())
    bare = _LABEL.sub("", line.lower())
    return "" if bare.startswith(_TOOL_NOISE) or _LISTING.match(line) else line[:ERROR_CHARS]
