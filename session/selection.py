"""Which of the recalled memories a session keeps for the agent: those that say something it does not know.

Recall ranks by likeness to the query, and the query is what the user just said. So near the top stand the user's own
words and the narration around the work ("Looking at the timings."); what was found out or decided stands below. The
write gate knows such texts: its verdict and confidence weigh the score here.
"""

from __future__ import annotations

from core import words
from memory import gate
from recall import trust
from recall.categories import short
from session import zones
from session.junk import is_junk
from session.shape import HITS_KEPT
from session.text import clip, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from recall.engine import Hit
    from session.shape import Memory, SessionState

_TEXT_CHARS = 200
_SPEAKERS = ("user: ", "assistant: ", "toolresult: ", "tool: ")
_HELD = 0.35
_DISCARDED = 0.1


def select(hits: Sequence[Hit], state: SessionState | None) -> list[Memory]:
    """The memories worth handing on, best first, each text once; at most five.

    Left out are junk, the session's own task memories, and what only repeats its last messages.
    """
    said = frozenset(word for entry in (state["messages"] if state else ()) for word in words.split(entry["text"]))
    kept: dict[str, tuple[float, Memory]] = {}
    for hit in hits:
        if is_junk(hit["observation"]) or _is_known(hit, state, said):
            continue
        line = clip(one_line(hit["observation"][: _TEXT_CHARS * 8]), _TEXT_CHARS)
        if line:
            category = short(hit["categoryId"]) or hit["collection"]
            memory: Memory = {"id": hit["id"], "text": line, "category": category, "score": hit["score"]}
            kept.setdefault(line, (hit["score"] * worth(hit["observation"]), memory))
    ranked = sorted(kept.values(), key=lambda entry: -entry[0])
    return [memory for _, memory in ranked[:HITS_KEPT]]


def worth(text: str) -> float:
    """How much a text says by itself, 0 to 1: the confidence of the write gate, little for what it would hold back."""
    lower = text[:20].lower()
    for speaker in _SPEAKERS:
        if lower.startswith(speaker):
            text = text[len(speaker) :]
            break
    judged = gate.judge(text.strip() or " ")
    if judged["verdict"] == "discard":
        return _DISCARDED
    return _HELD if judged["verdict"] == "hold" else judged["confidence"]


def _is_known(hit: Hit, state: SessionState | None, said: frozenset[str]) -> bool:
    if state is None:
        return False
    if zones.is_own_task(state, hit["id"], hit["session"], hit["tags"], hit["observation"]):
        return True
    return hit["collection"] == "episodes" and trust.echoes(hit["observation"], said)
