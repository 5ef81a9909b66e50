"""Texts with memories for the agent: choosing memories, fitting them into a budget, giving the text. Hot path."""

from __future__ import annotations

import time

from core import TYPE_CHECKING, clock
from core.names import names_in_order
from core.quoting import clip, cost, enclose, one_line
from memory.gate import is_noise
from recall.hit import written
from session.reactions import Reaction
from session.session import TASK_TAGS
from session.state import HITS_KEPT

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from typing import Any

    from core.records import Hit
    from session.session import Session
    from session.state import Memory, SessionState

TEXT_CHARS = 200


class Injection:
    """A composed text for the agent, and what its event says."""

    __slots__ = ("about", "component", "content", "event_about", "event_name", "kind", "memories", "query")

    def __init__(
        self, kind: str, content: str, memories: Sequence[Memory], event_name: str, about: Mapping[str, Any]
    ) -> None:
        self.kind = kind
        self.content = content
        self.memories = memories
        self.event_name = event_name
        self.about = about
        self.event_about: Mapping[str, Any] = {}
        """What the event says and the result of a command does not."""
        self.component = ""
        self.query = ""
        """The query of the recall: if the agent says its words, that does not show that it used a memory."""


def give(injection: Injection, session: Session, began: float) -> Reaction:
    """Hand a text to the agent: count it, remember its memories so that their use can be seen, and queue its event.

    `began` is the `time.perf_counter()` at which the reaction began.
    """
    state, content, memories = session.state, injection.content, injection.memories
    identifiers = [memory["id"] for memory in memories]
    state.counts["injections"] += 1
    if memories:
        from session.reactions import feedback

        state.injected_memories = [*state.injected_memories, *identifiers]
        feedback.await_use(state, memories, injection.query)
    about = {
        **injection.about, "memoryIds": identifiers, "contentChars": len(content), "estimatedTokens": cost(content),
        "duration_ms": round((time.perf_counter() - began) * 1000, 2),
    }  # fmt: skip
    metadata = {**about, **injection.event_about}
    event = session.injected_event(
        injection.event_name, metadata, injection.kind, content, component=injection.component
    )
    session.queue_event(event)
    return Reaction("injected", texts=[{"customType": injection.kind, "content": content}], about=about)


def select(hits: Sequence[Hit], state: SessionState) -> list[Memory]:
    """The memories worth giving to the agent, pinned ones first, each text once; at most five."""
    chosen: dict[str, Memory] = {}
    for hit in written_to_be_kept(hits, state):
        line = "" if is_noise(hit["observation"]) else _line_of(hit["observation"])
        if line:
            line = f"({where}) {line}" if (where := written(hit)) else line
            category = hit["categoryId"].removeprefix("jc:") or hit["collection"]
            chosen.setdefault(line, {"id": hit["id"], "text": line, "category": category, "score": hit["score"]})
    return list(chosen.values())[:HITS_KEPT]


def written_to_be_kept(hits: Sequence[Hit], state: SessionState) -> list[Hit]:
    """The hits that a person or a model wrote on purpose, without those in the agent's context; pinned ones first."""
    compacted_at = state.last_compaction_at
    kept = [
        hit
        for hit in hits
        if hit["collection"] != "episodes"
        and TASK_TAGS[1] not in hit["tags"]
        and not hit["observation"].startswith("Task: ")
        and (
            hit["session"] != state.session_id
            or (compacted_at is not None and hit["timestamp"] < clock.iso(compacted_at))
        )
    ]
    return sorted(kept, key=lambda hit: "pinned" not in hit["tags"])


def names_shared(hit: Hit, names: Container[str]) -> list[str]:
    """Those of the names that occur in the shown part of a hit, in the order of the text."""
    return [name for name, is_name in names_in_order(_line_of(hit["observation"])) if is_name and name in names]


def fit(
    kind: str, head: Sequence[str], memories: Sequence[Memory], *, mark: str, most: int, max_tokens: int
) -> tuple[str, list[Memory]]:
    """The framed text of as many memories as fit below its `head`, and these memories; ("", []) if none fits.

    `mark` is what each memory begins with; it may contain {number} and {category}.
    """
    shown = [memory for memory in memories if one_line(memory["text"])][:most]
    while shown:
        for tokens in (TEXT_CHARS, 66, 50, 25):  # longest text of each memory
            lines = list(head)
            for number, memory in enumerate(shown, 1):
                category = clip(one_line(memory["category"]), 30) or "memory"
                begin = mark.format(number=number, category=category)
                lines.append(begin + clip(one_line(memory["text"]), TEXT_CHARS, tokens))
            content = enclose(kind, lines)
            if cost(content) <= max_tokens:
                return content, shown
        shown = shown[:-1]
    return "", []


def _line_of(text: str) -> str:
    return clip(one_line(text[: 8 * TEXT_CHARS]), TEXT_CHARS)
