"""The signpost after a compaction (ADR-0203, stage 3): of a session that did something, `session.inject.work_signpost`.

Of one that only talked: task, files, memories, and queries that are known to work. That stays within its budget of
estimated tokens whatever goes in: first texts get a little shorter, then the third query goes, then texts get shorter
still, then whole entries go. A query is left out rather than shortened: a shortened one is not the query that returned
something.
"""

from __future__ import annotations

from core.quoting import clip, clip_evenly, clip_path, cost, enclose, one_line
from session import own_command, session_event
from session.faults import fault_boundary
from session.inject import work_signpost
from session.inject.runner import NO_CHECKPOINT
from session.session_event import GATEWAY
from session.state import schema, task, zones
from session.state.task import JOINT
from session.step import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from clients.event import Text as InjectedText
    from core.records import Hit
    from session.context import Context
    from session.inject.runner import Moment, Text
    from session.state.schema import Memory, SessionState

    class Signpost(TypedDict):
        """A recovery text and what went into it."""

        content: str
        files: int
        memories: list[Memory]
        queries: list[str]


NAME = "recovery"
LEAST = "inject.min_score"
NEEDS_RECALL = False
RAPID = "rapid-recompaction"
HEADING = "## Session Recovery"
SOURCE = "session-recovery"
TASK_CHARS = 200
MEMORY_CHARS = 150
PATH_CHARS = 120
# Tried in this order: characters and tokens of the task, files, memories and tokens of each, queries.
_STEPS = (
    (TASK_CHARS, 200, 5, 3, 150, 3),
    (TASK_CHARS, 60, 5, 3, 38, 3),
    (TASK_CHARS, 60, 3, 3, 33, 3),
    (TASK_CHARS, 200, 5, 3, 150, 2),
    (TASK_CHARS, 60, 5, 3, 45, 2),
    (TASK_CHARS, 60, 3, 3, 38, 2),
    (TASK_CHARS, 60, 3, 3, 38, 1),
    (140, 50, 2, 2, 38, 1),
    (120, 40, 2, 2, 25, 1),
    (100, 30, 1, 1, 25, 1),
    (100, 30, 1, 1, 25, 0),
    (100, 25, 1, 0, 0, 0),
    (80, 20, 0, 0, 0, 0),
    (0, 0, 0, 1, 18, 0),
    (0, 0, 1, 0, 0, 0),
    (0, 0, 0, 0, 0, 1),
)
_FILE_TOKENS = 40
_TURNS, _TURN_CHARS = 40, 200
"""Of what was left in the context: as many as a state keeps, and as much as is shown of one."""


def due(state: SessionState, moment: Moment) -> str:
    """Where something is known of the session, and the text of the last injection has left the context."""
    context, checkpoint = moment.context, state["checkpoint"]
    if context.is_new:
        return NO_CHECKPOINT
    moment.about = session_event.compaction_count(state)
    if zones.is_rapid(state, context.now, context.config.number("inject.cooldown_seconds") * 1000):
        moment.skipped_event = session_event.by_role("compaction.inject.skipped", state["role"])
        return RAPID
    says_something = checkpoint["currentTask"] or checkpoint["filesModified"] or checkpoint["recallHits"]
    return "" if says_something else NO_CHECKPOINT


def query(state: SessionState, moment: Moment) -> str:
    """What the cache holds was recalled before the compaction; only an empty one needs a recall for the task.

    A session that did something is pointed to by what it did: nothing is recalled for it.
    """
    if moment.context.store.calls(state["sessionId"]) >= work_signpost.LEAST_CALLS:
        return ""
    return "" if state["checkpoint"]["recallQueries"] else task.query_of(state["messages"])


def compose(state: SessionState, moment: Moment, hits: Sequence[Hit]) -> Text | None:
    """The signpost from what the session did; else from the state and, where the cache is empty, what was recalled.

    None where there is nothing to say, also because the client's summary has all that the session did.
    """
    pointed = _to_work(state, moment)
    if pointed is not None:
        return pointed if pointed["content"] else None
    checkpoint = state["checkpoint"]
    memories: Sequence[Memory] = schema.memories(state["recallCache"])
    queries = checkpoint["recallQueries"]
    if not queries:
        if hits:
            from session.inject.selection import select

            memories = select(hits, state)
        # Found or not, the query leads to whatever is written about the task from now on.
        queries = [asked] if (asked := query(state, moment)) else []
    context = moment.context
    made = text_of(
        checkpoint["currentTask"],
        checkpoint["filesModified"],
        memories,
        queries,
        context.config.whole("inject.max_tokens"),
        _agent(state, moment),
    )
    if made is None:
        return None
    about = {
        "filesCount": made["files"],
        "recallHitsCount": len(made["memories"]),
        "queriesCount": len(made["queries"]),
        "timeSinceSessionStartMs": max(0, context.now - state["startedAt"]),
    }
    return _text(state, "compaction.inject", made["content"], made["memories"], about)


def _agent(state: SessionState, moment: Moment) -> str:
    return moment.context.agent or state["agent"]


def _to_work(state: SessionState, moment: Moment) -> Text | None:
    context = moment.context
    made: work_signpost.WorkSignpost | None = None
    with fault_boundary(context.faults, "work"):
        db, _ = context.store.reading()
        if db is not None:
            most = context.config.whole("inject.max_tokens")
            made = work_signpost.of(
                db, state["sessionId"], kept=moment.kept, max_tokens=most, agent=_agent(state, moment)
            )
    if made is None:
        return None
    about = {
        "filesCount": made["files"],
        "recallHitsCount": len(made["memories"]),
        "queriesCount": len(made["queries"]),
        "timeSinceSessionStartMs": max(0, context.now - state["startedAt"]),
    }
    return _text(state, "compaction.inject", made["content"], made["memories"], about)


def apply(state: SessionState, moment: Moment, text: Text | None) -> SessionState:
    """When it was injected, and the text: another process of the client may ask for it again."""
    if text is None:
        return state
    identifiers = [memory["id"] for memory in text["memories"]]
    signpost: schema.Signpost = {"text": text["content"], "memoryIds": identifiers}
    return {**state, "lastInjectionAt": moment.context.now, "signpost": signpost}


class Compaction(Step):
    """A compaction is over: counted, and the zones start anew. Of a session that is not known nothing is kept."""

    name = "compaction"

    def __init__(self, context: Context, left: Sequence[str] = ()) -> None:
        self._context = context
        self._left = left

    def change(self, state: SessionState) -> SessionState:
        """The state after it."""
        if self._context.is_new:
            return state
        return {**zones.compact(state, self._context.now), "injectedMemories": list(self._left)}


def left_in_context(context: Context, kept: str) -> list[str]:
    """The turns of the session that its last compaction left in the context word for word, oldest first.

    Args:
        kept: what the client has left there beside its summary; in Codex the summary has the user's messages.
    """
    with fault_boundary(context.faults, "kept"):
        from core.store.sessions import calls, transcripts

        db, _ = context.store.reading()
        if db is None:
            return []
        compactions = calls.compactions(db, context.session_id)
        text = _spaced(f"{compactions[-1]['summary'] if compactions else ''}\n{kept}")
        turns = transcripts.turns(db, context.session_id, first=0, last=_TURNS, characters=_TURN_CHARS)
        said = [(identifier, _spaced(turn.partition(": ")[2])) for identifier, turn in turns]
        return [identifier for identifier, body in said if body and body in text]
    return []


def _spaced(text: str) -> str:
    """The text with its white space as one space each: as a summary repeats it."""
    return " ".join(text.split())


def is_recent(state: SessionState, context: Context) -> bool:
    """Whether the last signpost is so young that no other would follow it."""
    cooldown = context.config.number("inject.cooldown_seconds") * 1000
    return state["signpost"] is not None and zones.is_rapid(state, context.now, cooldown)


def repeat(context: Context) -> list[InjectedText]:
    """The last signpost once more, for another process of a client that takes up a session; nothing is counted."""
    context.read_previous()
    state = context.previous
    signpost = state["signpost"] if state is not None else None
    if state is None or signpost is None:
        return []
    text = _text(state, "compaction.inject.repeated", signpost["text"], [], {})
    about = {
        **session_event.compaction_count(state),
        "memoryIds": signpost["memoryIds"],
        "contentChars": len(text["content"]),
        "estimatedTokens": cost(text["content"]),
        "duration_ms": 0,
    }
    event = session_event.event(text["event"], state["role"], state["sessionId"], about, context.now)
    if not context.is_excluded(state["cwd"]):
        event["injected"] = session_event.injected(text["customType"], text["content"])
    context.note([event], recalled=signpost["memoryIds"])
    return [{"customType": text["customType"], "content": text["content"]}]


def _text(state: SessionState, event: str, content: str, memories: list[Memory], about: dict[str, Any]) -> Text:
    is_gateway = state["role"] == GATEWAY
    return {
        "content": content,
        "memories": memories,
        "customType": "gateway-recovery" if is_gateway else "compaction-recovery",
        "event": session_event.by_role(event, state["role"]),
        "about": about,
    }


def text_of(
    task: str,
    files: Sequence[str],
    memories: Sequence[Memory],
    queries: Sequence[str],
    max_tokens: int,
    agent: str = "",
) -> Signpost | None:
    """The signpost within `max_tokens` estimated tokens, or None where there is nothing to say.

    Of the path by which its commands name us, `own_command.uncounted` tokens do not count.

    Args:
        files: oldest first; the newest five are shown, newest first.
        queries: as they were run, safe between double quotes of a shell (`session.state.task.query_of`).
        agent: the client.
    """
    task = one_line(task)
    paths = [path for path in map(one_line, reversed(files)) if path]
    quoted = [(memory, one_line(memory["text"])) for memory in memories]
    shown = [(memory, line) for memory, line in quoted if line]
    most_commands = own_command.most(len(queries), agent)
    for characters, tokens, most_files, most_memories, memory_tokens, most_queries in _STEPS:
        lines = [HEADING]
        task_line = clip_evenly(task.split(JOINT), JOINT, characters, tokens)
        if task_line:
            lines.append(f"**Task:** {task_line}")
        named = [clip(clip_path(path, PATH_CHARS), PATH_CHARS, _FILE_TOKENS) for path in paths[:most_files]]
        if named:
            lines.append(f"**Modified:** {', '.join(named)}")
        related = [(memory, clip(line, MEMORY_CHARS, memory_tokens)) for memory, line in shown[:most_memories]]
        if related:
            lines += ["**Related memories:**", *(f"- {line}" for _, line in related)]
        asked = list(queries[: min(most_queries, most_commands)])
        if asked:
            lines.append(
                "**Deeper context:** " + " or ".join(f"`{own_command.recall(query, agent)}`" for query in asked)
            )
        content = enclose(SOURCE, lines)
        if len(lines) > 1 and cost(content) <= max_tokens + own_command.uncounted(len(asked), agent):
            return {
                "content": content,
                "files": len(named),
                "memories": [memory for memory, _ in related],
                "queries": asked,
            }
    return None
