"""What of a session stands in the model's context, how many tokens that takes, and whether it is to be compacted."""

from __future__ import annotations

from typing import NamedTuple

from clients import registry
from clients.entry import SAID, Entry, Transcript
from core.config import Config
from core.errors import usage
from session.compaction import session_file


class ContextTokens(NamedTuple):
    """The size of a context.

    `from_usage` as the last answer reported it, 0 without one since the latest compaction; `estimated` of what came
    after that answer, or of everything; `stale` what an answer reported that a compaction after it made void.
    """

    total: int
    from_usage: int
    estimated: int
    stale: int | None


class Limits(NamedTuple):
    """How large the context may become, in tokens: the model's window, where it was found, what is kept free of it."""

    window: int
    window_from: str
    reserve: int


def limits(transcript: Transcript, config: Config, *, window: int | None = None, reserve: int | None = None) -> Limits:
    """The window and the reserve: as given, else as the transcript or the settings tell them, else by the model.

    Raises Failure: COMPACTION_INVALID_ARGS (exit 2), where the reserve is no smaller than the window.
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
        what = f"a reserve of {reserve:,} tokens leaves nothing of a window of {found:,} ({source})"
        fix = "give --window N for the model's window, or a smaller --reserve N"
        raise usage("COMPACTION_INVALID_ARGS", what, fix)
    return Limits(found, source, reserve)


def reason(transcript: Transcript, *, window: int, reserve: int, enabled: bool = True) -> str:
    """Why to compact or not; above-threshold: the context holds more than the window less the reserve, compact it.

    `enabled`: the client's settings let it compact unasked.
    """
    if said_since_compaction(transcript) == 0:
        return "empty" if transcript.last_compaction() < 0 else "nothing-since-compaction"
    if size(transcript).total <= window - reserve:
        return "below-threshold"
    return "above-threshold" if enabled else "switched-off"


def entries(transcript: Transcript) -> tuple[Entry, ...]:
    """The entries whose messages the model sees: the latest summary, what it left as it was, and what came after."""
    at = transcript.last_compaction()
    shown = list(transcript.entries[at + 1 :])
    if at >= 0:
        compaction = transcript.entries[at].compaction
        first = compaction.first_kept if compaction is not None else ""
        before = transcript.entries[:at]
        start = next((index for index, entry in enumerate(before) if first and entry.id == first), at)
        kept = [entry for entry in before[start:] if entry.kind != "compaction"]
        shown = [transcript.entries[at], *kept, *shown]
    # As in pi, an empty summary of a branch is not shown.
    return tuple(entry for entry in shown if entry.kind != "branch_summary" or entry.tokens != 0)


def said_since_compaction(transcript: Transcript) -> int:
    """How many messages were said since the latest compaction, or at all."""
    later = transcript.entries[transcript.last_compaction() + 1 :]
    return sum(entry.kind == "message" and entry.role in SAID for entry in later)


def size(transcript: Transcript) -> ContextTokens:
    """The tokens of the context: the usage that the last answer reported, and an estimate of what came after it.

    A usage from before the latest compaction does not count: it would cause a second compaction, which drops all that
    the first one kept. Without a newer one everything is estimated.
    """
    later = transcript.entries[transcript.last_compaction() + 1 :]
    for index in range(len(later) - 1, -1, -1):
        used, group = later[index].used, later[index].group
        if used:
            # not counted by it: what came after it, and results between its own lines
            first = next(at for at, entry in enumerate(later) if at == index or (group and entry.group == group))
            after = [entry for entry in later[first + 1 :] if not group or entry.group != group]
            rest = sum(session_file.sizes(transcript, after))
            return ContextTokens(used + rest, used, rest, None)
    shown = entries(transcript)
    stale = next((entry.used for entry in reversed(shown) if entry.used), None)
    estimated = sum(session_file.sizes(transcript, shown))
    return ContextTokens(estimated, 0, estimated, stale)
