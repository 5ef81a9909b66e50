"""What of a session stands in the model's context, how many tokens that takes, and whether it is to be compacted."""

from __future__ import annotations

from typing import Literal, NamedTuple

from clients import registry
from clients.entry import SAID, Entry, Transcript
from core.config import Config
from core.errors import usage
from session.compaction import session_file

Reason = Literal["above-threshold", "below-threshold", "switched-off", "nothing-since-compaction", "empty"]


class ContextTokens(NamedTuple):
    """The size of a context."""

    total: int
    from_usage: int
    """as the last answer reported it; 0 without one since the latest compaction"""
    estimated: int
    """of what came after that answer, or of everything"""
    stale: int | None
    """what the newest answer reported, where a compaction after it made that void; else None"""


class Limits(NamedTuple):
    """How large the context may become, in tokens: the model's window, where it was found, what is kept free of it."""

    window: int
    window_from: str
    reserve: int


class Decision(NamedTuple):
    """Whether to compact, and why; above `threshold` tokens a session is compacted."""

    reason: Reason
    size: ContextTokens
    messages_since_compaction: int
    threshold: int

    @property
    def compact(self) -> bool:
        """Whether to compact."""
        return self.reason == "above-threshold"


def limits(transcript: Transcript, config: Config, *, window: int | None = None, reserve: int | None = None) -> Limits:
    """The window and the reserve: as given, else as the transcript or the settings tell them, else by the model.

    Raises:
        Failure: COMPACTION_INVALID_ARGS (exit 2), where the reserve is no smaller than the window.
    """
    told = size(transcript).from_usage
    candidates = {
        "--window": window or 0,
        "the transcript": transcript.window,
        "context.window": config.get_int("context.window"),
        "the model": registry.row(transcript.client).context_window((transcript.model,), told, config),
    }
    source, found = next((name, tokens) for name, tokens in candidates.items() if tokens)
    if reserve is None:
        reserve = config.get_int("compaction.reserve_tokens")
    if reserve >= found:
        raise usage(
            "COMPACTION_INVALID_ARGS",
            f"a reserve of {reserve:,} tokens leaves nothing of a window of {found:,} ({source})",
            "give --window N for the model's window, or a smaller --reserve N",
        )
    return Limits(found, source, reserve)


def decide(transcript: Transcript, *, window: int, reserve: int, enabled: bool = True) -> Decision:
    """Compact where the context holds more than the window less the reserve, and something was said since last time.

    `enabled`: the client's settings let it compact unasked.
    """
    tokens = size(transcript)
    said = said_since_compaction(transcript)
    reason: Reason = "above-threshold" if tokens.total > window - reserve else "below-threshold"
    if reason == "above-threshold" and not enabled:
        reason = "switched-off"
    if said == 0:
        reason = "empty" if transcript.last_compaction() < 0 else "nothing-since-compaction"
    return Decision(reason, tokens, said, window - reserve)


def entries(transcript: Transcript) -> tuple[Entry, ...]:
    """The entries whose messages the model sees: the latest summary, what it left as it was, and what came after."""
    at = transcript.last_compaction()
    later = transcript.entries[at + 1 :]
    shown = later if at < 0 else (transcript.entries[at], *_kept(transcript, at), *later)
    # As in pi, an empty summary of a branch is not shown.
    return tuple(entry for entry in shown if entry.kind != "branch_summary" or entry.tokens != 0)


def _kept(transcript: Transcript, at: int) -> tuple[Entry, ...]:
    compaction = transcript.entries[at].compaction
    first = compaction.first_kept if compaction is not None else ""
    for index in range(at if first else 0):
        if transcript.entries[index].id == first:
            return tuple(entry for entry in transcript.entries[index:at] if entry.kind != "compaction")
    return ()


def said_since_compaction(transcript: Transcript) -> int:
    """How many messages were said since the latest compaction, or at all."""
    later = transcript.entries[transcript.last_compaction() + 1 :]
    return sum(entry.kind == "message" and entry.role in SAID for entry in later)


def size(transcript: Transcript) -> ContextTokens:
    """The tokens of the context: the usage that the last answer reported, and an estimate of what came after it.

    A usage from before the latest compaction does not count: it would cause a second compaction, which drops all that
    the first one kept. Without a newer one everything is estimated.
    """
    boundary = transcript.last_compaction()
    later = transcript.entries[boundary + 1 :]
    for index in range(len(later) - 1, -1, -1):
        used = later[index].used
        if used:
            rest = sum(session_file.sizes(transcript, _after(later, index)))
            return ContextTokens(used + rest, used, rest, None)
    shown = entries(transcript)
    stale = next((entry.used for entry in reversed(shown) if entry.used), None)
    estimated = sum(session_file.sizes(transcript, shown))
    return ContextTokens(estimated, 0, estimated, stale)


def _after(later: tuple[Entry, ...], index: int) -> list[Entry]:
    """The entries that an answer's usage does not count: those after it, and results between its own lines."""
    group = later[index].group
    if not group:
        return list(later[index + 1 :])
    first = next(place for place, entry in enumerate(later) if entry.group == group)
    return [entry for entry in later[first + 1 :] if entry.group != group]
