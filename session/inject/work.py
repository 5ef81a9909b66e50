"""Where the work of a session stands, from what it did: task, open step, the files and names at work. Hot path."""

from __future__ import annotations

from core.names import is_file
from core.quoting import clip, one_line
from core.store.sessions.name_rows import faded
from session.inject.topics import is_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from core.records import Name, Session

FADED = 0.05
"""A name that weighs less is not at work any more."""
MOST_FILES, MOST_NAMES = 9, 100
"""Files, and names in each."""
_LEAST_NAME = 5
_DEPENDENCIES = frozenset(("node_modules", "site-packages", "dist-packages", ".venv"))
"""Folders of what others wrote, which an agent reads and does not work on."""
_WRITTEN, _LISTED = 1.5, 0.1
"""How much a name counts that the agent itself wrote (of 1 to 3 the best on half of 29 real sessions), and one that it
was only shown, in no file: listings are full of those."""
TASK_CHARS = 200
_LOOKED_BACK = 12
# With that much behind it a plan was left: in 29 real sessions no step was taken up again that had a request behind it,
# or more than 122 calls.
_LEFT_REQUESTS, _LEFT_CALLS = 2, 150


def last_task(prompts: Sequence[str]) -> str:
    """What the user last asked for, of prompts oldest first: the last one that says more than "go on"."""
    return next((prompt for prompt in prompts[: -_LOOKED_BACK - 1 : -1] if is_request(prompt)), "")


def opening(prompt: str, characters: int = TASK_CHARS) -> str:
    """How a prompt begins, on one line and without marks."""
    return clip(one_line("\n".join(part.lstrip("#>*- ") for part in prompt[:2000].splitlines())), characters)


def open_step(about: Session, prompts: Sequence[str]) -> str:
    """The step of the plan that is in progress, else the first that is pending; "" where the plan is done, or was left.

    It was left where the session has gone on for long, or by its last prompts to other things, without a look at it.
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


def working_set(
    names: Sequence[Name], total: int, *, characters: int, without: Container[str] = (), most_files: int = MOST_FILES,
    most_names: int = MOST_NAMES,
) -> list[tuple[str, list[str]]]:  # fmt: skip
    """Places and the names last at work in each, most needed first, within so many characters.

    A name counts by its faded weight after `total` calls, by how much is at work in its place, and by its shortness:
    of seven rules on half of 29 real sessions the one that showed most of what the agent used next. What is part of a
    longer name that is shown is not repeated. Names of no file come last, under "".
    """
    found: dict[str, list[str]] = {}
    folders: set[str] = set()
    shown, room = "", characters
    for text, place in _ranked(names, total, without):
        if room <= _LEAST_NAME:
            break
        folder, _, file = place.rpartition("/")
        if text in shown or (len(found.get(place, ())) >= most_names and text != file):
            continue
        needed = len(text) + 1
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


def _ranked(names: Sequence[Name], total: int, without: Container[str]) -> list[tuple[str, str]]:
    """The names and the files that they are shown under, most needed first."""
    places: dict[str, float] = {}
    for name in names:
        places[name["place"]] = places.get(name["place"], 0.0) + faded(name, total)
    files = {place: _file_of(place) for place in places}
    ranked: list[tuple[float, str, str]] = []
    for name in names:
        weight, text, place = faded(name, total), name["name"], name["place"]
        if weight >= FADED and text not in without:
            worth = weight * (places[place] + 0.1) ** 0.5 / (len(text) + 1) ** 0.5
            worth *= _WRITTEN if name["written"] else 1.0 if files[place] else _LISTED
            ranked.append((-worth, text, files[place]))
    ranked.sort()
    return [(text, place) for _, text, place in ranked]


def _file_of(place: str) -> str:
    """The place where it is a file of the project, and of none that it depends on; `main:file` is in no folder."""
    is_ours = is_file(place) and not place.startswith(("/", "~", "../")) and ":" not in place and " " not in place
    return place if is_ours and _DEPENDENCIES.isdisjoint(place.split("/")) else ""
