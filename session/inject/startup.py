"""What a new session is given: memories that bear on its kind of work, once (ADR-0204, change 1)."""

from __future__ import annotations

from core.quoting import clip, cost, enclose, one_line
from session.inject.runner import ALREADY
from session.session_event import GATEWAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from recall.engine import Hit
    from session.inject.runner import Composed, Moment, Text
    from session.state.schema import Memory, SessionState

NAME = "startup"
LEAST = "inject.startup_min_score"
NEEDS_RECALL = True
CUSTOM_TYPE = "memory-recall"
HEADING = "## Relevant Memory (auto-retrieved)"
SOURCE = "memory-recall"
MAX_MEMORIES = 5
MAX_TOKENS = 400
TEXT_CHARS = 200
_CATEGORY_CHARS = 30


def due(state: SessionState, moment: Moment) -> str:
    """Once a session."""
    moment.about = {"query": query(state, moment)}
    return ALREADY if CUSTOM_TYPE in state["injectedKinds"] else ""


def query(state: SessionState, moment: Moment) -> str:
    """The one that was asked for, else that of the role."""
    own = "inject.gateway_query" if state["role"] == GATEWAY else "inject.query"
    return moment.query or moment.context.config.text(own)


def compose(state: SessionState, moment: Moment, hits: Sequence[Hit]) -> Text | None:
    """The text of what was recalled. Of a session that is taken up again the agent has its own turns before it."""
    from session.inject.selection import select

    made = text_of(select([hit for hit in hits if hit["session"] != state["sessionId"]], state))
    if made is None:
        return None
    return {
        "content": made["content"],
        "memories": made["memories"],
        "customType": CUSTOM_TYPE,
        "event": "memory.recall.injected",
        "component": "memory-enforcer",
        "about": {"result_count": len(made["memories"])},
    }


def apply(state: SessionState, moment: Moment, text: Text | None) -> SessionState:
    """That it was given; where nothing was found it may be tried again."""
    now = moment.context.now
    kinds = state["injectedKinds"] if text is None else {**state["injectedKinds"], CUSTOM_TYPE: now}
    return {**state, "injectedKinds": kinds, "updatedAt": now}


def text_of(memories: Sequence[Memory]) -> Composed | None:
    """At most five numbered memories within 400 estimated tokens, best first; None without any."""
    entries = [
        (memory, clip(one_line(memory["category"]), _CATEGORY_CHARS) or "memory", one_line(memory["text"]))
        for memory in memories[:MAX_MEMORIES]
    ]
    entries = [entry for entry in entries if entry[2]]
    for count in range(len(entries), 0, -1):
        for tokens in (TEXT_CHARS, TEXT_CHARS // 3, TEXT_CHARS // 4):
            lines = [
                f"{number}. [{category}] {clip(text, TEXT_CHARS, tokens)}"
                for number, (_, category, text) in enumerate(entries[:count], 1)
            ]
            content = enclose(SOURCE, (HEADING, *lines))
            if cost(content) <= MAX_TOKENS:
                return {"content": content, "memories": [memory for memory, _, _ in entries[:count]]}
    return None
