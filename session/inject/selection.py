"""Which of the recalled memories a session is handed: those that say something that it does not know already."""

from __future__ import annotations

from core import clock, words
from core.names import names_in_order
from core.quoting import clip, one_line
from memory.noise import is_noise
from session.state.schema import HITS_KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from core.records import Hit
    from session.records import Memory, SessionState

_TEXT_CHARS = 200
_TASK_TAG = "session-task"


def select(hits: Sequence[Hit], state: SessionState) -> list[Memory]:
    """The memories worth handing on, best first, each text once; at most five.

    Left out are noise, the session's own task memories, and what only repeats its last messages.
    """
    said = frozenset(word for entry in state["messages"] for word in words.split(entry["text"]))
    kept: dict[str, Memory] = {}
    for hit in hits:
        if is_noise(hit["observation"]) or _is_known(hit, state, said):
            continue
        line = _shown(hit["observation"])
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


def _shown(text: str) -> str:
    return clip(one_line(text[: _TEXT_CHARS * 8]), _TEXT_CHARS)


def _is_known(hit: Hit, state: SessionState, said: frozenset[str]) -> bool:
    """Whether it is only what this session itself wrote as its task, or repeats its last messages."""
    own = hit["session"] == state["sessionId"]
    if hit["id"] in state["taskMemoryIds"] or (own and _is_task(hit)):
        return True
    if hit["collection"] != "episodes":
        return False
    from recall import trust

    return trust.echoes(hit["observation"], said)


def _is_task(hit: Hit) -> bool:
    return _TASK_TAG in hit["tags"] or hit["observation"].startswith("Task: ")
