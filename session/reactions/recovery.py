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
from core.names import names_in
from core.project import branch_and_commit, current_places
from core.quoting import as_code, clip, clip_evenly, clip_path, cost, enclose, one_line
from core.store.branches import History
from session import command_runs, own_command
from session import places as name_places
from session.reactions import NO_CHECKPOINT, NO_RESULTS, Reaction
from session.record import JOINT, asks_for_last_note, message, task_query, task_text
from session.requests import is_in_summary, open_request
from session.session import fault_boundary
from session.state import MESSAGE_CHARS, MESSAGES_KEPT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import apsw

    from clients.base import HookEvent
    from core.records import Call, Place
    from core.records import Session as ArchivedSession
    from session.session import Session
    from session.state import Memory, Message, SessionState

HEADING = "## Session Recovery"
SOURCE = "session-recovery"
MOST_QUERIES = 2
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
    """The note, unless nothing is known of the session or the last note is still in the context."""
    state = session.state
    if (event["kind"] == "start" and not state.note_owed) or asks_for_last_note(event, session):
        return _last_note(session)
    if session.before is None:
        return Reaction(NO_CHECKPOINT)
    about: dict[str, Any] = {**state.compaction_metadata}
    if session.is_cooling_down:
        state.note_owed = False
        skipped = state.compaction_event("compaction.inject.skipped")
        session.queue_event(session.event(skipped, {**about, "reason": "rapid-recompaction"}))
        return Reaction("rapid-recompaction", about=about)
    note = _compose(event, session)
    state.note_owed = False
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
    kind, content = _kind(state), note["text"]
    about = {
        **state.compaction_metadata, "memoryIds": note["memoryIds"], "contentChars": len(content),
        "estimatedTokens": cost(content), "duration_ms": 0,
    }  # fmt: skip
    name = state.compaction_event("compaction.inject.repeated")
    session.queue_event(session.injected_event(name, about, kind, content))
    return Reaction("injected", texts=[{"customType": kind, "content": content}], about=about)


def _kind(state: SessionState) -> str:
    return "gateway-recovery" if state.is_gateway else "compaction-recovery"


def _compose(event: HookEvent, session: Session) -> Note:
    """The note from what the session did; from its state if it did too little. It may be empty."""
    state, store = session.state, session.store
    messages = state.messages or store.read("work", lambda db: _archived_messages(db, state), state.messages)
    short = [entry for entry in reversed(messages) if entry["isShort"]]  # the others may quote foreign text
    requests = [query for query in dict.fromkeys(task_query([entry]) for entry in short) if query]

    def read(db: apsw.Connection) -> Note | None:
        kept = ""  # what the client left in the context word for word, if its session file says so
        if event["transcript"]:
            with fault_boundary(store, "kept"):
                from session.compaction import kept_text

                kept = kept_text(event["transcript"], session.agent)[-200_000:]
        return work_note(db, session, kept=kept, more_queries=requests)

    note = store.read("work", read, None)
    if note is not None:
        return note
    answers = {
        query: store.recall(query, session.project, everywhere=state.is_gateway, with_turns=True) or []
        for query in requests
    }
    memories = state.recalled_memories
    if not memories and any(answers.values()):
        from session.reactions.injection import select

        memories = select([hit for hits in answers.values() for hit in hits], state)
    # Of a longer prompt before the last, all may be pasted.
    task = task_text([entry for entry in messages[:-1] if entry["isShort"]] + messages[-1:]) or state.task
    queries = [query for query, hits in answers.items() if hits]
    max_tokens = session.config.get_int("inject.max_tokens")
    return talk_note(task, state.files_modified, memories, queries, max_tokens, session.agent or state.agent)


def _archived_messages(db: apsw.Connection, state: SessionState) -> list[Message]:
    """The last prompts of a session of which no hook has seen any, as when an old session goes on."""
    said = History(db, state.session_id).conversation(MESSAGE_CHARS)
    return [entry for _, text in said if (entry := message(text))][-MESSAGES_KEPT:]


def talk_note(
    task: str, files: Sequence[str], memories: Sequence[Memory], queries: Sequence[str], max_tokens: int, agent: str
) -> Note:
    """The note of a session that only talked, within `max_tokens` estimated tokens; empty if nothing is known."""
    paths = [path for path in map(one_line, reversed(files)) if path]
    shown = [memory for memory in memories if one_line(memory["text"])]
    for task_tokens, most_files, most, memory_tokens in _TALK_SIZES:
        task_line = clip_evenly(one_line(task).split(JOINT), JOINT, 200 if task_tokens else 0, task_tokens)
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


def work_note(db: apsw.Connection, call: Session, *, kept: str, more_queries: Sequence[str]) -> Note | None:
    """The note of a session within `inject.max_tokens` estimated tokens; None if the session did too little.

    The note is empty if the client's summary has everything.

    Args:
        kept: what the client left in the context besides its summary.
        more_queries: the session's requests as queries, if the files need fewer than two.
    """
    history = History(db, call.id)
    session = history.session()
    if session is None or session["calls"] < 5:  # too few to report
        return None
    compactions = history.compactions()
    summary = f"{compactions[-1]['summary'] if compactions else ''}\n{kept}"
    calls = history.calls()
    every = history.places()
    checkout = session.get("worktree", "")
    places = name_places.ranked(history.names(), every, session["calls"], names_in(summary)[0], checkout)
    shown_as = name_places.short_names(sorted({place["file"] for place in every} | history.paths()))
    max_tokens = call.config.get_int("inject.max_tokens")
    request = open_request(db, session, calls)
    work = _work_lines(history, session, request, shown_as, room=round(max_tokens * 4 * 0.42))
    folder = checkout or session["folder"]
    files = list(dict.fromkeys(place["file"] for place in places))[:12]
    if os.path.isdir(folder):
        files = [file for file in files if os.path.lexists(os.path.join(folder, file))]
    queries = (file_queries([place for place in places if place["file"] in files], shown_as) or [*more_queries])[
        :MOST_QUERIES
    ]

    def framed(lines: Sequence[str], queries: Sequence[str]) -> str:
        agent = call.agent or call.state.agent
        commands = [f"`{own_command.recall(query, agent)}`" for query in queries if as_code(query)]
        return enclose(SOURCE, [HEADING, *lines, *(["**More:** " + ", ".join(commands)] if commands else [])])

    # characters for places and memories
    room = (max_tokens - cost(framed([*work, "**Where:**"], queries))) * 4 - 4
    first = list(dict.fromkeys(place["file"] for place in places))[: name_places.MOST_FILES * 2]
    wanted = [place for place in places if place["file"] in first][: max(room, 0) // 6]
    current = current_places(folder, wanted, time.monotonic() + 0.1)
    for size in (room, room // 2, 0):  # it is in half of the room if its letters are not ASCII
        where = name_places.lines_of_note(current, shown_as, max(size, 0))
        left = size - sum(len(line) + 1 for line in where)
        remembered, memories = _memory_lines(call.state.recalled_memories, left)
        body = [*work, *(["**Where:**", *where] if where else []), *remembered]
        content = framed(body, queries)
        if cost(content) <= max_tokens:
            break
    if not body or cost(content) > max_tokens or (len(body) == 1 and body == work and is_in_summary(summary, work[0])):
        return Note()
    for query in more_queries:
        with_query = framed(body, [*queries, query])
        if len(queries) < MOST_QUERIES and query not in queries and cost(with_query) <= max_tokens:
            queries, content = [*queries, query], with_query
    return Note(content, len(where), queries, memories)


def file_queries(places: Sequence[Place], shown_as: Mapping[str, str]) -> list[str]:
    """Up to two queries that name files, in the order of their first place."""
    counts: dict[str, int] = {}
    most_names = 50  # the answer to a query has room for these
    for place in places[: MOST_QUERIES * most_names * 2]:
        counts[place["file"]] = counts.get(place["file"], 0) + 1
    queries: list[dict[str, int]] = []
    for file, count in counts.items():
        name = shown_as[file]
        if not (name.isascii() and all(sign.isalnum() or sign in "-_.@/" for sign in name)):
            continue  # it cannot be quoted
        for query in queries:
            if sum(query.values()) + count <= most_names and len(query) < 3 and len(" ".join([*query, name])) <= 48:
                query[name] = count
                break
        else:
            if len(queries) < MOST_QUERIES:
                queries.append({name: count})
    return [" ".join(query) for query in queries]


def _work_lines(
    history: History,
    session: ArchivedSession,
    request: str,
    shown_as: Mapping[str, str],
    room: int,
) -> list[str]:
    """What the work is and how far it is: the lines that fit into `room` characters, the first ones first."""
    calls, edits = history.calls(), history.edits()
    failure = command_runs.failing(calls, edits)
    git_state = branch_and_commit(session.get("worktree") or session["folder"])
    lines = [
        f"**Task:** {request}" if request else "",
        _plan_line(session),
        command_runs.unrun_line(history, edits, calls, shown_as, room=110),
        command_runs.failure_line(failure, 240, 80) if failure else "",
        _running_line(calls),
        f"**Now:** {git_state}" if git_state else "",
    ]
    kept: list[str] = []
    for line in lines:
        if line and len(line) + 1 <= room:
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


def _running_line(calls: Sequence[Call]) -> str:
    """The last command that was started in the background, and the client's name for its process."""
    for call in reversed(command_runs.running(calls)):
        if code := as_code(call["command"]):
            process = f", as {call['error']}" if call["error"] else ""
            return f"**Running:** {code} in the background{process}" if len(code) <= 90 else ""
    return ""


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
