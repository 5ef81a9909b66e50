"""Answers a query of names and files: where each stands, a line each, in the files as they are now. Hot path."""

from __future__ import annotations

import time
from math import exp, sqrt

from core import TYPE_CHECKING, clock, files, ids, worktree
from core.project import OUTSIDE, folder_of, name_of, same
from core.quoting import clip_ends, clip_path
from core.store import calls as stored_calls
from core.store import places_and_names
from core.store import sessions as stored_sessions
from recall import hit
from recall.by_name.calls import COLLECTION as CALLS
from recall.by_name.calls import PREFIX, time_of
from recall.by_name.calls import place as place_of_call

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any

    import apsw

    from core.records import Call, Hit, Place, Session
    from recall.by_name.asked import Asked
    from recall.query import Query

COLLECTION = "work"
MOST_CHARS, LEAN_CHARS, ONE_CHARS = 3900, 1000, 700
"""Of an answer; with a lean budget; to a single name."""
_NOTES, _SESSIONS = 20, 8
"""Recovery notes that are looked into for a query; sessions that are told of in one answer."""
_LOOK_S = 0.15
_MOST_PLACES = 300
_OF_A_NAME, _MOST_ASKED = 6, 40
_ERROR_CHARS, _COMMAND_CHARS, _COMMANDS_CHARS = 120, 200, 1300
"""Of an error, of a command, of all of them."""
_LONGEST_NUMBER = 10  # digits of a call's number
_LEFT_OUT = "[redacted:"
_HIDING = frozenset("rm checkout restore reset stash clean amend --amend --force -f drop push".split())
_TEXTS_SHARE, _LINE_CHARS, _PATH_CHARS = 0.6, 64, 90
"""Of an answer what lines with their text take; the rest has room for more names."""
_DEFINED, _TOLD, _FADING_CALLS = 3.0, 5.0, 100
"""What the client's own summary has the agent knows by name, and not where it stands. Chosen on half of 35 compactions;
on other weights little depends."""


def ask(
    db: apsw.Connection, text: str, asked: Asked, query: Query, projects: Sequence[str], *, lean: bool
) -> Hit | None:
    """Where what is asked for stands; None where no session (of these projects, if any) has seen a place of it.

    Each name and file is told of `query.session`, or of the last session that saw it: first of the one that asks,
    `query.own` or, where that is not known, the one whose recovery note printed this query; then of those of the
    project preferred. Of a single name or file `path` is its file: other hits follow then. A query that a recovery note
    printed is there to bring back what the note had no room for: what else is at work is told behind its files.
    """
    told_to_ask = _told_to_ask(db, text, query.prefer)
    asks = query.own or ("" if query.session else told_to_ask)
    among = [query.session] if query.session else _in_order(db, projects, query.prefer, asks)
    alone = len(asked.names) + len(asked.files) == 1 and not asked.commands
    room = LEAN_CHARS if lean else ONE_CHARS if alone and asked.names else MOST_CHARS
    blocks: list[str] = []
    first: Session | None = None
    best: Place | None = None
    for _ in range(_SESSIONS):
        found = _places(db, asked, among, beside=bool(told_to_ask))
        if asked.commands and among and not found:
            found = {among[0]: []}
        for session in (one for one in among if one in found):
            about = stored_sessions.by_id(db, session)
            block, place = (
                _block(db, about, found[session], asked, room, is_first=first is None) if about else ("", None)
            )
            if about and block:
                first, best = (first, best) if first else (about, place)
                blocks.append(block)
                room -= len(block) + 1
        if first or not found:
            break
        # those files are gone: the next sessions of the project may have seen others
        known = dict(stored_sessions.latest_first(db))
        own = {known[one] for one in found if one in known}
        among = [one for one in among if one not in found and known.get(one) in own]
    if first is None:
        return None
    identifier = f"work:{first['id']}:{best['number']}" if best else f"work:{first['id']}"
    return hit.made(
        identifier, 1.0, "\n".join(blocks), kind="work", source=first["client"], collection=COLLECTION,
        session=first["id"], timestamp=clock.iso(first["updated_at"]), project=first["project"],
        path=best["file"] if alone and best else "", origin=hit.TOOL,
    )  # fmt: skip


def _in_order(db: apsw.Connection, projects: Sequence[str], near: str, own: str) -> list[str]:
    """The sessions, by id: `own` first, then those of the project `near`, latest first."""
    known = [one for one in stored_sessions.latest_first(db) if not projects or one[1] in projects]
    known.sort(key=lambda one: (one[0] != own, not same(one[1], near)))
    return [session for session, _ in known]


def _places(db: apsw.Connection, asked: Asked, among: Sequence[str], *, beside: bool) -> dict[str, list[Place]]:
    """The places of each name, and those in each file, of the first of these sessions that has any; best first."""
    found: dict[str, list[Place]] = {}
    names, places_in = asked.names[:_MOST_ASKED], asked.files[:_MOST_ASKED]
    while names and len(found) < _SESSIONS and (sessions := places_and_names.sessions_with(db, names, among, 1)):
        found[sessions[0]] = _of_names(places_and_names.places(db, sessions[0], names=names), names, asked.files)
        known = {place["name"] for place in found[sessions[0]]}
        names = [name for name in names if name not in known]
    for session in places_and_names.sessions_in(db, places_in, among, _SESSIONS) if places_in else ():
        paths = places_and_names.paths(db, session)
        inside = {unit: [path for path in paths if is_at(path, unit)] for unit in places_in}
        if here := _in_files(db, session, {path for matching in inside.values() for path in matching}, beside):
            known_at = found.setdefault(session, [])
            seen = {(place["file"], place["name"]) for place in known_at}
            known_at += [place for place in here if (place["file"], place["name"]) not in seen]
            places_in = [unit for unit in places_in if not inside[unit]]
        if not places_in:
            break
    return found


def is_at(path: str, unit: str) -> bool:
    """Whether a path is the file of a unit, or lies in its folder."""
    end = "/" + unit.removeprefix("./").removeprefix("/")
    return end in f"/{path}" if unit.endswith("/") else f"/{path}".endswith(end)


def _of_names(places: Sequence[Place], names: Sequence[str], asked_in: Sequence[str]) -> list[Place]:
    """The places of names: the first of each, then the second ones: those in a file that is asked for, definitions."""
    found: list[tuple[int, int, Place]] = []
    for at, name in enumerate(names):
        own = [place for place in places if place["name"] == name]
        own.sort(
            key=lambda one: (not any(is_at(one["file"], file) for file in asked_in), not one["defines"], -one["number"])
        )
        found += [(rank, at, place) for rank, place in enumerate(own[:_OF_A_NAME])]
    return [place for *_, place in sorted(found, key=lambda one: one[:2])]


def _in_files(db: apsw.Connection, session: str, paths: Collection[str], beside: bool) -> list[Place]:
    """The places in these files by how much their names are at work; `beside` also one of each other name."""
    from core.names import names_in

    about = stored_sessions.by_id(db, session)
    if about is None or not paths:
        return []
    compactions = stored_sessions.compactions(db, session)
    told = names_in(compactions[-1]["summary"])[0] if compactions else set()
    names = {one["name"]: one for one in places_and_names.names(db, session, every=True)}

    def weight(place: Place) -> float:
        one = names.get(place["name"])
        used: float = one["weight"] * exp((one["last"] - about["calls"]) / _FADING_CALLS) if one else 0.0
        return sqrt(used) * (_DEFINED if place["defines"] else 1.0) * (_TOLD if place["name"] in told else 1.0)

    every = places_and_names.places(db, session)
    own = sorted((place for place in every if place["file"] in paths), key=weight, reverse=True)
    others: dict[str, Place] = {}
    for place in sorted(every, key=lambda one: (one["defines"], one["number"])) if beside else ():
        if not place["file"].startswith(OUTSIDE):
            others[place["name"]] = place
    for place in own:
        others.pop(place["name"], None)
    return [*own, *sorted(others.values(), key=weight, reverse=True)][:_MOST_PLACES]


def _block(
    db: apsw.Connection, about: Session, places: Sequence[Place], asked: Asked, room: int, *, is_first: bool
) -> tuple[str, Place | None]:
    """Lines with their text, then names by file, within so many characters; and the first place."""
    folder = _folder_now(about)
    found = worktree.current_lines(folder, places, time.monotonic() + _LOOK_S)
    of = f"session {ids.shown(about['id'])} of {about['project'] or 'no project'}"
    lines = [f"{of}, {'as the files are now' if folder else 'as it saw them'}:"]
    if is_first and asked.commands:
        calls = stored_calls.of_session(db, about["id"])
        lines += [*_command_lines(calls, room // 2), *_files_line(calls, room // 20)]
    left = room - sum(len(line) + 1 for line in lines)
    rest: dict[str, list[tuple[int, str]]] = {}
    texts = left * _TEXTS_SHARE
    for place, text in found:
        path = clip_path(place["file"], _PATH_CHARS)
        said = worktree.excerpt(text, place["name"], _LINE_CHARS)
        line = f"{path}:{place['line']}: {said}" if said else ""
        if line and len(line) < texts:
            texts -= len(line) + 1
            left -= len(line) + 1
            lines.append(line)
            continue
        entry = f"{place['name']}:{place['line']}"
        cost = len(entry) + 1 + (0 if path in rest else len(path) + 2)
        if cost <= left:
            left -= cost
            rest.setdefault(path, []).append((place["line"], entry))
    if not rest and len(lines) == 1:
        return "", None
    by_file = (f"{path}: {' '.join(entry for _, entry in sorted(entries))}" for path, entries in rest.items())
    return "\n".join([*lines, *by_file]), found[0][0] if found else None


def _folder_now(about: Session) -> str:
    """Where the files of a session lie: in its folder or, where that is gone, in ours of the same project; else ""."""
    import os

    folder = about.get("worktree") or about["folder"]
    if os.path.isdir(folder):
        return folder
    here = folder_of(files.current_folder())
    return here if about["project"] and same(name_of(here), about["project"]) else ""


def _ranked_commands(calls: Sequence[Call]) -> list[Call]:
    """The commands of a line each that do something, each once with its last outcome, by fading use and shortness.

    Left out is what hides or undoes work, and what failed before its program ran with that verb and did not fail.
    """
    from core import shell_command

    passed: dict[str, int] = {}
    for call in calls if calls else ():
        if call["command"] and call["outcome"] in ("ok", "running"):
            for step in shell_command.steps(call["command"]):
                passed[f"{step['program']} {step['verb']}"] = call["number"]
    weights: dict[str, float] = {}
    last: dict[str, Call] = {}
    total = calls[-1]["number"] if calls else 0
    for call in calls:
        command = call["command"]
        if command and len(command) <= _COMMAND_CHARS and "\n" not in command and _LEFT_OUT not in command:
            weights[command] = weights.get(command, 0.0) + exp((call["number"] - total) / places_and_names.FADING_CALLS)
            last[command] = call
    done: list[str] = []
    for one, call in last.items():
        steps = shell_command.steps(one)
        run = [step for step in steps if step["verb"] or shell_command.does(step)]
        later = (passed.get(f"{step['program']} {step['verb']}", 0) > call["number"] for step in run)
        if (
            run
            and all(_HIDING.isdisjoint(step["words"]) for step in steps)
            and not (call["outcome"] == "failed" and any(later))
        ):
            done.append(one)
    return [last[one] for one in sorted(done, key=lambda one: -weights[one] / len(one) ** 0.5)]


def _files_line(calls: Sequence[Call], room: int) -> Iterator[str]:
    """The names of the files that the last calls worked on, the last first."""
    shown: list[str] = []
    for file in dict.fromkeys(call["file"].rpartition("/")[2] for call in reversed(calls) if call["file"]):
        room -= len(file) + 2
        if room < 0:
            break
        shown.append(file)
    if shown:
        yield f"files, last first: {', '.join(shown)}"


def _command_lines(calls: Sequence[Call], room: int) -> Iterator[str]:
    from core import shell_command

    room = min(_COMMANDS_CHARS, room)
    for call in _ranked_commands(calls):
        came = shell_command.told(call["command"], call["outcome"]) or ("printed" if call["error"] else "no outcome")
        outcome = f"{came}: {clip_ends(call['error'], _ERROR_CHARS)}" if call["error"] else came
        line = f"$ {call['command']}  ({outcome})"
        room -= len(line) + 1
        if room < 0:
            break
        yield line


def _told_to_ask(db: apsw.Connection, query: str, near: str) -> str:
    """The session whose recovery note printed this query last, of the project `near` where it has any; "" for none."""
    from core.store import sessions as stored_sessions

    told = stored_sessions.notes_with(db, f'recall "{query}"', _NOTES)
    known = dict(stored_sessions.latest_first(db)) if told else {}
    if any(same(project, near) for project in known.values()):
        told = [session for session in told if same(known.get(session, ""), near)]
    return told[0] if told else ""


def call_at(db: apsw.Connection | None, identifier: str) -> dict[str, Any] | None:
    """The call `call:<session>:<number>` and all that is kept of it, or None. Raises Failure SESSION_AMBIGUOUS."""
    given, _, number = identifier.removeprefix(PREFIX).rpartition(":")
    is_one = identifier.startswith(PREFIX) and given and number.isdecimal() and len(number) < _LONGEST_NUMBER
    if db is None or not is_one:
        return None
    session = stored_sessions.whole_id(db, given)
    call = stored_calls.by_number(db, session, int(number))
    if call is None or call["outcome"] == stored_calls.FORGOTTEN:
        return None
    from core import shell_command

    return {
        "id": f"{PREFIX}{session}:{number}", "collection": CALLS, "place": place_of_call(call), "session": session,
        "client": call["client"], "project": call["project"], "number": call["number"], "prompt": call["prompt"],
        "at": time_of(call), "tool": call["tool"], "file": call["file"], "command": call["command"],
        "outcome": shell_command.told(call["command"], call["outcome"]), "error": call["error"],
        "passage": call["passage"], "origin": hit.origin_of_call(call["tool"]),
    }  # fmt: skip
