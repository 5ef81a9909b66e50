"""What an agent is handed after a compaction (ADR-0203, stage 3).

Of a session that did something that is the recovery note (`session.inject.recovery_note`). Of one that only talked it
is task, files, memories, and its last requests as queries, each run once to see that it answers.
"""

from __future__ import annotations

from core.quoting import clip, clip_evenly, clip_path, cost, enclose, one_line
from core.store.sessions import session_rows
from session import own_command, session_event
from session.faults import fault_boundary
from session.inject import recovery_note
from session.inject.runner import NO_CHECKPOINT, Decision
from session.state import rules, state_file
from session.state.rules import JOINT
from session.state.state_file import GATEWAY
from session.step import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from clients.event import Text as InjectedText
    from core.records import Hit
    from session.inject.recovery_note import Note
    from session.inject.runner import Situation
    from session.records import Memory, Message, RecoveryNote, SessionState, Text
    from session.step import Context

NAME = "recovery"
RAPID = "rapid-recompaction"
TASK_CHARS, MEMORY_CHARS, PATH_CHARS = 200, 150, 120
_FILE_TOKENS = 40
# Of a session that only talked, tried in this order: tokens of the task, files, memories, tokens of each, queries.
_STEPS = (
    (200, 5, 3, 150, 3), (60, 5, 3, 38, 3), (60, 3, 3, 33, 3), (40, 2, 2, 25, 1), (30, 1, 0, 0, 0), (20, 0, 0, 0, 0),
    (0, 1, 0, 0, 0),
)  # fmt: skip


def due(state: SessionState, situation: Situation) -> Decision:
    """Where something is known of the session, and the text of the last injection has left the context."""
    context, checkpoint = situation.context, state["checkpoint"]
    if context.is_new:
        return Decision(NO_CHECKPOINT)
    about = session_event.compaction_count(state)
    if is_rapid(state, context):
        skipped = session_event.by_role("compaction.inject.skipped", state["role"])
        return Decision(RAPID, event=skipped, about=about)
    known: object = checkpoint["currentTask"] or checkpoint["filesModified"] or checkpoint["recallHits"]
    known = known or context.store.attempt("work", lambda db: session_rows.session(db, state["sessionId"]), None)
    return Decision("" if known else NO_CHECKPOINT, about=about)


def compose(state: SessionState, situation: Situation, decision: Decision, hits: Sequence[Hit]) -> Text | None:
    """The note from what the session did; else from the state. None where there is nothing to say, also because the
    client's summary has all that the session did."""
    context, checkpoint = situation.context, state["checkpoint"]
    agent, most = context.agent or state["agent"], context.config.get_int("inject.max_tokens")
    messages, made = context.store.attempt("work", lambda db: _messages(db, state), state["messages"]), None
    last = dict.fromkeys(rules.query_of([message]) for message in reversed(messages))
    requests = [query for query in last if query]
    with fault_boundary(context.faults, "work"):
        db, _ = context.store.reading()
        if db is not None:
            identity = state["sessionId"]
            made = recovery_note.of(
                db, identity, kept=situation.kept, max_tokens=most, agent=agent, requests=requests,
                memories=state_file.memories(state["recallCache"]),
            )  # fmt: skip
    if made is None:
        memories, queries = _recalled(state, situation, requests)
        task = checkpoint["currentTask"] or rules.text_of(messages)
        made = of_talk(task, checkpoint["filesModified"], memories, queries, most, agent)
    if not made["content"]:
        return None
    return {
        "content": made["content"], "memories": made["memories"], "customType": _kind(state),
        "event": session_event.by_role("compaction.inject", state["role"]),
        "about": {
            "filesCount": made["files"], "recallHitsCount": len(made["memories"]), "queriesCount": len(made["queries"]),
            "timeSinceSessionStartMs": max(0, context.now - state["startedAt"]),
        },
    }  # fmt: skip


def _messages(db: apsw.Connection, state: SessionState) -> list[Message]:
    """The last prompts; those of the transcript where no hook has seen one, as when an old session goes on."""
    if state["messages"]:
        return state["messages"]
    said = session_rows.said(db, state["sessionId"], state_file.MESSAGE_CHARS)
    return [one for _, text in said if (one := rules.message(text))][-state_file.MESSAGES_KEPT :]


def apply(state: SessionState, situation: Situation, decision: Decision, text: Text | None) -> SessionState:
    """When it was injected, and the text: another process of the client may ask for it again."""
    state = {**state, "noteOwed": False}
    if text is None:
        return state
    situation.context.is_looked_up = True
    identifiers = [memory["id"] for memory in text["memories"]]
    note: RecoveryNote = {"text": text["content"], "memoryIds": identifiers}
    return {**state, "lastInjectionAt": situation.context.now, "signpost": note}


class Compaction(Step):
    """A compaction is over: counted, and the zones start anew. Of a session that is not known nothing is kept."""

    name = "compaction"

    def __init__(self, context: Context) -> None:
        self._context = context

    def change(self, state: SessionState) -> SessionState:
        """The state after it."""
        if self._context.is_new:
            return state
        return {**rules.compact(state, self._context.now), "noteOwed": self._context.is_late}


def repeat(context: Context) -> list[InjectedText]:
    """The last note once more, for another process of a client that takes up a session; nothing is counted."""
    context.read_previous()
    state = context.previous
    note = state["signpost"] if state is not None else None
    if state is None or note is None:
        return []
    kind, content = _kind(state), note["text"]
    about = {
        **session_event.compaction_count(state), "memoryIds": note["memoryIds"], "contentChars": len(content),
        "estimatedTokens": cost(content), "duration_ms": 0,
    }  # fmt: skip
    event = session_event.of_state("compaction.inject.repeated", state, about, context.now)
    if not context.is_excluded(state["cwd"]):
        event["injected"] = session_event.injected(kind, content)
    event["recalled"] = note["memoryIds"]
    context.note([event])
    return [{"customType": kind, "content": content}]


def of_talk(
    task: str, files: Sequence[str], memories: Sequence[Memory], queries: Sequence[str], max_tokens: int, agent: str
) -> Note:
    """The note of a session that only talked within `max_tokens` estimated tokens; "" where there is nothing to say."""
    paths = [path for path in map(one_line, reversed(files)) if path]
    shown = [memory for memory in memories if one_line(memory["text"])]
    most_commands = own_command.most(len(queries), agent)
    for tokens, most_files, most_memories, memory_tokens, most_queries in _STEPS:
        lines = [recovery_note.HEADING]
        task_line = clip_evenly(one_line(task).split(JOINT), JOINT, TASK_CHARS if tokens else 0, tokens)
        named = [clip(clip_path(path, PATH_CHARS), PATH_CHARS, _FILE_TOKENS) for path in paths[:most_files]]
        related = [clip(one_line(memory["text"]), MEMORY_CHARS, memory_tokens) for memory in shown[:most_memories]]
        asked = list(queries[: min(most_queries, most_commands)])
        commands = [f"`{own_command.recall(query, agent)}`" for query in asked]
        lines += [f"**Task:** {task_line}"] if task_line else []
        lines += [f"**Modified:** {', '.join(named)}"] if named else []
        lines += ["**Related memories:**", *(f"- {line}" for line in related)] if related else []
        lines += ["**Deeper context:** " + " or ".join(commands)] if commands else []
        content = enclose(recovery_note.SOURCE, lines)
        if len(lines) > 1 and cost(content) <= max_tokens + own_command.uncounted(len(asked), agent):
            return {"content": content, "files": len(named), "memories": shown[: len(related)], "queries": asked}
    return {"content": "", "files": 0, "memories": [], "queries": []}


def _recalled(state: SessionState, situation: Situation, requests: Sequence[str]) -> tuple[list[Memory], list[str]]:
    """What was recalled for the task, and the requests that answer; where none does, what was recalled before."""
    from session.inject.selection import select

    project = situation.project_of(state)
    everywhere = not project and situation.context.serves_all(state)
    answers = {
        query: situation.context.store.recall(query, project=project, everywhere=everywhere, turns=True) or []
        for query in requests
    }
    found = [hit for hits in answers.values() for hit in hits]
    answered = [query for query, hits in answers.items() if hits]
    known = state_file.memories(state["recallCache"])
    return known or select(found, state), answered or state["checkpoint"]["recallQueries"]


def is_rapid(state: SessionState, context: Context) -> bool:
    """Whether the last note is so young that no other follows it."""
    return rules.is_rapid(state, context.now)


def _kind(state: SessionState) -> str:
    return "gateway-recovery" if state["role"] == GATEWAY else "compaction-recovery"
