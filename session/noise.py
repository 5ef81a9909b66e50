"""Which texts are never injected, and never taken for what a person wants (ADR-0204 and its boot follow-up).

Raw recall is not automatically safe to inject: transcripts hold assistants that acknowledge and sum up, plans that
ask for approval, and what earlier injections said.
"""

from __future__ import annotations

from core.quoting import DELIMITER
from memory.gate import ACKNOWLEDGEMENTS, PLANS, SUMMARIES, TRACES, begins_with

_PROCEDURAL = ("## plan summary", "should i:")
_OURS = (
    "## session recovery",
    "## relevant memory (auto-retrieved)",
    "## project context:",
    "## context refresh",
    "## system knowledge (auto-retrieved)",
    "<" + DELIMITER,
)
_PAUSES = ",.!;:—–\n"
_READ_CHARS = 4_000


def is_noise(text: str) -> bool:
    """Whether a memory's text is procedural sludge that no agent should be handed."""
    lower = text[:_READ_CHARS].lower().replace("’", "'").strip()
    if not lower or any(mark in lower for mark in (*_PROCEDURAL, *_OURS)):
        return True
    if begins_with(lower, PLANS) or begins_with(lower, SUMMARIES) or begins_with(lower, list(TRACES)):
        return True
    return any(lower.startswith(phrase) and _pauses(lower[len(phrase) :]) for phrase in ACKNOWLEDGEMENTS)


def is_own(text: str) -> bool:
    """Whether a message in the user's role is one of our injections come back, not what a person said."""
    return text[:200].lower().lstrip().startswith(_OURS)


def _pauses(rest: str) -> bool:
    return not rest or rest.lstrip(" ")[:1] in _PAUSES
