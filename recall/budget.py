"""Recall budgets of the mirrored CLI: how much work a recall may do."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    class Budget(TypedDict):
        """The profile in force. `fetchMultiplier` times the limit is what the trust pass gets to choose from."""

        requested: str
        applied: str
        reason: str
        fetchMultiplier: float
        maxInject: int
        rewriteEnabled: bool


_PROFILES = {"lean": (False, 1.8, 5), "balanced": (True, 3.0, 10), "deep": (True, 5.0, 10)}
_LONG_QUERY = 90
_NAME_CHARS = 820
"""An answer to a name is to stay below 1,000 with what is asked for word for word."""
_LEAN_CHARS = 1000
_WORDS_CHARS = 3000
_HITS = 5
"""Of an answer that has so many characters."""


def choose(requested: str, query: str) -> Budget:
    """The profile for a request: lean, balanced, deep, or auto, which goes by the query.

    auto is deep for a query of over 90 characters or one that holds " and " or "why", else balanced.
    """
    applied, reason = requested, "explicit"
    if requested == "auto":
        lowered = query.lower()
        if len(query) > _LONG_QUERY:
            applied, reason = "deep", "auto.long_query"
        elif " and " in lowered or "why" in lowered:
            applied, reason = "deep", "auto.complex_query"
        else:
            applied, reason = "balanced", "auto.default"
    rewrite, multiplier, most = _PROFILES[applied]
    return {
        "requested": requested,
        "applied": applied,
        "reason": reason,
        "fetchMultiplier": multiplier,
        "maxInject": most,
        "rewriteEnabled": rewrite,
    }


def answer_chars(budget: Budget, most: int, *, raw: bool, named: bool) -> int | None:
    """The most characters that the texts of an answer may have; None where they are whole.

    Args:
        most: hits that were asked for; more than five have room in proportion.
        raw: nothing but the texts is printed.
        named: the query holds a name, whose passage says enough.
    """
    if budget["applied"] == "lean":
        chars = _NAME_CHARS if named else _LEAN_CHARS
    elif not raw or budget["requested"] == "deep":
        return None
    else:
        chars = _NAME_CHARS if named else _WORDS_CHARS
    return chars * max(most, _HITS) // _HITS


def share(characters: int, needed: Sequence[int]) -> int:
    """The most that each may have of so many characters, where those that need less leave the rest to the others.

    Args:
        needed: of each, one or more.
    """
    left = characters
    ascending = sorted(needed)
    for at, length in enumerate(ascending):
        equal = left // (len(ascending) - at)
        if length > equal:
            return equal
        left -= length
    return max(characters, ascending[-1])
