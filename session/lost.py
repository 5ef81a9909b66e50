"""What the last compaction of a session dropped: files, names, commands, errors and the user's words.

An entry is what `joelclaw lost` prints: `again` says that it was used again since, and `get` is the command for it.
"""

import shlex
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw

from core import clock, shell_command
from core.errors import Failure
from core.names import ENDINGS, names_in
from core.project import OUTSIDE, current_lines, relative
from core.project import names_of as project_names
from core.quoting import clip
from core.records import Call, Place, Session
from core.shell_command import place_of
from core.store import sessions
from core.store.branches import History
from core.store.calls import fading
from core.store.sqlite import ALL
from core.words import printable_line
from memory import curate
from session import command_runs, own_command, requests

Entry = dict[str, Any]

KINDS = ("files", "names", "commands", "errors", "words")
MAX_CALLS = 5_000  # of a session that are looked at, as many messages
MAX_ERROR_CHARS = 200
ARCHIVE_ALL = "joelclaw memory archive --all"


def of_project(db: apsw.Connection, given: str, kinds: Sequence[str], *, project: str) -> dict[str, Any]:
    """What the last compaction dropped from the `given` session, else from the session that was compacted last.

    Raises SESSION_NOT_FOUND and NO_COMPACTION.
    """
    latest = sessions.latest(db, 1)
    if not (given or latest):
        curate.refuse_forgotten(db, next(iter(sessions.forgotten_ids(db)), ""))
        fix = f"archive your past sessions: {ARCHIVE_ALL}"
        raise Failure("SESSION_NOT_FOUND", "no session is archived yet", fix)
    if given:
        known = sessions.by_id(db, sessions.whole_id(db, given))
        if known is None:
            curate.refuse_forgotten(db, given)
            fix = f"archive its transcript: joelclaw memory archive PATH, or {ARCHIVE_ALL}"
            raise Failure("SESSION_NOT_FOUND", f"no session {given[:80]!r} is archived", fix)
        return of_session(db, known, kinds)
    ours = sessions.last_compacted(db, project_names(project, sessions.projects(db))) if project else None
    session = ours or sessions.last_compacted(db)
    if session is None:
        raise _no_compaction(db, latest[0]["id"])
    return of_session(db, session, kinds, chosen="project" if ours else "last")


def of_session(db: apsw.Connection, session: Session, kinds: Sequence[str], *, chosen: str = "given") -> dict[str, Any]:
    """The same for this session; `lost` holds the entries of each kind, the most useful first."""
    identifier = session["id"]
    history = History(db, identifier)
    compactions = history.compactions()
    if not compactions:
        raise _no_compaction(db, identifier)
    last = compactions[-1]
    work = _Work(session, history, last)
    return {
        "session": identifier, "chosen": chosen, "client": session["client"], "project": session["project"],
        "folder": session["folder"],
        "compaction": {
            "number": len(compactions),
            "at": clock.iso(last["at"] or None),
            "callsBefore": last["call"],
            "summaryKnown": bool(last["summary"]),
        },
        "lost": {kind: getattr(work, kind)() for kind in KINDS if kind in kinds},
    }  # fmt: skip


def by_file(names: Sequence[Entry]) -> list[str]:
    """`file: name:line name:line`, one line for each file, in the order of their first names."""
    found: dict[str, list[str]] = {}
    for entry in names:
        file, _, line = entry["place"].rpartition(":")
        found.setdefault(file, []).append(f"{entry['name']}:{line}")
    return [f"{file}: {' '.join(entries)}" for file, entries in found.items()]


def recall_command(text: str, session: str) -> str:
    """The command that recalls a name, a path, a command or an error in a session; a shell runs it unchanged."""
    line = printable_line(text)
    most = 80  # characters
    if len(line) > most and " " not in line and "/" in line:  # the end of a path says more
        line = line[-most:].partition("/")[2] or line
    line = line[:most].lstrip("- ").rstrip()
    return f"{own_command.word()} recall {shlex.quote(line)} --session {shlex.quote(session)} --limit 3"


class _Summary:
    """What the client kept in place of everything before the compaction."""

    def __init__(self, text: str, files: set[str]) -> None:
        identifiers, others = names_in(text)
        counted = Counter(file.rpartition("/")[2] for file in files)
        self.names = identifiers | others
        self._shared = {base for base, count in counted.items() if count > 1}  # base names of several files
        self._text = text
        self._line = " ".join(text.split())
        self._letters = "".join(filter(str.isalnum, text.lower()))

    def has_file(self, path: str) -> bool:
        """Whether it names a file, together with its folder if several files have that base name."""
        folder, _, base = path.rpartition("/")
        if base in self._shared and folder:
            return f"{folder.rpartition('/')[2]}/{base}" in self._text
        return base in self.names or base in self._text

    def has_line(self, text: str) -> bool:
        """Whether it holds a command or an error word for word."""
        return " ".join(text.split()) in self._line

    def has_text(self, text: str) -> bool:
        """Whether it holds the beginning of a text, letter by letter."""
        return _key_of(text) in self._letters


class _Work:
    """The calls, names, places and prompts of a session, divided by its last compaction; a method for each kind."""

    def __init__(self, session: Session, history: History, compaction: dict[str, Any]) -> None:
        self._session = session["id"]
        self._folder = session["folder"]
        self._last = compaction["call"]
        calls = history.calls(MAX_CALLS)
        self._before = [call for call in calls if call["number"] <= self._last]
        self._after = [call for call in calls if call["number"] > self._last]
        # Prompts before the compaction; if the client gives no time, up to the prompt of the last call.
        turns = history.episodes(MAX_CALLS, compaction["at"] or ALL)
        self._prompts = [
            (identifier, text[len("user:") :].strip()) for identifier, text, _ in turns if text.startswith("user:")
        ]
        if self._before and not compaction["at"]:
            self._prompts = self._prompts[: self._before[-1]["prompt"]]
        self._summary = _Summary(compaction["summary"], {call["file"] for call in self._before})
        self._history = history

    def files(self) -> list[Entry]:
        """Files, by their weight: an edit counts as three reads, and both fade with the calls after them."""
        again = {file for call in self._after for file, _ in self._touched(call)}
        weights: dict[str, float] = {}
        for call in self._before:
            for file, edited in self._touched(call):
                weight = self._faded(3.0 if edited else 1.0, call["number"])
                weights[file] = weights.get(file, 0.0) + weight
        return _ranked(
            (weight, {"file": file, "again": file in again, "get": recall_command(file, self._session)})
            for file, weight in weights.items()
            if not self._summary.has_file(file)
        )

    def names(self) -> list[Entry]:
        """Names with a known place, by their fading weight; those that came back since are at the end."""
        rows = {row["name"]: row for row in self._history.names(every=True) if row["first"] <= self._last}
        places: dict[str, list[Place]] = {}
        for place in self._history.places():
            is_missing = place["name"] in rows and place["name"] not in self._summary.names
            if is_missing and not place["file"].startswith(OUTSIDE):
                places.setdefault(place["file"], []).append(place)
        until = time.monotonic() + 2.0  # for reading files, whose lines may have moved
        current = [place for inside in places.values() for place, _ in current_lines(self._folder, inside, until)]
        best = {place["name"]: place for place in sorted(current, key=lambda it: (it["defines"], it["number"]))}
        found = []
        for name, place in sorted(best.items()):
            row = rows[name]
            entry = {
                "name": name, "place": f"{place['file']}:{place['line']}", "again": row["last"] > self._last,
                "get": recall_command(name, self._session),
            }  # fmt: skip
            found.append((self._faded(row["weight"], row["last"]), entry))
        return _ranked(found)

    def commands(self) -> list[Entry]:
        """Commands as they ran last, by how often and how recently; a check counts four times.

        Commands that only look at something, and scripts for a single look, are left out.
        """
        again = {_without_filters(call["command"]) for call in self._after}
        last: dict[tuple[str, ...], Call] = {}
        weights: dict[tuple[str, ...], float] = {}
        for call in self._before:
            command = call["command"]
            if len(command) > 200 or "\n" in command or "<<" in command:
                continue
            programs = [step["program"] for step in shell_command.steps(command) if shell_command.does(step)]
            if any(program not in ("git", "gh", own_command.NAME) for program in programs):
                key = _without_filters(command_runs.in_folder(command, self._folder))
                last[key] = call
                weight = self._faded(4.0 if command_runs.is_check(command) else 1.0, call["number"])
                weights[key] = weights.get(key, 0.0) + weight
        found = []
        for key, call in last.items():
            command = command_runs.in_folder(call["command"], self._folder)
            doing = [" ".join(step["words"]) for step in shell_command.steps(call["command"]) if not step["looks"]]
            entry = {
                "command": command, "outcome": shell_command.reliable_outcome(call["command"], call["outcome"]),
                "error": _reason(call), "again": key in again, "get": recall_command(doing[0], self._session),
            }  # fmt: skip
            found += [] if self._summary.has_line(command) else [(weights[key], entry)]
        return _ranked(found)

    def errors(self) -> list[Entry]:
        """Failures whose subject no later command succeeded with, the latest first, each once."""
        found: dict[str, Entry] = {}
        done: set[str] = set()
        for call in reversed([*self._before, *self._after]):
            subjects = {
                subject
                for step in shell_command.steps(call["command"])
                if not step["looks"]
                for subject in command_runs.subjects_of(step)
            }
            if call["outcome"] != "failed":
                done |= subjects
            elif call["number"] <= self._last and subjects and done.isdisjoint(subjects):
                error = _reason(call)
                if error and not self._summary.has_line(error):
                    shape = "".join("0" if char.isdigit() else char for char in error)
                    doing = " ".join(command_runs.in_folder(call["command"], self._folder).split())[:MAX_ERROR_CHARS]
                    get = recall_command(error, self._session)
                    found.setdefault(shape, {"error": error, "doing": doing, "get": get})
        return list(found.values())

    def words(self) -> list[Entry]:
        """What the user said, the latest first, each once: topics and requests that the summary does not repeat."""
        found: dict[str, Entry] = {}
        for identifier, text in reversed(self._prompts):
            key = _key_of(text)
            if requests.says_something(text) and key not in found and not self._summary.has_text(text):
                shown = clip(" ".join(text.split()), 300)
                get = f"{own_command.word()} memory show {shlex.quote(identifier)}"
                found[key] = {"text": shown, "id": identifier, "get": get}
        return list(found.values())

    def _touched(self, call: Call) -> Iterator[tuple[str, bool]]:
        """The file that a call worked on and whether it wrote it; for a command the file that it names."""
        tool = call["tool"].lower()
        if call["file"]:
            writes = any(word in tool for word in ("edit", "write", "patch", "replace", "create_file"))
            yield call["file"], bool(call["command"]) or writes
        elif call["command"] and call["outcome"] != "failed" and not call["command"].startswith("git "):
            place = relative(place_of("", call["command"]), self._folder).removeprefix("./")
            if place.rpartition(".")[2] in ENDINGS and "/" in place and not set(place) & set("*$:{}<>=\\"):
                yield place, False

    def _faded(self, weight: float, number: int) -> float:
        return weight * fading(max(0, self._last - number))


def _ranked(weighted: Iterable[tuple[float, Entry]]) -> list[Entry]:
    """The entries by their weight; those that were used again since are last."""
    return [entry for _, entry in sorted(weighted, key=lambda row: (row[1]["again"], -row[0]))]


def _reason(call: Call) -> str:
    """Why a call failed, "" if its error line says nothing about the work."""
    line = " ".join(call["error"].split())
    return line[:MAX_ERROR_CHARS] if call["outcome"] == "failed" and command_runs.is_failure(line) else ""


def _key_of(text: str) -> str:
    """The first sixty letters and digits of a text, which identify it in a summary."""
    return "".join(filter(str.isalnum, text.lower()))[:60]


def _without_filters(command: str) -> tuple[str, ...]:
    """The steps of a command line without filters of the step before: the same for `make` and `make | tail -3`."""
    kept: list[str] = []
    mark = ""
    for step in shell_command.steps(command):
        if not (mark == "|" and step["looks"]):
            kept.append(" ".join(step["words"]))
        mark = step["mark"]
    return tuple(kept)


def _no_compaction(db: apsw.Connection, session: str) -> Failure:
    other = sessions.last_compacted(db)
    fix = f"the last that was: joelclaw lost {shlex.quote(other['id'])}" if other else "ask again after a compaction"
    return Failure("NO_COMPACTION", f"session {session} has not been compacted: nothing is lost", fix)
