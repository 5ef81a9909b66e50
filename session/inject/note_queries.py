"""The queries that a recovery note prints: by file, folder and program, those that bring back most of what is missing.

What each would answer is known exactly, since the cards are dealt here as `recall.by_name.work_cards` deals them. Hot
path.
"""

from __future__ import annotations

from core.names import is_file
from recall.by_name import card_weights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from core.records import Name

MOST_QUERIES = 3
_COMMANDS = "commands"
QUERY_CHARS = 32
_MOST_UNITS = 3
_MOST_TRIED = 16
_LEAST_GAIN = 0.5
_SHORTNESS = 0.6
_LINE_CHARS = 40
"""About what the places themselves take of an answer, a line each."""


def queries(
    names: Sequence[Name], total: int, *, told: Container[str], shown: Container[str], commands: bool
) -> list[str]:
    """Up to three queries, the one that brings back most first.

    Args:
        total: calls of the session so far.
        told: names in the client's summary.
        shown: the text of the note, or its names.
        commands: whether one of them asks for commands, too.
    """
    weights = card_weights.weights_of(names, total, told)
    by_unit: dict[str, list[Name]] = {}
    for name in names:
        if name["name"] in weights:
            for unit in _units(name["place"]):
                by_unit.setdefault(unit, []).append(name)
    seen = {name for name in weights if name in told or name in shown}
    missing = {
        unit: sum(weights[name["name"]] for name in inside if name["name"] not in seen)
        for unit, inside in by_unit.items()
    }
    likely = sorted(missing, key=lambda unit: -missing[unit])[:_MOST_TRIED]
    dealt = {unit: card_weights.deal(by_unit[unit], weights, card_weights.MOST_CHARS) for unit in likely}
    chosen: list[list[str]] = []
    for _ in range(MOST_QUERIES):
        used = {unit for query in chosen for unit in query}
        units = _query(dealt, weights, seen, used, [_COMMANDS] if commands else [])
        if units:
            commands = False
        elif commands:  # no place is short enough to stand beside the word
            units = _query(dealt, weights, seen, used, [])
        if not units:
            break
        chosen.append(units)
    if commands and not chosen:  # no name is missing; they are asked for with the place that was most at work
        known = [unit for unit in by_unit if _is_anchor(unit) and len(unit) <= QUERY_CHARS // 2]
        chosen = [[max(known, key=lambda unit: sum(weights[name["name"]] for name in by_unit[unit]))]] if known else []
    if commands and chosen:
        chosen[-1].append(_COMMANDS)
    return [" ".join(sorted(units, key=_order)) for units in chosen]


def _order(unit: str) -> tuple[bool, bool]:
    """Files and folders, then programs, then the word."""
    return unit == _COMMANDS, not _is_anchor(unit)


def _query(
    dealt: Mapping[str, Sequence[Name]],
    weights: Mapping[str, float],
    seen: set[str],
    used: Container[str],
    given: Sequence[str],
) -> list[str]:
    """The units of one query, greedily; what they bring back is added to `seen`."""
    units = list(given)
    room = card_weights.MOST_CHARS - (card_weights.COMMANDS_CHARS if given else 0)
    characters = QUERY_CHARS - sum(len(unit) + 1 for unit in units)
    brought: set[str] = set()
    while len(units) < _MOST_UNITS:
        best: tuple[float, str, list[str], int] = (0.0, "", [], 0)
        for unit, names in dealt.items():
            if unit in units or unit in used or len(unit) > characters:
                continue
            if not any(map(_is_anchor, (*units, unit))):
                continue
            found, left = _within(names, room)
            gain = sum(weights[name] for name in found if name not in seen and name not in brought)
            if gain >= _LEAST_GAIN:
                best = max(best, (gain / (len(unit) + 6) ** _SHORTNESS, unit, found, left), key=lambda one: one[0])
        _, unit, found, left = best
        if not unit:
            break
        units.append(unit)
        brought.update(found)
        characters -= len(unit) + 1
        room = left - _LINE_CHARS
    if not any(map(_is_anchor, units)):
        return []
    seen.update(brought)
    return units


def _within(names: Iterable[Name], room: int) -> tuple[list[str], int]:
    found: list[str] = []
    for name in names:
        if len(name["name"]) + 1 <= room:
            room -= len(name["name"]) + 1
            found.append(name["name"])
    return found, room


def _units(place: str) -> list[str]:
    """What a place can be asked for by: a file by its name and by the end of its folder, a program by itself."""
    if not is_file(place):
        return [place] if place and place.replace(" ", "").replace("-", "").isalnum() else []
    folder, _, file = place.rpartition("/")
    if not _is_plain(file):
        return []
    parts = folder.strip("/").split("/")[-2:]
    return [file, "/".join(parts) + "/"] if parts != [""] and all(map(_is_plain, parts)) else [file]


def _is_anchor(unit: str) -> bool:
    """Whether a unit is a file or a folder, as `recall.by_name.query_names` tells them."""
    return unit.endswith("/") or is_file(unit)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.replace("-", "").replace("_", "").replace(".", "").replace("@", "").isalnum()
