"""What an agent is given after a compaction (ADR-0203, stage 3). Hot path.

A session that did some work gets the recovery note (`session.notes.recovery_note`). A session that only talked gets its
task, its files, memories, and its last requests as queries that are known to have answers.
"""

from __future__ import annotations

import time

from core import TYPE_CHECKING
from core.quoting import clip, clip_evenly, clip_path, cost, enclose, one_line
from core.store import sessions
from session import own_command
from session.notes import recovery_note
from session.notes.recovery_note import Note
from session.reactions import NO_CHECKPOINT, NO_RESULTS, Reaction
from session.record import JOINT, asks_for_last_note, message, task_query, task_text
from session.session import fault_boundary
from session.state import MESSAGE_CHARS, MESSAGES_KEPT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from clients.event import HookEvent
    from session.session import Session
    from session.state import GivenNote, Memory, Message, SessionState

_TALK_SIZES = (
    # tokens of the task, files, memories, tokens of each memory, queries; tried in this order
    (200, 5, 3, 150, 3), (60, 5, 3, 38, 3), (60, 3, 3, 33, 3), (40, 2, 2, 25, 1), (30, 1, 0, 0, 0), (20, 0, 0, 0, 0),
    (0, 1, 0, 0, 0),
)  # fmt: skip


def react(event: HookEvent, session: Session) -> Reaction:
    """The note, unless nothing is known of the session or the last note is still in the context."""
    began, state = time.perf_counter(), session.state
    if event["kind"] == "start" or asks_for_last_note(event, session):
        return _last_note(session)
    if session.before is None:
        return Reaction(NO_CHECKPOINT)
    about: dict[str, Any] = {**state.compaction_metadata}
    if session.is_cooling_down:
        state.note_owed = False
        skipped = state.compaction_event("compaction.inject.skipped")
        session.queue_event(session.event(skipped, {**about, "reason": "rapid-recompaction"}))
        return Reaction("rapid-recompaction", about=about)
    if not (state.task or state.files or state.recall_cache or _archived(session)):
        state.note_owed = False
        return Reaction(NO_CHECKPOINT, about=about)
    note = _compose(event, session)
    state.note_owed = False
    if not note.content:
        return Reaction(NO_RESULTS, about=about)
    about |= {
        "filesCount": note.files, "recallHitsCount": len(note.memories), "queriesCount": len(note.queries),
        "timeSinceSessionStartMs": max(0, session.now - state.started_at),
    }  # fmt: skip
    given: GivenNote = {"text": note.content, "memoryIds": [memory["id"] for memory in note.memories]}
    state.last_injection_at, state.signpost, session.must_store_events = session.now, given, True

    from session.reactions.injection import Injection, give

    name = state.compaction_event("compaction.inject")
    return give(Injection(_kind(state), note.content, note.memories, name, about), session, began)


def _compose(event: HookEvent, session: Session) -> Note:
    """The note from what the session did; from its state if it did too little. It may be empty."""
    state, store = session.state, session.store
    agent, max_tokens = session.agent or state.agent, session.config.get_int("inject.max_tokens")
    messages = store.read("work", lambda db: _last_messages(db, state), state.messages)
    requests = [query for query in dict.fromkeys(task_query([entry]) for entry in reversed(messages)) if query]
    with fault_boundary(session.faults, "work"):
        db = store.reading()
        note = None
        if db is not None:
            kept = _kept_by_client(event, session)
            note = recovery_note.compose(db, session, kept=kept, more_queries=requests)
        if note is not None:
            return note
    memories, queries = _memories_and_queries(session, requests)
    return talk_note(state.task or task_text(messages), state.files_modified, memories, queries, max_tokens, agent)


def _archived(session: Session) -> bool:
    """Whether anything of the session is in the archive."""
    return session.store.read("work", lambda db: sessions.by_id(db, session.id), None) is not None


def _last_messages(db: apsw.Connection, state: SessionState) -> list[Message]:
    """The last prompts; from the archive if no hook has seen any, as when an old session goes on."""
    if state.messages:
        return state.messages
    said = sessions.conversation(db, state.session_id, MESSAGE_CHARS)
    return [entry for _, text in said if (entry := message(text))][-MESSAGES_KEPT:]


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


def _kept_by_client(event: HookEvent, session: Session) -> str:
    """What the client left in the context word for word, if its session file says so."""
    if not event["transcript"]:
        return ""
    with fault_boundary(session.faults, "kept"):
        from session.context_usage import kept_text

        return kept_text(event["transcript"], session.agent)[-200_000:]
    return ""


def talk_note(
    task: str, files: Sequence[str], memories: Sequence[Memory], queries: Sequence[str], max_tokens: int, agent: str
) -> Note:
    """The note of a session that only talked, within `max_tokens` estimated tokens; empty if nothing is known."""
    paths = [path for path in map(one_line, reversed(files)) if path]
    shown = [memory for memory in memories if one_line(memory["text"])]
    most_commands = own_command.most(len(queries), agent)
    for task_tokens, most_files, most_memories, memory_tokens, most_queries in _TALK_SIZES:
        lines = [recovery_note.HEADING]
        parts = one_line(task).split(JOINT)
        task_line = clip_evenly(parts, JOINT, 200 if task_tokens else 0, task_tokens)
        named = [clip(clip_path(path, 120), 120, tokens=40) for path in paths[:most_files]]
        related = [clip(one_line(memory["text"]), 150, memory_tokens) for memory in shown[:most_memories]]
        asked = list(queries[: min(most_queries, most_commands)])
        commands = [f"`{own_command.recall(query, agent)}`" for query in asked]
        lines += [f"**Task:** {task_line}"] if task_line else []
        lines += [f"**Modified:** {', '.join(named)}"] if named else []
        lines += ["**Related memories:**", *(f"- {line}" for line in related)] if related else []
        lines += ["**Deeper context:** " + " or ".join(commands)] if commands else []
        content = enclose(recovery_note.SOURCE, lines)
        if len(lines) > 1 and cost(content) <= max_tokens + own_command.uncounted(len(asked), agent):
            return Note(content, len(named), asked, shown[: len(related)])
    return Note("", 0, [], [])


def _memories_and_queries(session: Session, requests: Sequence[str]) -> tuple[list[Memory], list[str]]:
    """The memories for the task, and the requests that have answers; without any, the queries of the task."""
    state, project = session.state, session.project
    answers = {
        query: session.store.recall(query, project, everywhere=state.is_gateway, with_turns=True) or []
        for query in requests
    }
    answered = [query for query, hits in answers.items() if hits]
    memories = state.recalled_memories
    if not memories and answered:
        from session.reactions.injection import select

        memories = select([hit for hits in answers.values() for hit in hits], state)
    return memories, answered or state.recall_queries


def _kind(state: SessionState) -> str:
    return "gateway-recovery" if state.is_gateway else "compaction-recovery"
