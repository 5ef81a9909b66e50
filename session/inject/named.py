"""Where the files and functions stand that a prompt names, as earlier sessions of the project saw them. Hot path."""

from __future__ import annotations

import time

from core import worktree
from core.names import is_file
from core.project import OUTSIDE, own_names
from core.quoting import one_line
from core.store.sessions import name_rows, place_rows, session_rows
from session.inject import where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    import apsw

    from core.records import Place

MOST_NAMES, MOST_FILES, MOST_CHARS = 16, 2, 800
"""Of a prompt, those with a place; and of the lines."""
_FEW = 6
"""Among so few names one that is defined nowhere is told by its last use; among more only where one file has it."""
_IN_A_FILE, _DEFINED = 6, 3.0
_CANDIDATES = 3
_LOOK_UP_S = 0.08
_MOST_SESSIONS = 5
"""That are asked for a name: where it stands in no source of theirs, the others are not gone through."""


def places(db: apsw.Connection, names: Sequence[str], *, session: str, project: str, folder: str) -> list[Place]:
    """Where the names are defined, and what is most at work in the files among them, as the files are now."""
    own = own_names(project, session_rows.projects(db))
    among = [one for one, of in session_rows.latest_first(db) if of in own]
    compactions = name_rows.compactions(db, session)
    since = compactions[-1]["call"] if compactions else 0
    files = [name for name in names if is_file(name)]
    files += [f"{name}." for name in names if "_" in name and name not in files]  # or the stem of one
    in_view = {one["name"] for one in place_rows.places(db, session, names=names) if one["number"] > since}
    left = [name for name in names if name not in files and name not in in_view]
    known = _last_places(db, left, among, defined=True)
    rest = _last_places(db, [name for name in left if name not in known], among, defined=False)
    few = len(known) + len(rest) <= _FEW
    rest = {name: found for name, found in rest.items() if few or len({one["file"] for one in found}) == 1}
    ranked = [found[name] for found in (known, rest) for name in left if name in found][:MOST_NAMES]
    together: dict[str, int] = {}  # of a file, how many of the names stand in it
    for file in (file for found in ranked for file in {one["file"] for one in found}):
        together[file] = together.get(file, 0) + 1
    for found in ranked:
        found.sort(
            key=lambda one: (not any(_is(one["file"], file) for file in files), -together[one["file"]], -one["number"])
        )
    candidates = [place for rank in range(_CANDIDATES) for found in ranked for place in found[rank : rank + 1]]
    candidates += _in_files(db, files, left, among, lambda one, place: one == session and place["number"] > since)
    told: dict[str, Place] = {}
    for place in worktree.current_places(folder, candidates, time.monotonic() + _LOOK_UP_S):
        told.setdefault(place["name"], place)
    return list(told.values())


def lines(found: Sequence[Place]) -> list[str]:
    """`- path/file.go: name:12 other:34`, a line a file."""
    shown_as = {place["file"]: one_line(place["file"]) for place in found}
    by_file = where.fitting(found, shown_as, MOST_CHARS, len(shown_as))
    return [f"- {shown_as[file]}: {' '.join(entries)}" for file, entries in by_file.items()]


def _last_places(
    db: apsw.Connection, names: Sequence[str], among: Sequence[str], *, defined: bool
) -> dict[str, list[Place]]:
    """Where each name is defined, or stands, in the sources of the project, by the last session that saw that."""
    found: dict[str, list[Place]] = {}
    left = list(names)
    rounds = 0
    while (
        left and rounds < _MOST_SESSIONS and (holding := place_rows.sessions_with(db, left, among, 1, defined=defined))
    ):
        for place in place_rows.places(db, holding[0], names=left):
            if place["defines"] >= defined and _is_ours(place["file"]):
                found.setdefault(place["name"], []).append(place)
        left = [name for name in left if name not in found]
        among = among[among.index(holding[0]) + 1 :]
        rounds += 1
    return found


def _in_files(
    db: apsw.Connection, files: Iterable[str], names_asked: Container[str], among: Sequence[str],
    is_in_view: Callable[[str, Place], bool],
) -> list[Place]:  # fmt: skip
    """The names most at work in each of the first files that a session knows; of a file with a name that is asked for,
    what is defined next to it."""
    found: list[Place] = []
    told = 0
    for file in list(files)[: 2 * MOST_FILES]:
        known: dict[str, tuple[float, Place]] = {}
        holding = place_rows.sessions_in(db, [file], among, _MOST_SESSIONS) if told < MOST_FILES else []
        for one in holding:
            paths = [path for path in place_rows.paths(db, one) if _is(path, file) and _is_ours(path)]
            inside = place_rows.places(db, one, files=paths) if paths else []
            if any(is_in_view(one, place) for place in inside):
                known = {}
                break
            names = name_rows.known_names(db, one, [place["name"] for place in inside])
            for place in inside:
                if name := names.get(place["name"]):
                    weight = name["weight"] * (_DEFINED if place["defines"] else 1.0)
                    known.setdefault(place["name"], (weight, place))
        told += bool(known)
        asked = [place["line"] for name, (_, place) in known.items() if name in names_asked]
        ranked = sorted(known.values(), key=lambda one: -one[0])
        if asked:  # what is defined next to what is asked for
            ranked.sort(key=lambda one: (not one[1]["defines"], min(abs(one[1]["line"] - line) for line in asked)))
        found += [place for _, place in ranked[:_IN_A_FILE]]
    return found


def _is_ours(path: str) -> bool:
    return where.is_source(path) and not path.startswith(OUTSIDE)


def _is(path: str, file: str) -> bool:
    """Whether a path is that of a file, or of one with this stem (`name.`)."""
    name = path.rpartition("/")[2]
    return name.startswith(file) if file.endswith(".") else name == file
