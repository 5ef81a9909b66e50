"""What the calls before a compaction worked with, and its summary does not tell: files, names, commands, errors.

An entry is what `joelclaw lost` prints: `promptsBefore` and `callsBefore` count what stood between its last use and the
compaction, `again` says that it was used again since, and `get` is the command that brings it back.
"""

import shlex
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from math import exp
from typing import Any

from core import shell_command, worktree
from core.names import ENDINGS, names_in
from core.project import OUTSIDE, relative
from core.records import Call, Name, Place
from core.shell_command import place_of
from core.store.places_and_names import FADING_CALLS
from session import own_command
from session.notes import command_runs

Entry = dict[str, Any]

EDIT_WEIGHT, READ_WEIGHT = 3.0, 1.0
ERROR_CHARS = LONGEST_COMMAND = 200
"""A longer command is a script that somebody wrote for one look."""
QUERY_CHARS = 80
_CHECK_WEIGHT = 4.0
_WRITERS = ("edit", "write", "patch", "replace", "create_file")
_LOOK_S = 2.0
_UNSAFE = frozenset('"$`\\!')
"""What a shell would act on between double quotes."""
_KEY_CHARS = 60


class Summary:
    """What the client kept in place of what was before; several `files` of one base name are told with their folder."""

    def __init__(self, text: str, files: set[str]) -> None:
        identifiers, others = names_in(text)
        counted = Counter(file.rpartition("/")[2] for file in files)
        self._names = identifiers | others
        self._shared = {base for base, count in counted.items() if count > 1}
        self._text = text
        self._line = " ".join(text.split())
        self._letters = "".join(filter(str.isalnum, text.lower()))

    def has_name(self, name: str) -> bool:
        """Whether a name stands in it."""
        return name in self._names

    def has_file(self, path: str) -> bool:
        """Whether a file does: by its name, or, where others are called so too, by its name and folder."""
        folder, _, base = path.rpartition("/")
        if base in self._shared and folder:
            return f"{folder.rpartition('/')[2]}/{base}" in self._text
        return base in self._names or base in self._text

    def has_line(self, text: str) -> bool:
        """Whether a line, such as a command or an error, does word for word."""
        return " ".join(text.split()) in self._line

    def has_text(self, text: str) -> bool:
        """Whether a text begins as something in it does, letter by letter."""
        return key_of(text) in self._letters


class Work:
    """What stood before a compaction and after it, of all calls (oldest first), names and places of a session."""

    def __init__(
        self, session: str, folder: str, summary: Summary, calls: Sequence[Call], names: Sequence[Name],
        places: Sequence[Place], last: int, prompts: int,
    ) -> None:  # fmt: skip
        self._session = session
        self._folder = folder
        self._summary = summary
        self._before = [call for call in calls if call["number"] <= last]
        self._after = [call for call in calls if call["number"] > last]
        self._names = names
        self._places = places
        self._last = last
        self._prompts = prompts

    def files(self) -> list[Entry]:
        """Files, those that weigh most first: edits more than reads, and each fading with the calls after it."""
        again = {file for call in self._after for file, _ in self._touched(call)}
        uses: dict[str, list[int]] = {}
        last: dict[str, Call] = {}
        weights: dict[str, float] = {}
        for call in self._before:
            for file, edited in self._touched(call):
                uses.setdefault(file, [0, 0])[edited] += 1
                last[file] = call
                weight = self._faded(EDIT_WEIGHT if edited else READ_WEIGHT, call["number"])
                weights[file] = weights.get(file, 0.0) + weight
        found = [
            {
                "file": file, "reads": uses[file][False], "edits": uses[file][True], **self._when(call),
                "again": file in again, "get": by_name(file, self._session),
            }
            for file, call in last.items()
            if not self._summary.has_file(file)
        ]  # fmt: skip
        return sorted(found, key=lambda one: (one["again"], -weights[one["file"]]))

    def found_names(self) -> list[Entry]:
        """Names of which is known where they stand, by their fading weight; those that came back since at the end."""
        rows = {row["name"]: row for row in self._names if row["first"] <= self._last}
        missing = [
            place
            for place in self._places
            if place["name"] in rows
            and not self._summary.has_name(place["name"])
            and not place["file"].startswith(OUTSIDE)
        ]
        best: dict[str, Place] = {}
        for place in sorted(self._standing(missing), key=lambda one: (one["defines"], one["number"])):
            best[place["name"]] = place
        prompts = {call["number"]: call["prompt"] for call in self._before}
        ranked: list[tuple[bool, float, str, Entry]] = []
        for name, place in best.items():
            row = rows[name]
            again, last = row["last"] > self._last, min(row["last"], self._last)
            one = {
                "name": name, "place": f"{place['file']}:{place['line']}", "uses": row["calls"],
                "promptsBefore": max(0, self._prompts - prompts.get(last, 0)), "callsBefore": self._last - last,
                "again": again, "get": by_name(name, self._session),
            }  # fmt: skip
            ranked.append((again, -self._faded(row["weight"], row["last"]), name, one))
        return [one for *_, one in sorted(ranked, key=lambda entry: entry[:3])]

    def _standing(self, places: Sequence[Place]) -> Iterator[Place]:
        """The places as the files are now, file by file."""
        until = time.monotonic() + _LOOK_S
        by_file: dict[str, list[Place]] = {}
        for place in places:
            by_file.setdefault(place["file"], []).append(place)
        for inside in by_file.values():
            yield from worktree.current_places(self._folder, inside, until)

    def commands(self) -> list[Entry]:
        """Commands as they were run last, by how often and how lately; not what looks around or is done once."""
        again = {_without_filters(call["command"]) for call in self._after}
        runs: dict[tuple[str, ...], list[Call]] = {}
        weights: dict[tuple[str, ...], float] = {}
        for call in self._before:
            command = call["command"]
            if len(command) > LONGEST_COMMAND or "\n" in command or "<<" in command:
                continue
            steps = shell_command.steps(command)
            if any(
                shell_command.does(step) and step["program"] not in ("git", "gh", own_command.NAME) for step in steps
            ):
                key = _without_filters(self._here(command))
                runs.setdefault(key, []).append(call)
                weight = self._faded(_CHECK_WEIGHT if command_runs.is_check(command) else 1.0, call["number"])
                weights[key] = weights.get(key, 0.0) + weight
        found = []
        for key, calls in sorted(runs.items(), key=lambda entry: -weights[entry[0]]):
            command, call = self._here(calls[-1]["command"]), calls[-1]
            if not self._summary.has_line(command):
                found.append({
                    "command": command, "outcome": shell_command.told(call["command"], call["outcome"]),
                    "error": _telling_error(call), "runs": len(calls), **self._when(call),
                    "again": key in again, "get": by_name(_done(call["command"])[0], self._session),
                })  # fmt: skip
        return sorted(found, key=lambda one: bool(one["again"]))

    def errors(self) -> list[Entry]:
        """What failed and was not run since, by whatever command, but to fail again: the latest first, each once."""
        found: dict[str, Entry] = {}
        done: set[str] = set()
        for call in reversed([*self._before, *self._after]):
            subjects = {
                one
                for step in shell_command.steps(call["command"])
                if not step["looks"]
                for one in command_runs.subjects_of(step)
            }
            if call["outcome"] != "failed":
                done |= subjects
            elif call["number"] <= self._last and subjects and done.isdisjoint(subjects):
                error = _telling_error(call)
                if error and not self._summary.has_line(error):
                    shape = "".join("0" if c.isdigit() else c for c in error)
                    found.setdefault(shape, {
                        "error": error, "doing": " ".join(self._here(call["command"]).split())[:ERROR_CHARS],
                        **self._when(call), "get": by_name(error, self._session),
                    })  # fmt: skip
        return list(found.values())

    def _when(self, call: Call) -> Entry:
        before = max(0, self._prompts - call["prompt"])
        return {"promptsBefore": before, "callsBefore": self._last - call["number"]}

    def _touched(self, call: Call) -> Iterator[tuple[str, bool]]:
        """The file that a call worked on, and whether it wrote it; of a command the one that it names."""
        tool = call["tool"].lower()
        if call["file"]:
            yield call["file"], bool(call["command"]) or any(word in tool for word in _WRITERS)
        elif call["command"] and call["outcome"] != "failed" and not call["command"].startswith("git "):
            place = relative(place_of("", call["command"]), self._folder).removeprefix("./")
            if place.rpartition(".")[2] in ENDINGS and "/" in place and not set(place) & set("*$:{}<>=\\"):
                yield place, False

    def _here(self, command: str) -> str:
        """A command as it is run in the project's folder."""
        for folder in (self._folder, shlex.quote(self._folder), f'"{self._folder}"'):
            start = f"cd {folder} && "
            if self._folder and command.startswith(start):
                return command[len(start) :].lstrip()
        return command

    def _faded(self, weight: float, number: int) -> float:
        return weight * exp(min(0, number - self._last) / FADING_CALLS)


def by_name(text: str, session: str) -> str:
    """The command that recalls a name, a path, a command or an error in a session; runs as it stands."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    while len(line) > QUERY_CHARS and " " not in line and "/" in line:  # the end of a path tells more than its start
        line = line.partition("/")[2]
    line = line[:QUERY_CHARS].lstrip("- ").rstrip()
    query = shlex.quote(line) if not line or not _UNSAFE.isdisjoint(line) else f'"{line}"'
    return f"{own_command.word()} recall {query} --session {shlex.quote(session)} --limit 3"


def _done(command: str) -> list[str]:
    """What a command does: each step that does not only look, as it is run."""
    return [" ".join(step["words"]) for step in shell_command.steps(command) if not step["looks"]]


def _telling_error(call: Call) -> str:
    """The line of a failure, "" where it says nothing of the work."""
    line = " ".join(call["error"].split())
    return line[:ERROR_CHARS] if call["outcome"] == "failed" and command_runs.is_failure(line) else ""


def key_of(text: str) -> str:
    """What tells a text from others, whatever stands between its first letters and digits."""
    return "".join(filter(str.isalnum, text.lower()))[:_KEY_CHARS]


def _without_filters(command: str) -> tuple[str, ...]:
    """What a line runs, without what only reads the previous step's output: the same for `make | tail -3`."""
    kept: list[str] = []
    mark = ""
    for step in shell_command.steps(command):
        if not (mark == "|" and step["looks"]):
            kept.append(" ".join(step["words"]))
        mark = step["mark"]
    return tuple(kept)
