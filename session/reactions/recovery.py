"""What an agent is given after a compaction (ADR-0203, stage 3). Hot path.

A session that did some work gets the recovery note: how far the work is, and how to get the rest back. Each line is a
fact with its source, or it is left out: the user's words, an edited range, a command with the outcome that the client
recorded, what git says, a line of code that has a name.

A session that only talked gets its task, its files, memories, and its last requests as queries that are known to have
answers.
"""

from __future__ import annotations

import os
import time

from core import TYPE_CHECKING
from core.names import is_file, names_in
from core.project import OUTSIDE, branch_and_commit, current_lines
from core.quoting import as_code, clip, clip_evenly, clip_path, cost, enclose, one_line
from core.store.branches import History
from core.store.calls import fading
from session import command_runs, own_command
from session.reactions import NO_CHECKPOINT, NO_RESULTS, Reaction
from session.record import JOINT, asks_for_last_note, searchable, task_query, task_text
from session.requests import is_request, open_request, says_something, talked_about
from session.session import fault_boundary

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from typing import Any

    import apsw

    from clients.base import HookEvent
    from core.records import Call, Name, Place
    from core.records import Session as ArchivedSession
    from session.session import Session
    from session.state import Memory, SessionState

HEADING = "## Session Recovery"
SOURCE = "session-recovery"
MOST_QUERIES = 2
MOST_FILES = 4
"""Files in a note. Of 3 to 8, 4 led agents to use the most places, on half of 37 real compactions."""
_TALK_SIZES = ((200, 5, 3, 150), (60, 3, 3, 33), (40, 2, 2, 25), (20, 1, 0, 0), (0, 1, 0, 0))
"""Sizes of a note, tried in turn: tokens of the task, files, memories and queries, and tokens of each memory."""


class Note:
    """A note and what went into it; `content` is "" if there is nothing to say."""

    __slots__ = ("content", "files", "memories", "queries")

    def __init__(
        self, content: str = "", files: int = 0, queries: Sequence[str] = (), memories: Sequence[Memory] = ()
    ) -> None:
        self.content = content
        self.files = files
        self.queries = queries
        self.memories = memories


def react(event: HookEvent, session: Session) -> Reaction:
    """The note, unless nothing is known of the session or the last note was given within a minute.

    after a compaction, or at the next event that is answered       a new note; `record` notes that it is owed
    a start with the source `compact` (Qwen Code goes on elsewhere)  the last note once more
    the source `owed`, within a minute (pi's other process)          the last note once more
    """
    state = session.state
    if (event["kind"] == "start" and not state.note_owed) or asks_for_last_note(event, session):
        return _last_note(session)
    if session.before is None:
        return Reaction(NO_CHECKPOINT)
    state.note_owed = False
    about: dict[str, Any] = {**state.compaction_metadata}
    if session.is_cooling_down:
        skipped = state.compaction_event("compaction.inject.skipped")
        session.queue_event(session.event(skipped, {**about, "reason": "rapid-recompaction"}))
        return Reaction("rapid-recompaction", about=about)
    note = _compose(event, session)
    if not note.content:
        return Reaction(NO_RESULTS if state.task or state.files else NO_CHECKPOINT, about=about)
    about |= {
        "filesCount": note.files, "recallHitsCount": len(note.memories), "queriesCount": len(note.queries),
        "timeSinceSessionStartMs": max(0, session.now - state.started_at),
    }  # fmt: skip
    state.last_injection_at = session.now
    state.signpost = {"text": note.content, "memoryIds": [memory["id"] for memory in note.memories]}
    session.must_store_events = True

    from session.reactions.injection import give

    return give(session, _kind(state), note.content, note.memories, about=about)


def _last_note(session: Session) -> Reaction:
    """The last note once more, for another process of a client that takes up a session; nothing is counted."""
    state, note = session.state, session.state.signpost
    if note is None:
        return Reaction(NO_RESULTS)
    from session.reactions.injection import hand_over

    name = state.compaction_event("compaction.inject.repeated")
    about = {**state.compaction_metadata, "memoryIds": note["memoryIds"]}
    return hand_over(session, name, _kind(state), note["text"], about=about)


def _kind(state: SessionState) -> str:
    return "gateway-recovery" if state.is_gateway else "compaction-recovery"


def _compose(event: HookEvent, session: Session) -> Note:
    """The note from what the session did; from its state if it did too little. It may be empty."""
    state, store = session.state, session.store
    # A longer prompt may quote foreign text, and a shorter prompt ("go on") asks for nothing.
    short = [entry for entry in reversed(state.messages) if entry["isShort"] and says_something(entry["text"])]
    asked = [entry for entry in short if is_request(entry["text"])] or short
    said = dict.fromkeys(searchable(clip(task_query([entry]), 120, tokens=45)) for entry in asked)
    requests = [query for query in said if query]

    def read(db: apsw.Connection) -> Note | None:
        kept = ""  # what the client left in the context word for word, if its session file says so
        if event["transcript"]:
            with fault_boundary(store, "kept"):
                from session.transcript import kept_text

                kept = kept_text(event["transcript"], session.agent)[-200_000:]
        return work_note(db, session, kept=kept, more_queries=requests)

    note = store.read("work", read, None)
    if note is not None:
        return note
    project = session.project()
    known = [query for query in requests if session.recall(query, project, with_episodes=True)]
    # Of a longer prompt before the last, all may be pasted.
    last = task_text([entry for entry in state.messages[:-1] if entry["isShort"]] + state.messages[-1:])
    task = store.read("work", lambda db: talked_about(History(db, session.id)), "") or last
    max_tokens = session.config.get_int("inject.max_tokens")
    return talk_note(
        task, state.files_modified, state.recalled_memories, known, max_tokens, session.agent or state.agent
    )


def talk_note(
    task: str, files: Sequence[str], memories: Sequence[Memory], queries: Sequence[str], max_tokens: int, agent: str
) -> Note:
    """The note of a session that only talked, within `max_tokens` estimated tokens; empty if nothing is known."""
    paths = [path for path in map(one_line, reversed(files)) if path]
    shown = [memory for memory in memories if one_line(memory["text"])]
    for task_tokens, most_files, most, memory_tokens in _TALK_SIZES:
        task_line = clip_evenly(one_line(task).split(JOINT), JOINT, 400 if task_tokens else 0, task_tokens)
        named = [clip(clip_path(path, 120), 120, tokens=40) for path in paths[:most_files]]
        related = [f"- {clip(one_line(memory['text']), 150, memory_tokens)}" for memory in shown[:most]]
        commands = [f"`{own_command.recall(query, agent)}`" for query in queries[:most]]
        lines = [f"**Task:** {task_line}"] if task_line else []
        lines += [f"**Modified:** {', '.join(named)}"] if named else []
        lines += ["**Related memories:**", *related] if related else []
        lines += ["**Deeper context:** " + " or ".join(commands)] if commands else []
        content = enclose(SOURCE, [HEADING, *lines])
        if lines and cost(content) <= max_tokens:
            return Note(content, len(named), queries[:most], shown[: len(related)])
    return Note()


def work_note(db: apsw.Connection, session: Session, *, kept: str, more_queries: Sequence[str]) -> Note | None:
    """The note of a session within `inject.max_tokens` estimated tokens; None if the session did too little.

    A task that the client's summary repeats is left out, and names in the summary come first among the places.

    Args:
        kept: what the client left in the context besides its summary.
        more_queries: the session's requests as queries, if the files need fewer than two.
    """
    history = History(db, session.id)
    archived, calls = history.session(), history.calls()
    if archived is None or not calls:  # the user may have gone back to before the first
        return None
    compactions = history.compactions()
    summary = f"{compactions[-1]['summary'] if compactions else ''}\n{kept}"
    every = history.places()
    checkout = archived.get("worktree", "")
    places = _ranked_places(history.names(), every, archived["calls"], names_in(summary)[0], checkout)
    shown_as = _short_names({place["file"] for place in every} | history.paths())
    if (calls[-1]["at"] or 0) < (session.state.last_message_at or 0):
        # The client compacted at a prompt, which is still in the context.
        asked = task_query(session.state.messages[-1:])
        more_queries = [query for query in more_queries if query != asked] or more_queries
    max_tokens = session.config.get_int("inject.max_tokens")
    request = open_request(history, archived, calls, summary)
    task = [f"**Task:** {request}"] if request else []
    lines = [*task, *_work_lines(history, archived, calls, shown_as)]
    work = _fitting_lines(lines, round(max_tokens * 4 * 0.42))
    folder = checkout or archived["folder"]
    files = list(dict.fromkeys(place["file"] for place in places))
    is_there = os.path.isdir(folder)
    existing = [file for file in files[:12] if not is_there or os.path.lexists(os.path.join(folder, file))]
    queries = (file_queries(existing, shown_as) or [*more_queries])[:MOST_QUERIES]

    def framed(lines: Sequence[str], queries: Sequence[str]) -> str:
        agent = session.agent or session.state.agent
        commands = [f"`{own_command.recall(query, agent)}`" for query in queries if as_code(query)]
        return enclose(SOURCE, [HEADING, *lines, *(["**More:** " + ", ".join(commands)] if commands else [])])

    # characters for places and memories
    room = (max_tokens - cost(framed([*work, "**Where:**"], queries))) * 4 - 4
    wanted = [place for place in places if place["file"] in files[: MOST_FILES * 2]][: max(room, 0) // 6]
    current = [place for place, _ in current_lines(folder, wanted, time.monotonic() + 0.1)]
    for size in (room, room // 2, 0):  # it is in half of the room if its letters are not ASCII
        where = _place_lines(current, shown_as, max(size, 0))
        left = size - sum(len(line) + 1 for line in where)
        remembered, memories = _memory_lines(session.state.recalled_memories, left)
        rest = [*(["**Where:**", *where] if where else []), *remembered]
        if cost(framed([*work, *rest], queries)) <= max_tokens:
            break
    for line in lines:  # that did not fit, in the room that is left
        longer = [each for each in lines if each in work or each == line]
        work = longer if cost(framed([*longer, *rest], queries)) <= max_tokens else work
    body = [*work, *rest]
    content = framed(body, queries)
    if not (body or queries) or cost(content) > max_tokens:
        return Note()
    for query in more_queries:
        with_query = framed(body, [*queries, query])
        if len(queries) < MOST_QUERIES and query not in queries and cost(with_query) <= max_tokens:
            queries, content = [*queries, query], with_query
    spare = (max_tokens - cost(content)) * 4
    for extra in (spare // 4, spare // 2) if task and task[0] in work else ():
        request = open_request(history, archived, calls, summary, extra)
        with_request = framed([f"**Task:** {request}", *body[1:]], queries)
        content = with_request if cost(with_request) <= max_tokens else content
    return Note(content, len(where), queries, memories)


def file_queries(files: Iterable[str], shown_as: Mapping[str, str]) -> list[str]:
    """Up to two queries that name up to three files each, in their order."""
    queries: list[str] = []
    for file in files:
        name = shown_as[file]
        if searchable(name) != name or " " in name:
            continue  # it cannot be quoted
        if queries and queries[-1].count(" ") < 2 and len(queries[-1]) + len(name) < 48:
            queries[-1] += f" {name}"
        elif len(queries) < MOST_QUERIES:
            queries.append(name)
    return queries


def _work_lines(
    history: History, session: ArchivedSession, calls: Sequence[Call], names: Mapping[str, str]
) -> list[str]:
    """How far the work is; the most important lines come first."""
    edits = history.edits()
    failure = command_runs.failing(calls, edits)
    git_state = branch_and_commit(session.get("worktree") or session["folder"])
    lines = [
        _plan_line(session),
        command_runs.unrun_line(history, edits, calls, names, room=110),
        command_runs.failure_line(failure, session["folder"], 240, 80) if failure else "",
        command_runs.running_line(calls, session["folder"]),
        f"**Now:** {git_state}" if git_state else "",
    ]
    return list(filter(None, lines))


def _fitting_lines(lines: Iterable[str], room: int) -> list[str]:
    """The lines that fit into the room that those before them leave."""
    kept: list[str] = []
    for line in lines:
        if len(line) + 1 <= room:
            room -= len(line) + 1
            kept.append(line)
    return kept


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


def _memory_lines(memories: Sequence[Memory], room: int) -> tuple[list[str], list[Memory]]:
    """Memories in the room that is left, and which ones these are."""
    heading = "**Memories:**"
    by_line = {f"- {clip(one_line(memory['text']), 150, tokens=75)}": memory for memory in memories}
    lines = _fitting_lines(by_line, room - len(heading) - 1)
    return [heading, *lines] if lines else [], [by_line[line] for line in lines]


def _ranked_places(
    names: Iterable[Name], places: Sequence[Place], total: int, in_summary: Container[str], checkout: str = ""
) -> list[Place]:
    """The places of a session, most needed first: by the fading use of the name, and by how much of the file was shown.

    A name that is defined somewhere has only its definitions; another name is left out unless the agent wrote it
    itself. A line that defines a name is shown for that name only.

    Args:
        total: calls of the session so far.
        in_summary: names that the client's summary has.
        checkout: the folder of another checkout in which the session works; "" if it works in its own folder.
    """
    weights = {
        name["name"]: name["weight"] * fading(total - name["last"]) * (2.0 if name["written"] else 1.0)
        for name in names
    }
    written = {name["name"] for name in names if name["written"]}
    shown: dict[str, float] = {}
    for place in places:
        shown[place["file"]] = shown.get(place["file"], 0.1) + fading(total - place["number"])
    own = f"{checkout}/" if checkout else "/ "  # no path begins like this
    sources = {
        file: weight**0.5
        for file, weight in shown.items()
        if _is_source(file) and (not file.startswith(OUTSIDE) or file.startswith(own))
    }
    places = [place for place in places if place["file"] in sources]
    defined = {place["name"] for place in places if place["defines"]}
    defining_lines = {(place["file"], place["line"]) for place in places if place["defines"]}
    files_with: dict[str, int] = {}
    for place in places:
        files_with[place["name"]] = files_with.get(place["name"], 0) + 1
    found: list[tuple[float, Place]] = []
    for place in places:
        name, file = place["name"], place["file"]
        weight = weights.get(name, 0.0)
        if weight < 0.05:  # hardly used any more
            continue
        is_defining_line = (file, place["line"]) in defining_lines
        if not place["defines"] and (name in defined or name not in written or is_defining_line):
            continue
        if files_with[name] >= 3 and name not in defined and name not in in_summary:
            continue  # it belongs to a library
        # An agent searches for definitions more than for uses, for names that its summary has, and for what it wrote.
        # Without the last two weights and the length of the name, 30 instead of 32 of 46 avoidable calls were saved.
        weight *= (3.0 if name in in_summary else 1.0) * (4.0 if place["defines"] else 1.0)
        found.append((weight * sources[file] / (len(name) + 5) ** 0.5, place))
    found.sort(key=lambda entry: -entry[0])
    return [place for _, place in found]


def _is_source(file: str) -> bool:
    """Whether a file is source of a project: no prose, no settings, nothing that others wrote or a tool keeps."""
    if not is_file(file) or file.startswith(("~", "../")):
        return False
    if file.endswith((".adoc", ".cfg", ".html", ".ini", ".md", ".mdx", ".rst", ".toml", ".yaml", ".yml")):
        return False
    foreign = {"node_modules", "site-packages", "dist-packages", ".venv", ".claude", ".codex", ".pi", "tmp"}
    return foreign.isdisjoint(file.split("/"))


def _short_names(files: set[str]) -> dict[str, str]:
    """By file, its name with as many folders as tell it from the others."""
    count: dict[str, int] = {}
    ends_of: dict[str, list[str]] = {}
    for file in files:
        parts = file.split("/")
        ends_of[file] = ["/".join(parts[at:]) for at in range(len(parts) - 1, -1, -1)]
        for end in ends_of[file]:
            count[end] = count.get(end, 0) + 1
    return {file: next((end for end in ends_of[file] if count[end] == 1), file) for file in files}


def _place_lines(places: Sequence[Place], names: Mapping[str, str], room: int) -> list[str]:
    """`- file: name:line name:line` within `room` characters; `names` shows a file. A line of code is listed once.

    A file is left out if its places are only uses, or a single place that is not among the first.
    """
    by_line: dict[tuple[str, int], Place] = {}
    for place in places:
        by_line.setdefault((place["file"], place["line"]), place)
    places = list(by_line.values())
    found = _fitting(places, names, room)
    first = {place["file"] for place in places[:5]}
    defining = {place["file"] for place in places if place["defines"]}
    thin = {file for file, entries in found.items() if file not in defining or (len(entries) < 2 and file not in first)}
    if thin:
        kept = [place for place in places if place["file"] in found and place["file"] not in thin]
        found = _fitting(kept, names, room)
    return [f"- {names[file]}: {' '.join(entries)}" for file, entries in found.items()]


def _fitting(places: Iterable[Place], names: Mapping[str, str], room: int) -> dict[str, list[str]]:
    """By file, `name:line` of the places in their order, within the room; each name once."""
    found: dict[str, list[str]] = {}
    shown: set[str] = set()
    for place in places:
        name, file = place["name"], place["file"]
        if name in shown or (file not in found and len(found) >= MOST_FILES):
            continue
        entry = f"{name}:{place['line']}"
        needed = len(entry) + 1 + (len(names[file]) + 4 if file not in found else 0)
        if needed > room:
            continue
        room -= needed
        shown.add(name)
        found.setdefault(file, []).append(entry)
    return found
