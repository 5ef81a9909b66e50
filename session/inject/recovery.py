"""What an agent is handed after a compaction (ADR-0203, stage 3).

Of a session that did something that is the recovery note (`session.inject.recovery_note`). Of one that only talked it
is task, files, memories, and its last requests as queries, each run once to see that it answers.
"""

from __future__ import annotations

from core.quoting import clip, clip_evenly, clip_path, cost, enclose, one_line
from session import own_command, session_event
from session.faults import fault_boundary
from session.inject import recovery_note
from session.inject.runner import NO_CHECKPOINT, Decision
from session.session_event import GATEWAY
from session.state import schema, task, zones
from session.state.task import JOINT
from session.step import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clients.event import Text as InjectedText
    from core.records import Hit
    from session.context import Context
    from session.inject.recovery_note import Note
    from session.inject.runner import Situation
    from session.records import Memory, RecoveryNote, SessionState, Text

NAME = "recovery"
LEAST = "inject.min_score"
RAPID = "rapid-recompaction"
TASK_CHARS, MEMORY_CHARS, PATH_CHARS = 200, 150, 120
_FILE_TOKENS = 40
# Of a session that only talked, tried in this order: tokens of the task, files, memories, tokens of each, queries.
_STEPS = (
    (200, 5, 3, 150, 3), (60, 5, 3, 38, 3), (60, 3, 3, 33, 3), (60, 3, 3, 38, 1), (40, 2, 2, 25, 1), (30, 1, 1, 25, 1),
    (30, 1, 0, 0, 0), (20, 0, 0, 0, 0), (0, 0, 1, 18, 0), (0, 1, 0, 0, 0),
)  # fmt: skip


def due(state: SessionState, situation: Situation) -> Decision:
    """Where something is known of the session, and the text of the last injection has left the context."""
    context, checkpoint = situation.context, state["checkpoint"]
    if context.is_new:
        return Decision(NO_CHECKPOINT)
    about = session_event.compaction_count(state)
    if _is_rapid(state, context):
        skipped = session_event.by_role("compaction.inject.skipped", state["role"])
        return Decision(RAPID, event=skipped, about=about)
    says_something = checkpoint["currentTask"] or checkpoint["filesModified"] or checkpoint["recallHits"]
    return Decision("" if says_something else NO_CHECKPOINT, about=about)


def compose(state: SessionState, situation: Situation, decision: Decision, hits: Sequence[Hit]) -> Text | None:
    """The note from what the session did; else from the state. None where there is nothing to say, also because the
    client's summary has all that the session did."""
    context = situation.context
    agent, most = context.agent or state["agent"], context.config.get_int("inject.max_tokens")
    made: Note | None = None
    with fault_boundary(context.faults, "work"):
        db, _ = context.access.reading()
        if db is not None:
            made = recovery_note.of(
                db, state["sessionId"], kept=situation.kept, max_tokens=most, agent=agent,
                requests=_requests(state),
            )  # fmt: skip
    if made is None:
        memories, queries = _recalled(state, situation)
        checkpoint = state["checkpoint"]
        made = of_talk(checkpoint["currentTask"], checkpoint["filesModified"], memories, queries, most, agent)
    if not made["content"]:
        return None
    about = {
        "filesCount": made["files"],
        "recallHitsCount": len(made["memories"]),
        "queriesCount": len(made["queries"]),
        "timeSinceSessionStartMs": max(0, context.now - state["startedAt"]),
    }
    return _text(state, "compaction.inject", made["content"], made["memories"], about)


def apply(state: SessionState, situation: Situation, decision: Decision, text: Text | None) -> SessionState:
    """When it was injected, and the text: another process of the client may ask for it again."""
    state = {**state, "noteOwed": False}
    if text is None:
        return state
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
        return {**zones.compact(state, self._context.now), "noteOwed": self._context.is_late}


def is_recent(state: SessionState, context: Context) -> bool:
    """Whether the last note is so young that no other would follow it."""
    return state["signpost"] is not None and _is_rapid(state, context)


def repeat(context: Context) -> list[InjectedText]:
    """The last note once more, for another process of a client that takes up a session; nothing is counted."""
    context.read_previous()
    state = context.previous
    note = state["signpost"] if state is not None else None
    if state is None or note is None:
        return []
    text = _text(state, "compaction.inject.repeated", note["text"], [], {})
    about = {
        **session_event.compaction_count(state),
        "memoryIds": note["memoryIds"],
        "contentChars": len(text["content"]),
        "estimatedTokens": cost(text["content"]),
        "duration_ms": 0,
    }
    event = session_event.event(text["event"], state["role"], state["sessionId"], about, context.now)
    if not context.is_excluded(state["cwd"]):
        event["injected"] = session_event.injected(text["customType"], text["content"])
    context.note([event], recalled=note["memoryIds"])
    return [{"customType": text["customType"], "content": text["content"]}]


def of_talk(
    task: str, files: Sequence[str], memories: Sequence[Memory], queries: Sequence[str], max_tokens: int, agent: str
) -> Note:
    """The note of a session that only talked within `max_tokens` estimated tokens; "" where there is nothing to say.

    A query is left out rather than shortened: a shortened one is not the query that returned something.
    """
    paths = [path for path in map(one_line, reversed(files)) if path]
    shown = [memory for memory in memories if one_line(memory["text"])]
    most_commands = own_command.most(len(queries), agent)
    for tokens, most_files, most_memories, memory_tokens, most_queries in _STEPS:
        lines = [recovery_note.HEADING]
        task_line = clip_evenly(one_line(task).split(JOINT), JOINT, TASK_CHARS if tokens else 0, tokens)
        if task_line:
            lines.append(f"**Task:** {task_line}")
        named = [clip(clip_path(path, PATH_CHARS), PATH_CHARS, _FILE_TOKENS) for path in paths[:most_files]]
        if named:
            lines.append(f"**Modified:** {', '.join(named)}")
        related = [clip(one_line(memory["text"]), MEMORY_CHARS, memory_tokens) for memory in shown[:most_memories]]
        if related:
            lines += ["**Related memories:**", *(f"- {line}" for line in related)]
        asked = list(queries[: min(most_queries, most_commands)])
        if asked:
            commands = (f"`{own_command.recall(query, agent)}`" for query in asked)
            lines.append("**Deeper context:** " + " or ".join(commands))
        content = enclose(recovery_note.SOURCE, lines)
        if len(lines) > 1 and cost(content) <= max_tokens + own_command.uncounted(len(asked), agent):
            return {"content": content, "files": len(named), "memories": shown[: len(related)], "queries": asked}
    return {"content": "", "files": 0, "memories": [], "queries": []}


def _recalled(state: SessionState, situation: Situation) -> tuple[list[Memory], list[str]]:
    """What was recalled for the task, and the last requests that answer; where none does, what was recalled before."""
    from session.inject.selection import select

    project = situation.project_of(state)
    everywhere = not project and situation.context.serves_all(state)
    memories: list[Memory] = schema.memories(state["recallCache"])
    answered: list[str] = []
    found: list[Hit] = []
    for query in _requests(state):
        hits = situation.context.store.recall(query, project=project, everywhere=everywhere)
        if hits:
            answered.append(query)
            found += hits
    return memories or select(found, state), answered or state["checkpoint"]["recallQueries"]


def _requests(state: SessionState) -> list[str]:
    """The last requests as queries, the newest first."""
    queries = dict.fromkeys(task.query_of([message]) for message in reversed(state["messages"]))
    return [query for query in queries if query]


def _is_rapid(state: SessionState, context: Context) -> bool:
    return zones.is_rapid(state, context.now, context.config.get_float("inject.cooldown_seconds") * 1000)


def _text(state: SessionState, event: str, content: str, memories: list[Memory], about: dict[str, Any]) -> Text:
    return {
        "content": content,
        "memories": memories,
        "customType": "gateway-recovery" if state["role"] == GATEWAY else "compaction-recovery",
        "event": session_event.by_role(event, state["role"]),
        "about": about,
    }
