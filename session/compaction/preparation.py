"""Whether a session is to be compacted, where it is cut, what is summarised, which files are listed."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import clients
from core.config import Config
from core.errors import usage
from session.compaction.messages import Message, messages_of, sizes
from session.compaction.session_tree import (
    NO_FILES,
    SAID,
    FileOperations,
    Node,
    Problems,
    Transcript,
    path_to,
    together,
    unknown_entry,
)  # fmt: skip


class ContextTokens(NamedTuple):
    """The size of a context; `stale` is what an answer reported that a compaction after it made void."""

    total: int
    from_usage: int
    estimated: int
    stale: int | None


class Limits(NamedTuple):
    """How large the context may become, in tokens: the model's window, where it was found, what is kept free of it."""

    window: int
    window_from: str
    reserve: int


def limits_of(transcript: Transcript, config: Config, *, window: int | None, reserve: int | None) -> Limits:
    """The window and the reserve: as given, else as the transcript or the settings tell them, else by the model."""
    told = context_size(transcript).from_usage
    candidates = {
        "--window": window or 0,
        "the transcript": transcript.window,
        "context.window": config.get_int("context.window"),
        "the model": clients.row(transcript.client).context_window((transcript.model,), told, config),
    }
    source, found = next((name, tokens) for name, tokens in candidates.items() if tokens)
    if reserve is None:
        reserve = config.get_int("compaction.reserve_tokens")
    if reserve >= found:
        what = f"a reserve of {reserve:,} tokens takes up the whole window of {found:,} ({source})"
        fix = "give --window N for the model's window, or a smaller --reserve N"
        raise usage("COMPACTION_INVALID_ARGS", what, fix)
    return Limits(found, source, reserve)


def reason(transcript: Transcript, *, window: int, reserve: int, enabled: bool = True) -> str:
    """Why to compact (above-threshold) or not; `enabled`: the client's settings let it compact unasked."""
    if said_since_compaction(transcript) == 0:
        return "empty" if transcript.last_compaction() < 0 else "nothing-since-compaction"
    if context_size(transcript).total <= window - reserve:
        return "below-threshold"
    return "above-threshold" if enabled else "switched-off"


def context_entries(transcript: Transcript) -> tuple[Node, ...]:
    """The entries whose messages the model sees: the latest summary, what it left as it was, and what came after."""
    at = transcript.last_compaction()
    shown = list(transcript.nodes[at + 1 :])
    if at >= 0:
        compaction = transcript.nodes[at].compaction
        first = compaction.first_kept if compaction is not None else ""
        before = transcript.nodes[:at]
        start = next((index for index, entry in enumerate(before) if first and entry.id == first), at)
        kept = [entry for entry in before[start:] if entry.kind != "compaction"]
        shown = [transcript.nodes[at], *kept, *shown]
    # As in pi, an empty summary of a branch is not shown.
    return tuple(entry for entry in shown if entry.kind != "branch_summary" or entry.tokens != 0)


def said_since_compaction(transcript: Transcript) -> int:
    """How many messages were said since the latest compaction, or at all."""
    later = transcript.nodes[transcript.last_compaction() + 1 :]
    return sum(entry.kind == "message" and entry.role in SAID for entry in later)


def context_size(transcript: Transcript) -> ContextTokens:
    """The tokens of the context: the usage that the last answer reported, and an estimate of what came after it.

    A usage from before the latest compaction does not count: it would cause a second compaction, which drops all that
    the first one kept. Without a newer one everything is estimated.
    """
    later = transcript.nodes[transcript.last_compaction() + 1 :]
    for index in range(len(later) - 1, -1, -1):
        used, group = later[index].used, later[index].group
        if used:
            # not counted by it: what came after it, and results between its own lines
            first = next(at for at, entry in enumerate(later) if at == index or (group and entry.group == group))
            after = [entry for entry in later[first + 1 :] if not group or entry.group != group]
            rest = sum(sizes(transcript, after))
            return ContextTokens(used + rest, used, rest, None)
    shown = context_entries(transcript)
    stale = next((entry.used for entry in reversed(shown) if entry.used), None)
    estimated = sum(sizes(transcript, shown))
    return ContextTokens(estimated, 0, estimated, stale)


class CutPoint(NamedTuple):
    """Indices into the entries; `turn_start` is -1 where the cut splits no turn."""

    first_kept: int
    turn_start: int


class Preparation(NamedTuple):
    """A prepared compaction: entries of whole turns that are dropped, and the beginning of a turn whose end is kept."""

    transcript: Transcript
    reason: Literal["ready", "nothing-to-summarize", "nothing-since-compaction", "empty"]
    tokens_before: int
    first_kept_entry_id: str | None = None
    is_split_turn: bool = False
    previous_summary: str = ""
    entries_to_summarize: tuple[Node, ...] = ()
    turn_prefix_entries: tuple[Node, ...] = ()
    file_ops: FileOperations = NO_FILES

    def messages(self, entries: Iterable[Node]) -> tuple[Message, ...]:
        """The messages of some of its entries, read from the session file."""
        return tuple(messages_of(self.transcript, entries))


class Branch(NamedTuple):
    """The branch that is left, oldest first; what its summary is made from, newest first, with its tokens."""

    leaf: str
    common_ancestor: str | None
    entries: tuple[Node, ...]
    chosen: tuple[Node, ...]
    tokens: int
    file_ops: FileOperations
    problems: tuple[str, ...]


def find_cut(transcript: Transcript, start: int, keep_recent: int) -> CutPoint:
    """The cut behind `start`, the first entry that may be summarised, so that `keep_recent` tokens stay."""
    entries = transcript.nodes
    points = [index for index in range(start, len(entries)) if entries[index].can_cut]
    if not points:
        return CutPoint(start, -1)
    cut = _with_calls(entries, start, _by_budget(transcript, points, start, keep_recent))
    if clients.row(transcript.client).own_rules:
        while cut > start and entries[cut - 1].kind not in ("message", "compaction"):
            cut -= 1  # bookkeeping goes with what follows it
    is_turn = entries[cut].kind == "message" and entries[cut].role == "user"
    return CutPoint(cut, -1 if is_turn else turn_start(entries, cut, start))


def turn_start(entries: Sequence[Node], index: int, start: int) -> int:
    """The entry at or before `index` that began its turn, -1 where none from `start` on did."""
    return next((i for i in range(index, start - 1, -1) if entries[i].starts_turn), -1)


def _by_budget(transcript: Transcript, points: Sequence[int], start: int, keep_recent: int) -> int:
    # Only messages count, as in pi: not the texts of extensions and of summaries.
    entries = transcript.nodes
    newest = [index for index in range(len(entries) - 1, start - 1, -1) if entries[index].kind == "message"]
    kept = 0
    for index, size in zip(newest, sizes(transcript, [entries[one] for one in newest]), strict=True):
        kept += size
        if kept >= keep_recent:
            # Where the newest results alone fill the budget, nothing behind them can be first. pi then keeps all; other
            # clients compact in the middle of a turn, where that is the rule: the call of those results is first.
            whole = clients.row(transcript.client).own_rules
            return next((point for point in points if point >= index), points[0] if whole else points[-1])
    return points[0]


def _with_calls(entries: Sequence[Node], start: int, cut: int) -> int:
    """Move the cut back to a call whose result would be kept without it, with all lines of its answer."""
    called: dict[str, int] = {}
    needed: list[tuple[int, int]] = []  # result, call: an id may be used again, a result belongs to its latest call
    for index in range(start, len(entries)):
        needed += [(index, called[call]) for call in entries[index].answers if call in called]
        called.update(dict.fromkeys(entries[index].calls, index))
    for result, call in reversed(needed):
        if call < cut <= result:
            group = entries[call].group
            cut = next(i for i in range(start, call + 1) if i == call or (group and entries[i].group == group))
    return cut


def prepare(transcript: Transcript, *, keep_recent: int) -> Preparation:
    """The compaction of a session that keeps so many tokens; `reason` tells whether there is anything to summarise."""
    entries = transcript.nodes
    tokens = context_size(transcript).total
    previous = transcript.last_compaction()
    if said_since_compaction(transcript) == 0:
        return Preparation(transcript, "empty" if previous < 0 else "nothing-since-compaction", tokens)
    compaction = entries[previous].compaction if previous >= 0 else None
    start = 0
    if compaction is not None:  # the first entry that no summary covers
        kept = (index for index, entry in enumerate(entries) if entry.id == compaction.first_kept)
        start = next(kept, previous + 1)
    first_kept, turn = find_cut(transcript, start, keep_recent)
    history = _speaking(entries[start : first_kept if turn < 0 else turn])
    prefix = _speaking(entries[turn:first_kept]) if turn >= 0 else ()
    if clients.row(transcript.client).own_rules:
        listed = [entries[previous].files] if previous >= 0 else []
        kinds = ("message", "branch_summary")
        done = [*listed, *(entry.files for entry in (*history, *prefix) if entry.kind in kinds)]
    else:  # its compactions list none: everything that was done before the cut is still in the file
        done = [entry.files for entry in entries[:first_kept]]
    return Preparation(
        transcript,
        "ready" if history or prefix else "nothing-to-summarize",
        tokens,
        entries[first_kept].id,
        turn >= 0,
        compaction.summary if compaction is not None else "",
        history,
        prefix,
        together(done),
    )


def _speaking(entries: Iterable[Node]) -> tuple[Node, ...]:
    return tuple(entry for entry in entries if entry.role is not None and entry.kind != "compaction")


def prepare_branch(transcript: Transcript, leaf: str, target: str, *, budget: int) -> Branch:
    """The branch that is left when a session goes from the entry `leaf` ("": its newest) to `target`."""
    leaf = leaf or (transcript.nodes[-1].id if transcript.nodes else "")
    for identifier in (leaf, target):
        if identifier not in transcript.tree:
            raise unknown_entry(transcript.path, identifier)
    problems = Problems()
    left = path_to(leaf, transcript.tree, problems)
    there = {entry.id for entry in path_to(target, transcript.tree, problems)}
    common = next((entry.id for entry in reversed(left) if entry.id in there), None)
    own = tuple(entry for entry in left if entry.id not in there)
    chosen: list[Node] = []
    walked: list[Node] = []
    total = 0
    # the calls of tool results stand for them
    speaking = [entry for entry in reversed(own) if entry.role is not None and entry.role != "tool_result"]
    for entry, size in zip(speaking, sizes(transcript, speaking), strict=True):
        walked.append(entry)
        fits = budget <= 0 or total + size <= budget
        if fits or (entry.kind in ("compaction", "branch_summary") and total < budget * 0.9):
            chosen.append(entry)
            total += size
        if not fits:
            break
    listed = [entry.files for entry in own if entry.kind == "branch_summary"]
    done = together([*listed, *(entry.files for entry in walked if entry.kind == "message")])
    return Branch(leaf, common, own, tuple(chosen), total, done, problems.first())
