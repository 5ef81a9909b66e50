"""Answers a query of names and files with the current place of each, one line each. Hot path.

For each name and file a single session is asked: the query's, or the latest that saw it. Its recorded places are
looked up in the working tree; if there is no tree, they are shown as last seen.
"""

from __future__ import annotations

import os
import time
from itertools import zip_longest
from math import exp, sqrt

from core import TYPE_CHECKING, clock, files, quoting
from core.project import OUTSIDE, current_lines, excerpt, folder_of, name_of, same
from core.quoting import clip_path
from core.store import calls as stored_calls
from core.store import sessions as stored_sessions
from recall.hit import new_hit

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import apsw

    from core.records import Hit, Place, Session
    from recall.query import Query


def place_hit(
    db: apsw.Connection, text: str, asked: tuple[list[str], list[str]], query: Query, projects: Sequence[str],
    *, lean: bool,
) -> Hit | None:  # fmt: skip
    """One hit with the places of the names and files asked for; None if no session (of these projects) knows any.

    The order of sessions: `query.session` only; else `query.asking_session` or the session whose recovery note printed
    this query, then those of the preferred project, then the latest. A query from a recovery note also gets the
    session's other names, since the note had no room for them. The hit's `path` is that of a single name's place.
    """
    note_session = _session_that_printed(db, text, query.prefer)
    own = query.asking_session or ("" if query.session else note_session)
    sessions = [query.session] if query.session else _sessions_in_order(db, projects, query.prefer, own)
    names, asked_files = asked
    is_single = len(names) + len(asked_files) == 1
    # A whole answer has about 1,000 tokens; other hits follow the places of a single name.
    room = 1_000 if lean else 700 if is_single and names else 3_900
    blocks: list[str] = []
    first: Session | None = None
    best: Place | None = None
    places = _places_by_session(db, names, asked_files, sessions, with_others=bool(note_session))
    for session in (session for session in sessions if session in places):
        about = stored_sessions.by_id(db, session)
        block, place = _block(about, places[session], room) if about else ("", None)
        if block:
            if first is None:
                first, best = about, place
            blocks.append(block)
            room -= len(block) + 1
    if first is None:
        return None
    identifier = f"work:{first['id']}:{best['number']}" if best else f"work:{first['id']}"
    return new_hit(
        identifier, 1.0, "\n".join(blocks), type="work", source=first["client"], collection="work",
        session=first["id"], timestamp=clock.iso(first["updated_at"]), project=first["project"],
        path=best["file"] if is_single and best else "", origin="tool",
    )  # fmt: skip


def _session_that_printed(db: apsw.Connection, query: str, project: str) -> str:
    """The last session whose recovery note printed this query, preferably of the project; "" for none."""
    printed = stored_sessions.with_recovery_note(db, f'recall "{query}"', 20)
    project_of = dict(stored_sessions.latest_first(db)) if printed else {}
    own = [session for session in printed if same(project_of.get(session, ""), project)]
    if not own and not any(same(other, project) for other in project_of.values()):
        own = printed
    return own[0] if own else ""


def _sessions_in_order(db: apsw.Connection, projects: Sequence[str], prefer: str, own: str) -> list[str]:
    """Session ids: `own`, then those of the project `prefer`, then the others, the latest first."""
    known = [row for row in stored_sessions.latest_first(db) if not projects or row[1] in projects]
    known.sort(key=lambda row: (row[0] != own, not same(row[1], prefer)))
    return [session for session, _ in known]


def _places_by_session(
    db: apsw.Connection, names: Sequence[str], units: Sequence[str], sessions: Sequence[str], *, with_others: bool
) -> dict[str, list[Place]]:
    """For each name and file, the places in the first of these sessions that has any, the best first."""
    found: dict[str, list[Place]] = {}
    max_sessions = 8  # in an answer
    while names and len(found) < max_sessions and (session := stored_calls.first_with(db, names, sessions)):
        found[session] = _places_of_names(stored_calls.places(db, session, names=names), names, units)
        known = {place["name"] for place in found[session]}
        names = [name for name in names if name not in known]
    for session in stored_calls.sessions_in(db, units, sessions, max_sessions) if units else ():
        paths = stored_calls.paths(db, session)
        inside = {unit: {path for path in paths if is_at(path, unit)} for unit in units}
        if here := _places_in_files(db, session, set().union(*inside.values()), with_others=with_others):
            places = found.setdefault(session, [])
            seen = {(place["file"], place["name"]) for place in places}
            places += [place for place in here if (place["file"], place["name"]) not in seen]
            units = [unit for unit in units if not inside[unit]]
        if not units:
            break
    return found


def is_at(path: str, unit: str) -> bool:
    """Whether a path is the file that a query names, or lies in its folder."""
    end = "/" + unit.removeprefix("./").removeprefix("/")
    return end in f"/{path}" if unit.endswith("/") else f"/{path}".endswith(end)


def _places_of_names(places: Sequence[Place], names: Sequence[str], asked_files: Sequence[str]) -> list[Place]:
    """The best place of each name, then the second best, and so on.

    Those in a file that the query names come first, then definitions, then the latest.
    """

    def key(place: Place) -> tuple[bool, bool, int]:
        return not any(is_at(place["file"], file) for file in asked_files), not place["defines"], -place["number"]

    by_name = [sorted((place for place in places if place["name"] == name), key=key) for name in names]
    return [place for rank in zip_longest(*by_name) for place in rank if place]


def _places_in_files(db: apsw.Connection, session: str, paths: Collection[str], *, with_others: bool) -> list[Place]:
    """The places in these files, the most used names first; `with_others`: then a place of each other name."""
    about = stored_sessions.by_id(db, session)
    if about is None or not paths:
        return []
    uses = {name["name"]: name for name in stored_calls.names(db, session, every=True)}
    calls = about["calls"]

    def importance(place: Place) -> float:
        name = uses.get(place["name"])
        use: float = name["weight"] * exp((name["last"] - calls) / 100) if name else 0.0  # fades over 100 calls
        return sqrt(use) * (4.0 if place["defines"] else 1.0)

    places = stored_calls.places(db, session)
    own = sorted((place for place in places if place["file"] in paths), key=importance, reverse=True)
    others: dict[str, Place] = {}
    for place in sorted(places, key=lambda place: (place["defines"], place["number"])) if with_others else ():
        if not place["file"].startswith(OUTSIDE):
            others[place["name"]] = place
    for place in own:
        others.pop(place["name"], None)
    return [*own, *sorted(others.values(), key=importance, reverse=True)]


def _block(about: Session, places: Sequence[Place], room: int) -> tuple[str, Place | None]:
    """A heading, places with the text of their lines, then names by file; and the first place."""
    folder = _working_tree(about)
    current = current_lines(folder, places, time.monotonic() + 0.15)
    heading = f"session {quoting.shown_id(about['id'])} of {about['project'] or 'no project'}"
    lines = [f"{heading}, {'as the files are now' if folder else 'as it saw them'}:"]
    left = room - len(lines[0]) - 1
    left_for_lines = left * 0.6  # the rest lists further names by file
    by_file: dict[str, list[tuple[int, str]]] = {}
    for place, text in current:
        path = clip_path(place["file"], 90)
        shown = excerpt(text, place["name"], 64)
        line = f"{path}:{place['line']}: {shown}" if shown else ""
        if line and len(line) < left_for_lines:
            left_for_lines -= len(line) + 1
            left -= len(line) + 1
            lines.append(line)
            continue
        entry = f"{place['name']}:{place['line']}"
        cost = len(entry) + 1 + (0 if path in by_file else len(path) + 2)
        if cost <= left:
            left -= cost
            by_file.setdefault(path, []).append((place["line"], entry))
    if not by_file and len(lines) == 1:
        return "", None
    files_lines = (f"{path}: {' '.join(entry for _, entry in sorted(entries))}" for path, entries in by_file.items())
    return "\n".join([*lines, *files_lines]), current[0][0] if current else None


def _working_tree(about: Session) -> str:
    """The folder with a session's files: its own if it exists, else the current one of the same project; "" if none."""
    folder = about.get("worktree") or about["folder"]
    if os.path.isdir(folder):
        return folder
    here = folder_of(files.current_folder())
    return here if about["project"] and same(name_of(here), about["project"]) else ""
