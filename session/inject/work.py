"""Where the work of a session stands, from what it did: task, open step, open failure, commands, working set. Hot path.

Plain functions over rows of `core.store.calls`; who composes a text decides what of it is shown.
"""

from __future__ import annotations

from math import exp

from core.names import is_file
from core.places import place_of
from core.store.calls import FADING_CALLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from core.store.calls import Call, Name

FADED = 0.05
"""A name that weighs less is not at work any more."""
MOST_FILES = 9
_MEANING_WORDS = 4
_LATE_CALLS = 60
_LOOKED_BACK = 8
# What people type to let the agent go on; what stands before it is the task.
_GOING_ON = frozenset(
    "continue go on ahead yes yep yeah ok okay sure please proceed do it lets let's let us this that now next commit"
    " push and thanks thank you good great perfect nice cool fine done right correct agreed sounds looks retry try"
    " again resume y k no nope stop wait keep going the a all with".split()
)
# Answers of a client in place of a tool's: nothing failed that could be mended.
_NOT_RUN = ("the user doesn't want", "sibling tool call", "command aborted", "request interrupted", "user rejected")
_READERS = frozenset(
    "cat ls head tail sed grep rg find echo pwd wc which type command cd sleep tree stat file jq".split()
)


def last_task(prompts: Sequence[str]) -> str:
    """What the user last asked for, in his words: the last prompt that says more than that the agent may go on."""
    for prompt in prompts[: -_LOOKED_BACK - 1 : -1]:
        words = prompt.lower().replace(",", " ").replace(".", " ").split()
        if len(words) >= _MEANING_WORDS and sum(word not in _GOING_ON for word in words) > 1:
            return prompt
    return ""


def open_step(plan: Sequence[Sequence[str]]) -> str:
    """The step of the plan that is in progress, else the first that is pending; "" where the plan is done."""
    for wanted in ("in_progress", "pending"):
        for _, text, status in plan:
            if status == wanted:
                return text
    return ""


def open_failure(calls: Sequence[Call]) -> Call | None:
    """The last command that failed, where nothing of its program has run well since."""
    answered: set[str] = set()
    for call in calls[: -_LATE_CALLS - 1 : -1]:
        if not call["command"]:
            continue
        place = place_of("", call["command"])
        if call["outcome"] == "ok":
            answered.add(place)
        elif call["outcome"] == "failed" and place not in answered and _is_failure(call["error"]):
            return call
    return None


def commands(calls: Sequence[Call], longest: int) -> list[Call]:
    """The commands of a line each that do something, each once with its last outcome, by fading use and shortness."""
    weights: dict[str, float] = {}
    last: dict[str, Call] = {}
    total = calls[-1]["number"] if calls else 0
    for call in calls:
        command = call["command"]
        if not command or len(command) > longest or "\n" in command or command.split()[0] in _READERS:
            continue
        weights[command] = weights.get(command, 0.0) + exp((call["number"] - total) / FADING_CALLS)
        last[command] = call
    return [last[one] for one in sorted(weights, key=lambda one: -weights[one] / len(one) ** 0.5)]


def faded(name: Name, total: int) -> float:
    """A name's weight now, after `total` calls of its session."""
    weight: float = name["weight"] * exp((name["last"] - total) / FADING_CALLS)
    return weight


def by_place(names: Sequence[Name], total: int) -> dict[str, float]:
    """How much is at work in each place: the faded weights of its names together."""
    places: dict[str, float] = {}
    for name in names:
        places[name["place"]] = places.get(name["place"], 0.0) + faded(name, total)
    return places


def working_set(
    names: Sequence[Name], total: int, *, without: Container[str], characters: int, most_files: int = MOST_FILES
) -> list[tuple[str, list[str]]]:
    """Places and the names last at work in each, most needed first, within so many characters.

    A name counts by its faded weight, by how much is at work in its place, and by its shortness: of seven rules on
    half of 29 real sessions the one that showed most of what the agent used next. What stands in a longer name that
    is shown is not repeated. Names of no file come last, under "".

    Args:
        total: calls of the session so far.
        without: what the reader has before him already (a text, or a set).
    """
    places = by_place(names, total)
    ranked: list[tuple[float, Name]] = []
    for name in names:
        weight = faded(name, total)
        if weight >= FADED and name["name"] not in without:
            worth = weight * (places[name["place"]] + 0.1) ** 0.5 / (len(name["name"]) + 1) ** 0.5
            ranked.append((-worth, name))
    ranked.sort(key=lambda entry: (entry[0], entry[1]["name"]))
    found: dict[str, list[str]] = {}
    folders: set[str] = set()
    shown, room = "", characters
    for _, name in ranked:
        text, place = name["name"], name["place"] if is_file(name["place"]) else ""
        if text in shown:
            continue
        needed = len(text) + 1
        folder, _, file = place.rpartition("/")
        if place not in found:
            if place and len(found) >= most_files:
                continue
            needed += len(file) + 4 + (0 if folder in folders else len(folder) + 4)
        if needed > room:
            continue
        room -= needed
        folders.add(folder)
        inside = found.setdefault(place, [])
        if text != file:
            inside.append(text)
        shown = f"{shown} {place} {text}"
    return sorted(found.items(), key=lambda entry: not entry[0])


def _is_failure(error: str) -> bool:
    return bool(error) and not error.lower().startswith(_NOT_RUN)
