"""Whether a session should be compacted, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from session.compaction import context

if TYPE_CHECKING:
    from clients.entry import Transcript

Reason = Literal["above-threshold", "below-threshold", "nothing-since-compaction", "empty"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Compact or not."""

    compact: bool
    reason: Reason
    context_tokens: int
    source: Literal["usage", "estimate"]
    usage_tokens: int
    estimated_tokens: int
    stale_usage: int | None
    """the tokens of an answer from before the latest compaction, which were not counted"""
    messages_since_compaction: int
    threshold: int
    window: int
    reserve: int


def decide(transcript: Transcript, *, window: int, reserve: int) -> Decision:
    """Compact where the context holds more than the window less the reserve, and something was said since last time.

    Args:
        transcript: the session.
        window: size of the model's context in tokens.
        reserve: tokens of it that are kept free for the answer.
    """
    size = context.size(transcript)
    said = context.said_since_compaction(transcript)
    threshold = window - reserve
    reason: Reason = "above-threshold" if size.total > threshold else "below-threshold"
    if said == 0:
        reason = "empty" if transcript.last_compaction() < 0 else "nothing-since-compaction"
    return Decision(
        compact=reason == "above-threshold",
        reason=reason,
        context_tokens=size.total,
        source="usage" if size.from_usage else "estimate",
        usage_tokens=size.from_usage,
        estimated_tokens=size.estimated,
        stale_usage=size.stale,
        messages_since_compaction=said,
        threshold=threshold,
        window=window,
        reserve=reserve,
    )
