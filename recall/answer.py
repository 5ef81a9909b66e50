"""The hits of an answer: documents and what else answers beside them, each text in its room. Hot path.

Whatever answers beside the documents (tool calls of sessions, `recall.session_calls`) gives matches: a score on the
documents' scale, and a hit in a number of characters. Another source is one more list of them.
"""

from __future__ import annotations

from recall import passage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from recall.engine import Hit

    class Match(Protocol):
        """What answers beside the documents. `score` is 0 to 1."""

        score: float

        def hit(self, room: int) -> Hit:
            """The hit, its text in at most `room` characters."""


PASSAGE_CHARS = 320
"""Of a match where nobody says how long an answer may be, and at most where somebody does."""
LEAST_CHARS = 160
"""Of a text in an answer of many hits: less is not understood."""


def compose(
    documents: Sequence[Hit], beside: Sequence[Match], most: int, *, named: bool, wanted: Sequence[str],
    chars: int | None,
) -> list[Hit]:  # fmt: skip
    """The best of both, best first.

    Documents keep room among five: of a query with a name for two, of words for four. What was said is worth more than
    what a tool printed; a name is mostly asked for because of the latter.

    Args:
        documents: best first, at most `most`.
        beside: best first.
        wanted: what a text is cut around, what matters most first.
        chars: of all texts, one line each, together; None where documents stay whole.
    """
    kept = min(len(documents), most * 2 // 5 if named else most - most // 5)
    chosen: list[tuple[float, Hit | Match]] = [(match.score, match) for match in beside[: most - kept]]
    chosen += [(hit["score"], hit) for hit in documents[: most - len(chosen)]]
    chosen.sort(key=lambda one: -one[0])
    left = chars
    hits: list[Hit] = []
    for at, (_, one) in enumerate(chosen):
        room = _room(left, len(chosen) - at)
        hit: Hit = one if isinstance(one, dict) else one.hit(room or PASSAGE_CHARS)  # type: ignore[assignment, unused-ignore]
        if isinstance(one, dict) and room is not None and len(hit["observation"]) > room:
            hit = {**hit, "observation": passage.around(hit["observation"], wanted, room)}
        hits.append(hit)
        if left is not None:
            left -= len(hit["observation"]) + 1
    return hits


def _room(left: int | None, hits: int) -> int | None:
    """What the next of so many hits may take of what is left."""
    if left is None:
        return None
    return max(LEAST_CHARS, left // hits - 1)
