"""Which of the recalled memories a session is handed, and as lines within a budget. Hot path."""

from __future__ import annotations

from core import clock, words
from core.names import names_in_order
from core.quoting import clip, cost, enclose, one_line
from memory.noise import is_noise
from session.state.schema import HITS_KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from core.records import Hit
    from session.records import Memory, SessionState

TEXT_CHARS = 200
_CATEGORY_CHARS = 30
_TOKENS = (TEXT_CHARS, 66, 50, 25)
"""Of a memory, tried in this order."""
_TASK_TAG = "session-task"


def select(hits: Sequence[Hit], state: SessionState) -> list[Memory]:
    """The memories worth handing on, best first, each text once; at most five.

    Left out are noise, the session's own task memories, and turns that only repeat its last messages.
    """
    said = frozenset(word for entry in state["messages"] for word in words.split(entry["text"]))
    kept: dict[str, Memory] = {}
    for hit in hits:
        line = "" if is_noise(hit["observation"]) or _is_known(hit, state, said) else _shown(hit["observation"])
        if line:
            category = hit["categoryId"].removeprefix("jc:") or hit["collection"]
            kept.setdefault(line, {"id": hit["id"], "text": line, "category": category, "score": hit["score"]})
    return list(kept.values())[:HITS_KEPT]


def kept_by_somebody(hits: Sequence[Hit], state: SessionState) -> list[Hit]:
    """The hits that a person or a model wrote to be kept, and that the agent does not have before it.

    No turns, which mostly narrate, and no sessions' tasks: those say what was wanted, not what holds.
    """
    dropped = state["lastCompactionAt"]
    return [
        hit
        for hit in hits
        if hit["collection"] != "episodes"
        and _TASK_TAG not in hit["tags"]
        and (hit["session"] != state["sessionId"] or (dropped is not None and hit["timestamp"] < clock.iso(dropped)))
    ]


def names_shared(hit: Hit, named: Container[str]) -> list[str]:
    """Those of the names that stand in what is shown of a hit, as they come."""
    return [name for name, is_one in names_in_order(_shown(hit["observation"])) if is_one and name in named]


def fit(
    kind: str, head: Sequence[str], memories: Sequence[Memory], *, mark: str, most: int, max_tokens: int
) -> tuple[str, list[Memory]]:
    """The framed text of as many memories as fit into its budget below its `head`, and these; ("", []) where none does.

    `mark` is what a memory's line begins with; it may hold {number} and {category}.
    """
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


def _is_known(hit: Hit, state: SessionState, said: frozenset[str]) -> bool:
    is_task = _TASK_TAG in hit["tags"] or hit["observation"].startswith("Task: ")
    if hit["id"] in state["taskMemoryIds"] or (is_task and hit["session"] == state["sessionId"]):
        return True
    if hit["collection"] != "episodes":
        return False
    from recall import ranking

    return ranking.echoes(hit["observation"], said)
