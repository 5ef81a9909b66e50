"""The recovery note: where the work of a session stands after a compaction, and how to get the rest back. Hot path.

A line is a fact with its place, or it is not there: the user's words, an edited range, a command with the outcome that
the client recorded, what git says, a line in which a name stands.
"""

from __future__ import annotations

import os
import time

from core import worktree
from core.names import names_in
from core.quoting import as_code, clip, cost, enclose, one_line
from core.store.sessions import call_rows, name_rows, place_rows, session_rows
from session import own_command
from session.inject import checks, task, where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypedDict

    import apsw

    from core.records import Call, Place, Session
    from session.records import Memory

    class Note(TypedDict):
        """A text and what went into it."""

        content: str
        files: int
        queries: list[str]
        memories: list[Memory]


HEADING = "## Session Recovery"
SOURCE = "session-recovery"
LEAST_CALLS = 5
"""With fewer calls there is no work to tell of."""
MOST_QUERIES = 2
MEMORY_CHARS = 150
_EDITED_CHARS, _ERROR_CHARS, _WORKS_CHARS, _RUNNING_CHARS = 110, 240, 130, 90
_AT_WORK, _DONE, _STEP_CHARS = "in_progress", "completed", 90
_LATE_PLAN, _CUT_PLAN = 60, 60
"""Calls after which a plan that was not touched may be over: of 6 plans the one that was had stood for 68.
Of a plan with so many steps the others were not stored."""
_STANDING = 0.42
"""Of the budget, what the lines above the places may take."""
_QUERY_FILES, _QUERY_CHARS = 3, 48
_QUERY_NAMES = 50
"""Names that the answer to a query has room for."""
_COMMANDS = "commands"
_LOOK_UP_S = 0.1


def of(
    db: apsw.Connection, session: str, *, kept: str, max_tokens: int, agent: str, requests: Sequence[str],
    memories: Sequence[Memory] = (),
) -> Note | None:  # fmt: skip
    """The note of a session within `max_tokens` estimated tokens; None where it did too little to tell of.

    Where the client's summary has all of it, the text is empty.

    Of the path by which its commands name us, `own_command.uncounted` tokens do not count.

    Args:
        kept: what the client still has before it beside the summary that the store knows.
        requests: as queries, for what is left where one query asks for all files.
        memories: what somebody wrote and bears on the task, for what is left of the budget.
    """
    about = session_rows.session(db, session)
    if about is None or about["calls"] < LEAST_CALLS:
        return None
    compactions = name_rows.compactions(db, session)
    summary = f"{compactions[-1]['summary'] if compactions else ''}\n{kept}"
    calls = call_rows.calls(db, session)
    names = name_rows.names(db, session)
    every = place_rows.places(db, session)
    places = where.ranked(names, every, about["calls"], names_in(summary)[0], about.get("worktree", ""))
    shown_as = where.shown_as(sorted({place["file"] for place in every} | set(place_rows.paths(db, session))))
    lines = _standing(db, about, calls, summary, every, shown_as, round(max_tokens * 4 * _STANDING))
    folder = about.get("worktree") or about["folder"]
    there = _files_there(folder, places)
    asked = queries([place for place in places if place["file"] in there], shown_as, commands=len(calls) > LEAST_CALLS)
    asked = (asked or list(requests))[: own_command.most(MOST_QUERIES, agent)]
    more = _more(asked, agent)
    most = max_tokens + own_command.uncounted(len(asked), agent)
    room = (most - cost(enclose(SOURCE, [HEADING, *lines, "**Where:**", *more]))) * 4 - 4
    now = worktree.current_places(folder, _nearest(places, room), time.monotonic() + _LOOK_UP_S)
    while True:
        found = where.lines(now, shown_as, max(room, 0))
        kept_lines, told = _remembered(memories, room - sum(len(line) + 1 for line in found))
        stands = [*lines, *(["**Where:**", *found] if found else []), *kept_lines]
        text = [*stands, *more]
        content = enclose(SOURCE, [HEADING, *text])
        over = cost(content) - most
        if (over > 0 and room <= 0) or text == more or (text == lines[:1] + more and task.is_in(summary, lines[0])):
            return {"content": "", "files": 0, "queries": [], "memories": []}
        if over <= 0:
            for query in requests[: own_command.most(MOST_QUERIES, agent)] if len(asked) < MOST_QUERIES else ():
                wider = list(dict.fromkeys([*asked, query]))
                longer = enclose(SOURCE, [HEADING, *stands, *_more(wider, agent)])
                if cost(longer) <= max_tokens + own_command.uncounted(len(wider), agent):
                    asked, content = wider, longer
            return {"content": content, "files": len(found), "queries": asked, "memories": told}
        room -= over * 4 + 4


def queries(places: Sequence[Place], shown_as: Mapping[str, str], *, commands: bool) -> list[str]:
    """Up to two queries by files, in the order of their first place; the last asks for commands, too."""
    counts: dict[str, int] = {}
    for place in places[: MOST_QUERIES * _QUERY_NAMES * 2]:
        counts[place["file"]] = counts.get(place["file"], 0) + 1
    chosen: list[list[str]] = []
    held: list[int] = []
    for file in counts:  # in the order of their best place
        name = shown_as[file]
        if not _is_plain(name):
            continue
        fits = [
            at for at, units in enumerate(chosen)
            if held[at] + counts[file] <= _QUERY_NAMES and len(units) < _QUERY_FILES
            and sum(map(len, units)) + len(units) + len(name) <= _QUERY_CHARS
        ]  # fmt: skip
        if fits:
            chosen[fits[0]].append(name)
            held[fits[0]] += counts[file]
        elif len(chosen) < MOST_QUERIES:
            chosen.append([name])
            held.append(counts[file])
    if commands and chosen:
        chosen[-1].append(_COMMANDS)
    return [" ".join(units) for units in chosen]


def _files_there(folder: str, places: Sequence[Place]) -> set[str]:
    """The first files of places that are there now; where there is no such folder, all of them."""
    files = list(dict.fromkeys(place["file"] for place in places))[: MOST_QUERIES * _QUERY_FILES * 2]
    is_here = os.path.isdir(folder)
    return {file for file in files if not is_here or os.path.lexists(os.path.join(folder, file))}


def _standing(
    db: apsw.Connection, about: Session, calls: Sequence[Call], summary: str, places: Sequence[Place],
    shown_as: Mapping[str, str], room: int,
) -> list[str]:  # fmt: skip
    """What the work is and how it stands: as many lines as have room, the first ones first."""
    said = session_rows.said(db, about["id"], task.READ_CHARS)
    request = task.quoted(
        said, calls, about.get("ended_at", 0), lambda until: session_rows.last_words(db, about["id"], until)
    )
    found = [f"**Task:** {request}" if request else "", _plan(about)]
    edits = place_rows.edits(db, about["id"])
    ranges = checks.unrun(edits, calls)
    if ranges:
        inside: dict[str, list[Place]] = {}
        for place in places:
            if place["file"] in ranges:
                inside.setdefault(place["file"], []).append(place)
        edited = checks.told_ranges(ranges, inside, shown_as, _EDITED_CHARS)
        found.append(f"**Edited, not run since:** {edited}" if edited else "")
    failure = checks.failing(calls, edits)
    if failure is not None:
        found.append(checks.failure_line(failure, clip(one_line(failure["error"]), _ERROR_CHARS, _ERROR_CHARS // 3)))
    found.append(_works(calls, summary))
    running = [(code, call["error"]) for call in reversed(checks.running(calls)) if (code := as_code(call["command"]))]
    if running and len(running[0][0]) <= _RUNNING_CHARS:
        command, process = running[0]
        found.append(f"**Running:** {command} in the background{f', as {process}' * bool(process)}")
    state = worktree.git_state(about.get("worktree") or about["folder"])
    found.append(f"**Now:** {state}" if state else "")
    kept: list[str] = []
    for line in found:
        if line and len(line) + 1 <= room:
            room -= len(line) + 1
            kept.append(line)
    return kept


def _plan(about: Session) -> str:
    """How far the agent is in its own plan, and the step at which it is, where it changed the plan lately."""
    steps = about["plan"]
    at = next((text for _, text, status in steps if status == _AT_WORK), "")
    if not at or len(steps) >= _CUT_PLAN or about.get("plan_at", [0])[0] <= about["calls"] - _LATE_PLAN:
        return ""
    done = sum(status == _DONE for *_, status in steps)
    return f'**Plan:** {done} of {len(steps)} steps done, at: "{clip(one_line(at), _STEP_CHARS, _STEP_CHARS // 2)}"'


def _works(calls: Sequence[Call], summary: str) -> str:
    """The commands that work, as they stand, and after how many other forms; none that an agent writes anyway."""
    shown: list[str] = []
    room = _WORKS_CHARS
    for call, failed in checks.working(calls, without=summary):
        after = f" (after {failed} other form{'s' * (failed > 1)})" if failed else ""
        entry = as_code(call["command"]) + after
        is_news = bool(failed) or not checks.is_plain(call["command"])
        if is_news and as_code(call["command"]) and len(entry) + 2 <= room:
            room -= len(entry) + 2
            shown.append(entry)
    return f"**Works:** {', '.join(shown)}" if shown else ""


def _nearest(places: Sequence[Place], room: int) -> list[Place]:
    """The places that may be told: those of the first files, no more than have room."""
    files = list(dict.fromkeys(place["file"] for place in places))[: where.MOST_FILES * 2]
    return [place for place in places if place["file"] in files][: max(room, 0) // 6]


def _remembered(memories: Sequence[Memory], room: int) -> tuple[list[str], list[Memory]]:
    """What is known that somebody wrote, in what room is left."""
    lines: list[str] = []
    told: list[Memory] = []
    for memory in memories:
        line = f"- {clip(one_line(memory['text']), MEMORY_CHARS, MEMORY_CHARS // 2)}"
        needed = len(line) + 1 + (0 if lines else len("**Memories:**") + 1)
        if needed <= room:
            room -= needed
            lines.append(line)
            told.append(memory)
    return (["**Memories:**", *lines] if lines else []), told


def _is_plain(text: str) -> bool:
    """Whether a name can stand in a command between quotes as it is."""
    return text.isascii() and all(sign.isalnum() or sign in "-_.@/" for sign in text)


def _more(asked: Sequence[str], agent: str) -> list[str]:
    printed = [f"`{own_command.recall(query, agent)}`" for query in asked if as_code(query)]
    return ["**More:** " + ", ".join(printed)] if printed else []
