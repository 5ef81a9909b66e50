"""The trust pass: which candidates are not shown, and why; and how use and age move a score.

Rules and reasons of the mirrored CLI without its defects: when all drop, nothing is returned; knowledge does not age.
"""

from __future__ import annotations

from core.clock import DAY_MS
from core.numbers import ln

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.store.interface import Traits

MIN_CHARS = 12
STALE_DAYS = 90
OBSERVATION_DECAY = 0.01
_ROLES = frozenset(("user", "assistant"))
_ECHO_WORDS = 2
_NEW_SHARE = 0.15


def usage_boost(priority: float, recall_count: int) -> float:
    """max(.35, (1 + .15·priority) · (1 + min(.3, .06·ln(1 + recalls)))), the priority held to -1..1."""
    held = min(max(priority, -1.0), 1.0)
    return max(0.35, (1 + 0.15 * held) * (1 + min(0.3, 0.06 * ln(1 + max(recall_count, 0)))))


def decay(collection: str, age_ms: int, episode_decay: float) -> float:
    """exp(-rate·days): .01 a day for observations, `episode_decay` for episodes, none for knowledge."""
    rate = {"observations": OBSERVATION_DECAY, "episodes": episode_decay}.get(collection, 0.0)
    return float(2.718281828459045 ** (-rate * max(age_ms, 0) / DAY_MS))


def substance(collection: str, chars: int) -> float:
    """What a short turn loses: "Good, go on." matches well, since BM25 favours short texts, and says nothing.

    From .85 for an empty one to 1 at 150 characters; for episodes only. Measured, see docs/recall.md.
    """
    if collection != "episodes":
        return 1.0
    return 0.85 + 0.15 * min(chars / 150, 1.0)


def echoes(text: str, asked: frozenset[str]) -> bool:
    """Whether a turn says nothing that the question (its words) does not: then it is the question, asked before."""
    from core.words import STOP_WORDS, split

    said = {word for word in split(text) if word not in STOP_WORDS} - _ROLES
    return len(said) >= _ECHO_WORDS and len(said - asked) <= _NEW_SHARE * len(said)


def reasons(
    traits: Traits, score: float, now: int, *, min_score: float, include_hold: bool, include_discard: bool
) -> list[str]:
    """Why a candidate is dropped; empty when it may be shown."""
    found = []
    if traits["chars"] < MIN_CHARS and traits["collection"] == "observations":
        found.append("too_short")
    if traits["stale"]:
        found.append("stale_tagged")
    if (
        traits["collection"] == "observations"
        and traits["recall_count"] == 0
        and now - traits["created_at"] > STALE_DAYS * DAY_MS
    ):
        found.append("stale_age")
    if score != score or not 0 <= score <= 1:  # NaN is not equal to itself
        found.append("invalid_score")
    elif score < min_score:
        found.append("below_min_score")
    if traits["write_verdict"] == "hold" and not include_hold:
        found.append("held_by_write_gate")
    if traits["write_verdict"] == "discard" and not include_discard:
        found.append("discarded_by_write_gate")
    if traits["superseded_by"]:
        found.append("superseded")
    return found
