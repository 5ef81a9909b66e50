"""Which of the recalled memories a session is handed, and as lines within a budget. Hot path."""

from __future__ import annotations

from core import TYPE_CHECKING, clock
from core.names import names_in_order
from core.quoting import clip, cost, enclose, one_line
from memory.gate import is_noise
from recall.hit import written
from session.state.state_file import HITS_KEPT

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from core.records import Hit
    from session.records import Memory, SessionState

TEXT_CHARS = 200
_CATEGORY_CHARS = 30
_TOKENS = (TEXT_CHARS, 66, 50, 25)
"""Of a memory, tried in this order."""
_TASK_TAG, _PINNED = "session-task", "pinned"


def select(hits: Sequence[Hit], state: SessionState) -> list[Memory]:
    """The memories worth handing on, pinned ones first, each by its own score, and each text once; at most five."""
    kept: dict[str, Memory] = {}
    for hit in kept_by_somebody(hits, state):
        line = "" if is_noise(hit["observation"]) else _shown(hit["observation"])
        if line:
            line = f"({where}) {line}" if (where := written(hit)) else line
            category = hit["categoryId"].removeprefix("jc:") or hit["collection"]
            kept.setdefault(line, {"id": hit["id"], "text": line, "category": category, "score": hit["score"]})
    return list(kept.values())[:HITS_KEPT]


def kept_by_somebody(hits: Sequence[Hit], state: SessionState) -> list[Hit]:
    """The hits that a person or a model wrote to be kept, without what the agent has before it; pinned ones first."""
    dropped = state["lastCompactionAt"]
    kept = [
        hit
        for hit in hits
        if hit["collection"] != "episodes"
        and _TASK_TAG not in hit["tags"]
        and not hit["observation"].startswith("Task: ")
        and (hit["session"] != state["sessionId"] or (dropped is not None and hit["timestamp"] < clock.iso(dropped)))
    ]
    return sorted(kept, key=lambda hit: _PINNED not in hit["tags"])


def names_shared(hit: Hit, named: Container[str]) -> list[str]:
    """Those of the names that stand in what is shown of a hit, as they come."""
    return [name for name, is_one in names_in_order(_shown(hit["observation"])) if is_one and name in named]


def fit(
    kind: str, head: Sequence[str], memories: Sequence[Memory], *, mark: str, most: int, max_tokens: int
) -> tuple[str, list[Memory]]:
    """The framed text of as many memories as fit into its budget below its `head`, and these; or ("", [])."""
    shown = [memory for memory in memories if one_line(memory["text"])][:most]
    while shown:
        for tokens in _TOKENS:
            lines = list(head)
            for number, memory in enumerate(shown, 1):
                category = clip(one_line(memory["category"]), _CATEGORY_CHARS) or "memory"
                begin = mark.format(number=number, category=category)
                lines.append(begin + clip(one_line(memory["text"]), TEXT_CHARS, tokens))
            content = enclose(kind, lines)
            if cost(content) <= max_tokens:
                return content, shown
        shown = shown[:-1]
    return "", []


def _shown(text: str) -> str:
    return clip(one_line(text[: TEXT_CHARS * 8]), TEXT_CHARS)
