"""Where the names stand that a session is at work with, by file, the ones it will look for first. Hot path.

Of 194 calls after real compactions that told the agent nothing new 174 searched for a name whose line it had seen.
"""

from __future__ import annotations

from math import exp

from core.names import is_file
from core.project import OUTSIDE
from core.store.sessions.name_rows import FADING_CALLS, faded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from core.records import Name, Place

MOST_FILES = 4
"""Of 3 to 8, as many as the agent took up most of, on half of 37 real compactions."""
# The agent knows a name that its summary has, and lacks the place; it searches for what is defined more than for uses,
# and for what it wrote itself. Chosen on the same half; on other weights little depends.
_TOLD, _DEFINED, _WRITTEN = 3.0, 4.0, 2.0
_FIRST, _SHARED = 5, 3
"""So many places are among the first; a name in so many files that none defines is a library's."""
_FADED = 0.05
_PROSE = (".adoc", ".cfg", ".html", ".ini", ".md", ".mdx", ".rst", ".toml", ".yaml", ".yml")
_OTHERS = frozenset("node_modules site-packages dist-packages .venv .claude .codex .pi tmp".split())


def ranked(
    names: Iterable[Name], places: Sequence[Place], total: int, told: Container[str], worktree: str = ""
) -> list[Place]:
    """The places, most needed first: by the name's fading use, and by how much of its file was shown lately.

    Of names that are only used, those that the agent wrote itself; where a definition is known, only that; none that
    stands in several files and is neither defined in one nor told by the summary: it is a library's. A line that
    defines a name is told by that one alone.

    Args:
        total: calls of the session so far.
        told: names that the client's summary has.
        worktree: the folder of another checkout in which the session works; other files outside its folder are foreign.
    """
    weights = {one["name"]: faded(one, total) * (_WRITTEN if one["written"] else 1.0) for one in names}
    written = {one["name"] for one in names if one["written"]}
    files: dict[str, float] = {}
    for place in places:
        files[place["file"]] = files.get(place["file"], 0.1) + exp((place["number"] - total) / FADING_CALLS)
    own = f"{worktree}/" if worktree else "/ "  # no path begins so
    sources = {
        file: weight**0.5 for file, weight in files.items()
        if is_source(file) and (not file.startswith(OUTSIDE) or file.startswith(own))
    }  # fmt: skip
    defined: set[str] = set()
    heads: set[tuple[str, int]] = set()
    shared: dict[str, int] = {}
    for place in places:
        if place["file"] in sources:
            shared[place["name"]] = shared.get(place["name"], 0) + 1
            if place["defines"]:
                defined.add(place["name"])
                heads.add((place["file"], place["line"]))
    found: list[tuple[float, int]] = []
    for at, place in enumerate(places):
        name, file = place["name"], place["file"]
        weight = weights.get(name, 0.0)
        if weight < _FADED or file not in sources:
            continue
        if not place["defines"] and (name in defined or name not in written or (file, place["line"]) in heads):
            continue
        if shared[name] >= _SHARED and name not in defined and name not in told:
            continue
        weight *= (_TOLD if name in told else 1.0) * (_DEFINED if place["defines"] else 1.0)
        found.append((weight * sources[file] / (len(name) + 5) ** 0.5, at))
    found.sort(key=lambda one: (-one[0], one[1]))
    return [places[at] for _, at in found]


def is_source(file: str) -> bool:
    """Whether a file is source of a project: no prose, no settings, nothing that others wrote or a tool keeps."""
    return (
        is_file(file) and not file.endswith(_PROSE) and not file.startswith(("~", "../"))
        and _OTHERS.isdisjoint(file.split("/"))
    )  # fmt: skip


def shown_as(files: Iterable[str]) -> dict[str, str]:
    """How each file is called: by its name, with as many folders as tell it from the others."""
    every = list(dict.fromkeys(files))
    names: dict[str, str] = {}
    ends: dict[str, int] = {}
    for file in every:
        parts = file.split("/")
        for at in range(len(parts)):
            end = "/".join(parts[at:])
            ends[end] = ends.get(end, 0) + 1
    for file in every:
        parts = file.split("/")
        names[file] = next(
            (end for at in range(len(parts) - 1, -1, -1) if ends[end := "/".join(parts[at:])] == 1), file
        )
    return names


def lines(places: Sequence[Place], names: Mapping[str, str], room: int) -> list[str]:
    """`- file: name:line name:line`, a line a file, in order within so many characters: a name once, of
    a line the first."""
    of_line: dict[tuple[str, int], Place] = {}
    for place in places:
        of_line.setdefault((place["file"], place["line"]), place)
    places = list(of_line.values())
    found = fitting(places, names, room, MOST_FILES)
    first = {place["file"] for place in places[:_FIRST]}
    # what was only used there, or a name alone, is not worth a line
    heads = {place["file"] for place in places if place["defines"]}
    thin = {file for file, entries in found.items() if file not in heads or (len(entries) < 2 and file not in first)}
    if thin:
        kept = [one for one in places if one["file"] in found and one["file"] not in thin]
        found = fitting(kept, names, room, MOST_FILES)
    return [f"- {names[file]}: {' '.join(entries)}" for file, entries in found.items()]


def fitting(places: Iterable[Place], names: Mapping[str, str], room: int, most: int) -> dict[str, list[str]]:
    """`name:line` by file of places in their order, within so many files and characters; a name once."""
    found: dict[str, list[str]] = {}
    shown: set[str] = set()
    for place in places:
        name, file = place["name"], place["file"]
        if name in shown or (file not in found and len(found) >= most):
            continue
        entry = f"{name}:{place['line']}"
        needed = len(entry) + 1 + (len(names[file]) + 4 if file not in found else 0)
        if needed > room:
            continue
        room -= needed
        shown.add(name)
        found.setdefault(file, []).append(entry)
    return found
