"""Where the work of a session stands, from what it did: task, open step, open failure, commands, working set. Hot path.

Plain functions over rows of `core.store.sessions.calls`; who composes a text decides what of it is shown.
"""

from __future__ import annotations

from core import shell_command
from core.names import is_file
from core.quoting import one_line
from core.speech import own_words
from recall.by_name.work_cards import faded
from session.inject.topics import is_request, is_topic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Sequence

    from core.records import Call, Name, Session

FADED = 0.05
"""A name that weighs less is not at work any more."""
MOST_FILES = 9
_LEAST_NAME = 5
_DEPENDENCIES = frozenset(("node_modules", "site-packages", "dist-packages", ".venv"))
"""Folders of what others wrote, which an agent reads and does not work on."""
_SHORT_STEM = 5
_WRITTEN, _LISTED = 1.5, 0.1
"""How much a name counts that the agent itself wrote (of 1 to 3 the best on half of 29 real sessions), and one that it
was only shown, in no file: listings are full of those."""
MOST_NAMES = 100
"""In a file."""
TASK_CHARS = 200
_SENTENCE_LEAST = 60
_LATE_CALLS = 60
_LOOKED_BACK = 12
# With that much behind it a plan was left: in 29 real sessions no step was taken up again that had a request behind it,
# or more than 122 calls.
_LEFT_REQUESTS, _LEFT_CALLS = 2, 150
# Answers of a client in place of a tool's, and what a tool says of how it was held: nothing failed to be mended.
_NOT_RUN = (
    "the user doesn't want", "the user does not want", "sibling tool call", "command aborted", "[request interrupted",
    "request interrupted", "user rejected", "permission to use", "cancelled", "<tool_use_error>", "exit code ",
    "file has not been read", "string to replace not found", "could not find the exact text",
)  # fmt: skip
# How a person says what holds from now on.
_DEMANDING = (
    " must ", " never ", " always ", " prefer ", " no need ", " only want ", " should not ",
    " shouldn't ", " from now on", " don't leave ", " and don't ", " please don't ", " we don't want", " i don't want",
    " no backward", " directive is ", " at all costs",
)  # fmt: skip
_DEMANDING_FIRST = ("don't ", "dont ", "do not ", "also don't ", "please do not ", "avoid ", "only ")
_OF_OTHERS = (" it never ", " they never ", " doesn't ", " isn't ", "always lists", "always return", "i don't think")
_TYPED_CHARS = 1_500
# How an agent says that one way was taken, and why.
_CHOOSING = (
    " instead ", " rather than ", " must ", " should ", " never ", " always ", " only ", " keep ", " avoid ", " use ",
    " don't ", " not ", " decided ", " chose ", " won't ", " skip ", " leave ", " drop ", " prefer ",
)  # fmt: skip
_REASONS = (
    " because ", " so that ", " otherwise ", " since ", " due to ", " to avoid ", " would break",
    " would fail", " so it ", " so we ", " without it", " unless ",
)  # fmt: skip
_NARRATING = (
    " let me", " now ", " i'll", " i will", " i need", " i'm ", " next", " good", " great", " perfect", " the test",
    " let's", " so ", " i can", " i see", " looking", " wait", " hmm", " yes", " ok",
)  # fmt: skip
_DEMAND_LEAST = 25
_INTERPRETERS = frozenset("python python3 node npx tsx bun deno ruby perl bash sh php".split())
"""What they are given on the command line is tried once, and is not what the work is about."""


def last_task(prompts: Sequence[str]) -> str:
    """What the user last asked for, without what he pasted: of the last prompt that says more than "go on".

    Args:
        prompts: oldest first.
    """
    for prompt in prompts[: -_LOOKED_BACK - 1 : -1]:
        if is_request(prompt):
            return own_words.of(prompt).strip() or prompt
    return ""


def opening(prompt: str, characters: int = TASK_CHARS) -> str:
    """How a prompt begins, on one line and without marks, to the end of a sentence where one comes late enough."""
    line = one_line("\n".join(part.lstrip("#>*- ") for part in prompt[:2000].splitlines()))
    if len(line) <= characters:
        return line
    head = line[:characters]
    for end in (". ", "? ", "! "):
        before = head.rpartition(end)[0]
        if len(before) >= _SENTENCE_LEAST and not before[-1].isdigit():
            return before + end[0]
    head = head[: characters - 1]
    return (head.rpartition(" ")[0] or head) + "…"


def demands(prompts: Sequence[str], most: int) -> list[str]:
    """Sentences in which the user says how things are to be done, the newest first, each once.

    Args:
        prompts: oldest first.
    """
    found: dict[str, None] = {}
    for prompt in reversed(prompts):
        if len(found) >= most or not is_topic(prompt):
            continue
        said = own_words.said(prompt)
        if len(said) > _TYPED_CHARS or "\n#" in said:  # a longer one is pasted, one with headings is a plan
            continue
        for sentence in _sentences(said):
            lower = f" {own_words.unquoted(sentence).lower()} "
            if _DEMAND_LEAST <= len(sentence) <= TASK_CHARS and "?" not in sentence and _demands(lower):
                found.setdefault(sentence)
    return list(found)[:most]


def decisions(said: Sequence[str]) -> list[str]:
    """Sentences of the agent that choose something and say why, the newest first.

    Args:
        said: what it said, oldest first.
    """
    found: dict[str, None] = {}
    for text in reversed(said):
        for sentence in _sentences(text):
            lower = " " + sentence.lower().replace("’", "'") + " "
            if _DEMAND_LEAST * 2 <= len(sentence) <= TASK_CHARS and not sentence.endswith((":", "?")):
                chooses = any(mark in lower for mark in _CHOOSING)
                if chooses and any(mark in lower for mark in _REASONS) and not lower.startswith(_NARRATING):
                    found.setdefault(sentence)
    return list(found)


def open_step(about: Session, prompts: Sequence[str]) -> str:
    """The step of the plan that is in progress, else the first that is pending; "" where the plan is done, or was left.

    It was left where the session has gone on for long, or to other things, without a look at it.

    Args:
        prompts: the last ones, oldest first.
    """
    if "plan_at" in about:
        call, prompt = about["plan_at"]
        behind = prompts[-(about["prompts"] - prompt) :] if prompt < about["prompts"] else ()
        if about["calls"] - call > _LEFT_CALLS or sum(map(is_request, behind)) >= _LEFT_REQUESTS:
            return ""
    for wanted in ("in_progress", "pending"):
        for _, text, status in about["plan"]:
            if status == wanted:
                return text
    return ""


def open_failure(calls: Sequence[Call]) -> Call | None:
    """The last command that failed, where none of the same program and verb has run well since."""
    answered: set[str] = set()
    for call in calls[: -_LATE_CALLS - 1 : -1]:
        kinds = kinds_of(call["command"])
        if call["outcome"] == "ok":
            answered.update(kinds)
        elif call["outcome"] == "failed" and kinds and kinds[-1] not in answered and is_failure(call):
            return call
    return None


def standing(commands: Sequence[Call]) -> list[Call]:
    """Of commands that differ only in what reads their output the last; none that failed and was answered since.

    Args:
        commands: best first, each with its last outcome.
    """
    latest: dict[tuple[str, ...], Call] = {}
    done: dict[str, int] = {}
    for call in commands:
        key = shell_command.without_filters(call["command"])
        latest[key] = max(call, latest.get(key, call), key=lambda one: one["number"])
        if call["outcome"] == "ok":
            for kind in kinds_of(call["command"]):
                done[kind] = max(done.get(kind, 0), call["number"])
    return [
        call
        for call in latest.values()
        if call["outcome"] != "failed"
        or not any(done.get(kind, 0) > call["number"] for kind in kinds_of(call["command"])[-1:])
    ]


def kinds_of(command: str) -> list[str]:
    """Program and verb of each step of a command (`git commit`, `mise run lint`), without those that only look."""
    return [shell_command.kind(step) for step in shell_command.steps(command) if not step["looks"]]


def is_check(command: str) -> bool:
    """Whether a command does something that its outcome tells of: a test, a build; not what git is asked for."""
    return any(
        not step["looks"] and shell_command.does(step) and step["program"] not in ("git", "gh")
        for step in shell_command.steps(command)
    )


def by_place(names: Sequence[Name], total: int) -> dict[str, float]:
    """How much is at work in each place: the faded weights of its names together."""
    places: dict[str, float] = {}
    for name in names:
        places[name["place"]] = places.get(name["place"], 0.0) + faded(name, total)
    return places


def working_set(
    names: Sequence[Name],
    total: int,
    *,
    without: Container[str],
    characters: int,
    most_files: int = MOST_FILES,
    most_names: int = MOST_NAMES,
    known: Collection[str] = (),
) -> list[tuple[str, list[str]]]:
    """Places and the names last at work in each, most needed first, within so many characters.

    A name counts by its faded weight, by how much is at work in its place, and by its shortness: of seven rules on
    half of 29 real sessions the one that showed most of what the agent used next. What stands in a longer name that
    is shown is not repeated. Names of no file come last, under "".

    Args:
        total: calls of the session so far.
        without: what the reader has before him already (a text, or a set).
        known: paths that he has before him; of a file that is the only one of its name the name will do.
    """
    found: dict[str, list[str]] = {}
    folders: set[str] = set()
    shown, room = "", characters
    short = _short_places(names, known)
    for text, path in _ranked(names, total, without):
        if room <= _LEAST_NAME:
            break
        place = short.get(path, path)
        if text in shown or len(found.get(place, ())) >= most_names:
            continue
        needed = len(text) + 1
        folder, _, file = place.rpartition("/")
        if place not in found:
            if place and len(found) >= most_files:
                continue
            needed += len(file) + 4 + (0 if not folder or folder in folders else len(folder) + 4)
        if needed > room:
            continue
        room -= needed
        folders.add(folder)
        inside = found.setdefault(place, [])
        if text != file:
            inside.append(text)
        shown = f"{shown} {place} {text}"
    return sorted(found.items(), key=lambda entry: not entry[0])


def _short_places(names: Sequence[Name], known: Collection[str]) -> dict[str, str]:
    """The names of the files whose paths are known, where no other file has the name, here or among the known."""
    if not known:
        return {}
    files: dict[str, list[str]] = {}
    for place in {name["place"] for name in names}:
        if _file_of(place):
            files.setdefault(place.rpartition("/")[2], []).append(place)
    named: dict[str, list[str]] = {}
    for path in known:
        file = path.rpartition("/")[2]
        if file in files:
            named.setdefault(file, []).append(f"/{path}")
    return {
        files[file][0]: file
        for file, paths in named.items()
        if len(files[file]) == 1 and all(path.endswith(f"/{files[file][0]}") for path in paths)
    }


def _ranked(names: Sequence[Name], total: int, without: Container[str]) -> list[tuple[str, str]]:
    """The names and the files that they are shown under, most needed first."""
    places = by_place(names, total)
    files = {place: _file_of(place) for place in places}
    worked_on = {file.rpartition("/")[2] for file in files.values()}
    ranked: list[tuple[float, str, str]] = []
    for name in names:
        weight, text, place = faded(name, total), name["name"], name["place"]
        if weight >= FADED and text not in without and not _is_fixture(text, worked_on):
            worth = weight * (places[place] + 0.1) ** 0.5 / (len(text) + 1) ** 0.5
            worth *= _WRITTEN if name["written"] else 1.0 if files[place] else _LISTED
            ranked.append((-worth, text, files[place]))
    ranked.sort()
    return [(text, place) for _, text, place in ranked]


def _is_fixture(name: str, worked_on: Container[str]) -> bool:
    """Whether it is a file that no call worked on, with a name as tests give it: `a.go`, `file1.txt`, `test.txt`."""
    return (
        is_file(name) and name not in worked_on and len(name.partition(".")[0].rstrip("0123456789ABC")) <= _SHORT_STEM
    )


def _sentences(prompt: str) -> list[str]:
    lines = [line.strip() for line in prompt.replace("**", "").splitlines()]
    found = []
    for line in lines:
        found += [one_line(part).strip(" -*>") for part in line.replace("; ", ". ").split(". ")]
    return found


def _demands(lower: str) -> bool:
    if lower[1:2] in "\"'" or any(mark in lower for mark in _OF_OTHERS):
        return False
    return any(mark in lower for mark in _DEMANDING) or lower[1:].startswith(_DEMANDING_FIRST)


def is_failure(call: Call) -> bool:
    """Whether a call that failed has an error of the work, not of how it was run or tried."""
    error, command = call["error"].strip().lower(), call["command"]
    if not error or error.startswith(_NOT_RUN) or command.endswith(("--help", " -h")):
        return False
    head = command.partition("\n")[0]
    return not (_INTERPRETERS.intersection(head.split()) and any(mark in head for mark in (" -e ", " -c ", "<<")))


def _file_of(place: str) -> str:
    """The place where it is a file of the project, and of none that it depends on; `main:file` is in no folder."""
    is_ours = is_file(place) and not place.startswith(("/", "~", "../")) and ":" not in place and " " not in place
    return place if is_ours and _DEPENDENCIES.isdisjoint(place.split("/")) else ""
