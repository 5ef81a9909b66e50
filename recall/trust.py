"""The trust pass: which candidates are not shown, and why; and how use and age move a score.

Rules and reasons of the mirrored CLI without its defects: when all drop, nothing is returned; knowledge does not age.
"""

from __future__ import annotations

from math import exp, log

from core.clock import DAY_MS
from core.words import STOP_WORDS, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.records import Traits
    from recall.query import Query

MIN_CHARS = 12
STALE_DAYS = 90
OBSERVATION_DECAY = 0.01
_OLD_OBSERVATION = 0.4
_EPISODE_DAYS = 30
ECHO = 0.5
"""What is left of the score of the question itself: an answer goes before it, and it stays findable."""
_NEW_SHARE = 0.15
_HELD_SHARE = 0.6
_OUTSIDE = 0.7
"""What is left of the score of a memory of another time. Of .5 to .9 the best on half of LoCoMo's dated questions."""
_NEAR = 0.85
_OLDEST_DAYS = 3650.0


class Span:
    """A time that a query names, from `start` to `end`; or with no `start` that what is recent is asked for.

    Args:
        start: ms since the epoch, None for whatever is most recent.
        slack: days beside it that count for half: who tells of a day does so on the next.
    """

    __slots__ = ("end", "now", "slack", "start")

    def __init__(self, start: int | None, end: int, now: int, slack: tuple[int, int] = (0, 0)) -> None:
        self.start, self.end, self.now = start, end, now
        self.slack = slack

    def factor(self, at: int) -> float:
        """What is left of the score of a memory of `at` (ms since the epoch): .7 to 1, of an old one .5 to 1."""
        if self.start is None:
            days = max(self.now - at, 0) / DAY_MS
            return 1 - 0.5 * min(log(1 + days) / log(1 + _OLDEST_DAYS), 1.0)
        if self.start <= at < self.end:
            return 1.0
        before, after = self.slack
        return _NEAR if self.start - before * DAY_MS <= at < self.end + after * DAY_MS else _OUTSIDE


def usage_boost(priority: float, recall_count: int) -> float:
    """max(.35, (1 + .15·priority) · (1 + min(.3, .06·ln(1 + recalls)))), the priority held to -1..1."""
    held = min(max(priority, -1.0), 1.0)
    return max(0.35, (1 + 0.15 * held) * (1 + min(0.3, 0.06 * log(1 + max(recall_count, 0)))))


def age_factor(collection: str, age_ms: int, episode_decay: float) -> float:
    """What age leaves of a score: it decides among near equals, and outranks nothing.

    exp(-.01·days) for observations as in the mirrored CLI, but never less than .4, what is left after 90 days; for
    episodes at most `episode_decay` goes, most of it in the first months. Knowledge does not age. Without a bound
    whatever was young went before whatever was meant, once a store spanned months.
    """
    days = max(age_ms, 0) / DAY_MS
    if collection == "observations":
        return max(exp(-OBSERVATION_DECAY * days), _OLD_OBSERVATION)
    if collection == "episodes":
        return 1 - episode_decay * (1 - exp(-days / _EPISODE_DAYS))
    return 1.0


def substance(collection: str, chars: int) -> float:
    """What a short turn loses: "Good, go on." matches well, since BM25 favours short texts, and says nothing.

    From .85 for an empty one to 1 at 150 characters; for episodes only. Measured, see docs/recall.md.
    """
    if collection != "episodes":
        return 1.0
    return 0.85 + 0.15 * min(chars / 150, 1.0)


def echoes(text: str, asked: frozenset[str]) -> bool:
    """Whether a memory is the question asked before, and no answer to it. `asked`: the question's words.

    That is a user's archived turn that says nothing more than the question, and the memory of a session's task (what
    the user said then, ADR-0203 stage 2) that holds most of it.
    """
    speaker, _, rest = text[:6].partition(":")
    if speaker not in ("user", "Task") or not rest:
        return False
    said = {word for word in split(text[5:]) if word not in STOP_WORDS}
    if speaker == "user":
        return len(said - asked) <= _NEW_SHARE * len(said)
    wanted = {word for word in asked if word not in STOP_WORDS}
    return bool(wanted) and len(wanted & said) >= _HELD_SHARE * len(wanted)


def reasons(traits: Traits, score: float, now: int, query: Query) -> list[str]:
    """Why a candidate is dropped; empty when it may be shown."""
    is_observation = traits["collection"] == "observations"
    unused = traits["recall_count"] == 0 and not traits["pinned"]
    found = []
    if traits["chars"] < MIN_CHARS and is_observation:
        found.append("too_short")
    if traits["stale"]:
        found.append("stale_tagged")
    if is_observation and unused and now - traits["confirmed_at"] > STALE_DAYS * DAY_MS:
        found.append("stale_age")
    if score != score or not 0 <= score <= 1:  # NaN is not equal to itself
        found.append("invalid_score")
    elif score < query.min_score:
        found.append("below_min_score")
    if traits["write_verdict"] == "hold" and not query.include_hold:
        found.append("held_by_write_gate")
    if traits["write_verdict"] == "discard" and not query.include_discard:
        found.append("discarded_by_write_gate")
    if traits["superseded_by"]:
        found.append("superseded")
    return found
