"""Which of the recalled memories a session keeps for the agent: those that say something it does not know.

Recall ranks by likeness to the query, and the query is what the user just said. So near the top stand the user's own
words and the narration around the work ("Looking at the timings."); what was found out or decided stands below. The
write gate knows such texts: its verdict and confidence weigh the score here.
"""

from __future__ import annotations

from core import clock, words
from core.names import names_in, names_in_order
from core.quoting import clip, one_line
from core.speech import decisive
from core.speech.decisive import sentences as sentences
from memory import gate
from memory.noise import PLANS, begins_with, is_noise
from recall import trust
from recall.categories import short
from session.state import zones
from session.state.schema import HITS_KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from core.records import Hit
    from session.state.schema import Memory, SessionState

_TEXT_CHARS = 200
_SHOWN_CHARS = 150
_HELD = 0.35
_DISCARDED = 0.1
_OTHERS = 0.5
TURN_LEAST = 0.5
_TURN_WORTH = 0.5
_PROGRESS = (
    *("all ", "good", "now ", "perfect", "great", "excellent", "next", "implementation complete", "interesting"),
    *("i need to ", "i also need ", "need to ", "i should ", "i have to "),
)
_STEPPING = ("let me ", "i'll ", "i will ")
_DOING, _ING = "i'm ", "ing"
_USER = "user: "
_IS_TASK = frozenset(("session-task",))


def select(hits: Sequence[Hit], state: SessionState | None) -> list[Memory]:
    """The memories worth handing on, best first, each text once; at most five.

    Left out are noise, the session's own task memories, and what only repeats its last messages.
    """
    said = frozenset(word for entry in (state["messages"] if state else ()) for word in words.split(entry["text"]))
    kept: dict[str, tuple[float, Memory]] = {}
    for hit in hits:
        if is_noise(hit["observation"]) or _is_known(hit, state, said):
            continue
        line = _shown(hit["observation"])
        if line:
            category = short(hit["categoryId"]) or hit["collection"]
            memory: Memory = {"id": hit["id"], "text": line, "category": category, "score": hit["score"]}
            kept.setdefault(line, (hit["score"] * worth(hit["observation"]), memory))
    ranked = sorted(kept.values(), key=lambda entry: -entry[0])
    return [memory for _, memory in ranked[:HITS_KEPT]]


def bearing(hits: Sequence[Hit], state: SessionState, said: str) -> list[Hit]:
    """The hits that bear on what is said now: what somebody chose to keep, and turns out of sight that name it.

    The score does not tell which turns are of use: on half of 29 real sessions the agent used next .15 of the
    identifiers of turns of other sessions that score .4 or more. Of those that score .5 and begin with a name that the
    user names it used .41 (on the other half .73), of turns of its own that a compaction dropped .42 (.69). Sessions'
    tasks say what was wanted, not what holds.

    Args:
        said: what the user says, or what is edited.
    """
    named = names_in(said)[0]
    kept = []
    for hit in hits:
        if _is_in_sight(hit, state):
            continue
        if hit["collection"] != "episodes":
            if not _IS_TASK.intersection(hit["tags"]):
                kept.append(hit)
        elif hit["score"] >= TURN_LEAST and named:
            text = hit["observation"]
            if hit["session"] != state["sessionId"] and text.startswith(_USER):
                continue  # what was wanted then
            if worth(text) >= _TURN_WORTH and not narrates(text) and names_shared(hit, named):
                kept.append(hit)
    return kept


def names_shared(hit: Hit, named: Container[str]) -> list[str]:
    """Those of the names that stand in what is shown of a hit, as they come."""
    return [name for name, is_one in names_in_order(_shown(hit["observation"])) if is_one and name in named]


def _is_in_sight(hit: Hit, state: SessionState) -> bool:
    """Whether the agent has it before it: said or learnt in this session, and no compaction dropped it."""
    dropped = state["lastCompactionAt"]
    return hit["session"] == state["sessionId"] and (dropped is None or hit["timestamp"] >= clock.iso(dropped))


def _shown(text: str) -> str:
    return clip(one_line(text[: _TEXT_CHARS * 8]), _TEXT_CHARS)


def narrates(turn: str) -> bool:
    """Whether a turn tells of the step that its agent takes, or heads one."""
    lower = turn[:_TEXT_CHARS].lower().replace("’", "'").removeprefix("assistant: ")
    if lower.startswith(_PROGRESS) or any(mark in lower for mark in _STEPPING):
        return True
    if len(turn) < _TEXT_CHARS and lower.rstrip().endswith((":", "*")):
        return True
    return any(part.partition(" ")[0].endswith(_ING) for part in lower.split(_DOING)[1:])


def worth(text: str) -> float:
    """How much a text says by itself, 0 to 1: the confidence of the write gate, little for what it would hold back."""
    lower = text[:20].lower()
    for speaker in decisive.SPEAKERS:
        if lower.startswith(speaker):
            text = text[len(speaker) :]
            break
    judged = gate.judge(text.strip() or " ")
    if judged["verdict"] == "discard":
        return _DISCARDED
    return _HELD if judged["verdict"] == "hold" else judged["confidence"]


def weightiest(hits: Sequence[Hit], state: SessionState) -> list[Memory]:
    """All that is worth handing on of what several recalls brought, by what its first 150 characters say.

    What a tool printed is not counted, and other sessions' memories come behind the session's own.
    """
    found: dict[str, tuple[float, Memory]] = {}
    for hit in hits:
        for memory in select((hit,), state) if hit["id"] not in found else ():
            shown = hit["observation"][:_SHOWN_CHARS].split("\n$ ")[0]
            heaviest = sorted(map(weight, sentences(shown)), reverse=True)[:2]
            own = 1.0 if hit["session"] == state["sessionId"] else _OTHERS
            found[hit["id"]] = (sum(heaviest) * worth(shown) * own, memory)
    ranked = {memory["text"]: memory for _, memory in sorted(found.values(), key=lambda entry: -entry[0])}
    return list(ranked.values())


def weight(sentence: str) -> float:
    """What is lost with a sentence, 0 to 1: most with one that decides, rules out, warns or asks for something."""
    return 0.05 if begins_with(sentence[:60].lower(), PLANS) else decisive.weight(sentence)


def _is_known(hit: Hit, state: SessionState | None, said: frozenset[str]) -> bool:
    if state is None:
        return False
    if zones.is_own_task(state, hit["id"], hit["session"], hit["tags"], hit["observation"]):
        return True
    return hit["collection"] == "episodes" and trust.echoes(hit["observation"], said)
