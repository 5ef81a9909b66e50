"""The recovery note: how far the work of a session is after a compaction, and how to get the rest back. Hot path.

Each line is a fact with its source, or it is left out: the user's words, an edited range, a command with the outcome
that the client recorded, what git says, a line of code that has a name.
"""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING, worktree
from core.names import names_in
from core.quoting import as_code, clip, cost, enclose, one_line
from core.store import calls as stored_calls
from core.store import places_and_names, sessions
from session import own_command
from session.notes import command_runs
from session.notes import places as name_places
from session.notes.requests import is_in_summary, open_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import apsw

    from core.records import Call, Place
    from core.records import Session as ArchivedSession
    from session.session import Session
    from session.state import Memory

HEADING = "## Session Recovery"
SOURCE = "session-recovery"
FEWEST_CALLS = 5
"""A session with fewer calls has no work to report."""
MOST_QUERIES = 2
_QUERY_NAMES = 50  # the answer to a query has room for these


class Note:
    """A note and what went into it; `content` is "" if there is nothing to say."""

    __slots__ = ("content", "files", "memories", "queries")

    def __init__(self, content: str, files: int, queries: list[str], memories: list[Memory]) -> None:
        self.content = content
        self.files = files
        self.queries = queries
        self.memories = memories


def compose(db: apsw.Connection, call: Session, *, kept: str, more_queries: Sequence[str]) -> Note | None:
    """The note of a session within `inject.max_tokens` estimated tokens; None if the session did too little.

    The note is empty if the client's summary has everything. The path in its commands does not count
    (`own_command.uncounted`).

    Args:
        kept: what the client left in the context besides its summary.
        more_queries: the session's requests as queries, if the files need fewer than two.
    """
    session = sessions.by_id(db, call.id)
    if session is None or session["calls"] < FEWEST_CALLS:
        return None
    compactions = sessions.compactions(db, call.id)
    summary = f"{compactions[-1]['summary'] if compactions else ''}\n{kept}"
    calls = stored_calls.of_session(db, call.id)
    every = places_and_names.places(db, call.id)
    checkout = session.get("worktree", "")
    names = places_and_names.names(db, call.id)
    places = name_places.ranked(names, every, session["calls"], names_in(summary)[0], checkout)
    files = {place["file"] for place in every} | {*places_and_names.paths(db, call.id)}
    shown_as = name_places.short_names(sorted(files))
    max_tokens = call.config.get_int("inject.max_tokens")
    work = _work_lines(db, session, calls, summary, shown_as, room=round(max_tokens * 4 * 0.42))
    folder = checkout or session["folder"]
    existing = _existing_files(folder, places)
    queries = file_queries([place for place in places if place["file"] in existing], shown_as)
    draft = _Draft(work, queries or list(more_queries), max_tokens, call.agent or call.state.agent)
    current = worktree.current_places(folder, _first_files(places, draft.room), time.monotonic() + 0.1)
    if not draft.fit(current, shown_as, call.state.recalled_memories):
        return Note("", 0, [], [])
    if len(draft.body) == 1 and draft.body == work and is_in_summary(summary, work[0]):
        return Note("", 0, [], [])
    draft.add_queries(more_queries)
    return Note(draft.content, draft.files, draft.queries, draft.memories)


class _Draft:
    """A note that is fitted into its budget: first the lines of work, then places, then memories, then queries."""

    def __init__(self, work: Sequence[str], queries: Sequence[str], max_tokens: int, agent: str) -> None:
        self._work = work
        self._agent = agent
        self._max_tokens = max_tokens
        self._most = own_command.most(MOST_QUERIES, agent)
        self.queries = list(queries)[: self._most]
        self.body: list[str] = []
        self.memories: list[Memory] = []
        self.files = 0
        self.content = self._enclosed([*work, "**Where:**"], self.queries)
        self.room = (self._budget(self.queries) - cost(self.content)) * 4 - 4
        """Characters for places and memories."""

    def fit(self, places: Sequence[Place], shown_as: Mapping[str, str], memories: Sequence[Memory]) -> bool:
        """Fill the room; returns whether there is anything to say within the budget."""
        room = self.room
        while True:
            where = name_places.lines_of_note(places, shown_as, max(room, 0))
            remembered, self.memories = _memory_lines(memories, room - sum(len(line) + 1 for line in where))
            self.body = [*self._work, *(["**Where:**", *where] if where else []), *remembered]
            self.files = len(where)
            self.content = self._enclosed(self.body, self.queries)
            over = cost(self.content) - self._budget(self.queries)
            if not self.body or (over > 0 and room <= 0):
                return False
            if over <= 0:
                return True
            room -= over * 4 + 4

    def add_queries(self, more: Sequence[str]) -> None:
        """Add queries in what is left of the budget, if there are fewer than two."""
        for query in more[: self._most] if len(self.queries) < MOST_QUERIES else ():
            queries = list(dict.fromkeys([*self.queries, query]))
            content = self._enclosed(self.body, queries)
            if cost(content) <= self._budget(queries):
                self.queries, self.content = queries, content

    def _budget(self, queries: Sequence[str]) -> int:
        return self._max_tokens + own_command.uncounted(len(queries), self._agent)

    def _enclosed(self, lines: Sequence[str], queries: Sequence[str]) -> str:
        commands = [f"`{own_command.recall(query, self._agent)}`" for query in queries if as_code(query)]
        more = ["**More:** " + ", ".join(commands)] if commands else []
        return enclose(SOURCE, [HEADING, *lines, *more])


def file_queries(places: Sequence[Place], shown_as: Mapping[str, str]) -> list[str]:
    """Up to two queries that name files, in the order of their first place."""
    counts: dict[str, int] = {}
    for place in places[: MOST_QUERIES * _QUERY_NAMES * 2]:
        counts[place["file"]] = counts.get(place["file"], 0) + 1
    queries: list[list[str]] = []
    names_held: list[int] = []
    for file, count in counts.items():
        name = shown_as[file]
        if not (name.isascii() and all(sign.isalnum() or sign in "-_.@/" for sign in name)):
            continue  # it cannot be quoted
        fits = [
            at
            for at, query in enumerate(queries)
            if names_held[at] + count <= _QUERY_NAMES and len(query) < 3 and len(" ".join([*query, name])) <= 48
        ]
        if fits:
            queries[fits[0]].append(name)
            names_held[fits[0]] += count
        elif len(queries) < MOST_QUERIES:
            queries.append([name])
            names_held.append(count)
    return [" ".join(query) for query in queries]


def _work_lines(
    db: apsw.Connection,
    session: ArchivedSession,
    calls: Sequence[Call],
    summary: str,
    shown_as: Mapping[str, str],
    room: int,
) -> list[str]:
    """What the work is and how far it is: the lines that fit into `room` characters, the first ones first."""
    request = open_request(db, session, calls)
    edits = places_and_names.edits(db, session["id"])
    ranges = command_runs.unrun(edits, calls)
    places = places_and_names.places(db, session["id"], files=list(ranges)) if ranges else []
    inside = {file: [place for place in places if place["file"] == file] for file in ranges}
    edited = command_runs.ranges_text(ranges, inside, shown_as, room=110)
    failure = command_runs.failing(calls, edits)
    git = worktree.git_state(session.get("worktree") or session["folder"])
    lines = [
        f"**Task:** {request}" if request else "",
        _plan_line(session),
        f"**Edited, not run since:** {edited}" if edited else "",
        _failing_line(failure) if failure else "",
        _works_line(calls, summary),
        _running_line(calls),
        f"**Now:** {git}" if git else "",
    ]
    kept: list[str] = []
    for line in lines:
        if line and len(line) + 1 <= room:
            room -= len(line) + 1
            kept.append(line)
    return kept


def _failing_line(failure: Call) -> str:
    return command_runs.failure_line(failure, clip(one_line(failure["error"]), 240, tokens=80))


def _plan_line(session: ArchivedSession) -> str:
    """How much of its own plan the agent has done, and its current step, if it changed the plan lately."""
    steps = session["plan"]
    current = next((text for _, text, status in steps if status == "in_progress"), "")
    # The plan that was done with, of 6, had not been touched for 68 calls. The store holds at most 60 steps.
    is_old = session.get("plan_at", [0])[0] <= session["calls"] - 60
    if not current or is_old or len(steps) >= 60:
        return ""
    done = sum(status == "completed" for *_, status in steps)
    step = clip(one_line(current), 90, tokens=45)
    return f'**Plan:** {done} of {len(steps)} steps done, at: "{step}"'


def _works_line(calls: Sequence[Call], summary: str) -> str:
    """Commands that work, and after how many other forms; none that an agent would write anyway."""
    shown: list[str] = []
    room = 130
    for call, failed in command_runs.working(calls, known=summary):
        code = as_code(call["command"])
        entry = code + (f" (after {failed} other form{'s' * (failed > 1)})" if failed else "")
        is_news = failed or not command_runs.is_plain(call["command"])
        if is_news and code and len(entry) + 2 <= room:
            room -= len(entry) + 2
            shown.append(entry)
    return f"**Works:** {', '.join(shown)}" if shown else ""


def _running_line(calls: Sequence[Call]) -> str:
    """The last command that was started in the background, and the client's name for its process."""
    for call in reversed(command_runs.running(calls)):
        if code := as_code(call["command"]):
            process = f", as {call['error']}" if call["error"] else ""
            return f"**Running:** {code} in the background{process}" if len(code) <= 90 else ""
    return ""


def _existing_files(folder: str, places: Sequence[Place]) -> set[str]:
    """The first files of the places that exist; all of them if there is no such folder."""
    files = list(dict.fromkeys(place["file"] for place in places))[:12]
    has_folder = os.path.isdir(folder)
    return {file for file in files if not has_folder or os.path.lexists(os.path.join(folder, file))}


def _first_files(places: Sequence[Place], room: int) -> list[Place]:
    """The places of the first files, no more than `room` characters hold."""
    files = list(dict.fromkeys(place["file"] for place in places))[: name_places.MOST_FILES * 2]
    return [place for place in places if place["file"] in files][: max(room, 0) // 6]


def _memory_lines(memories: Sequence[Memory], room: int) -> tuple[list[str], list[Memory]]:
    """Memories in the room that is left, and which ones these are."""
    lines: list[str] = []
    used: list[Memory] = []
    for memory in memories:
        line = f"- {clip(one_line(memory['text']), 150, tokens=75)}"
        needed = len(line) + 1 + (0 if lines else len("**Memories:**") + 1)
        if needed <= room:
            room -= needed
            lines.append(line)
            used.append(memory)
    return (["**Memories:**", *lines] if lines else []), used
