"""Whether to compact a session, where to cut it, what to summarise and which files to list.

The rules are those of pi's compaction.md (1.6), and those against a second compaction in a row (openclaw#21117).
"""

from collections.abc import Iterable, Sequence
from itertools import dropwhile, takewhile
from typing import Literal, NamedTuple

import clients
from core.config import Config
from core.errors import usage
from session.compaction.messages import edited, sizes, system_size
from session.compaction.session_tree import (
    NO_FILES,
    FileOperations,
    Node,
    Problems,
    Transcript,
    path_to,
    together,
    unknown_entry,
)


class ContextTokens(NamedTuple):
    """The size of a context in tokens."""

    total: int
    from_usage: int  # reported by the last answer
    estimated: int
    stale: int | None  # reported before the latest compaction, which made it void


class Limits(NamedTuple):
    """How large the context may become, in tokens."""

    window: int  # of the model
    window_from: str  # the source of the window
    reserve: int  # kept free for the answer


class CutPoint(NamedTuple):
    """Indices into nodes."""

    first_kept: int
    turn_start: int  # of the turn that the cut splits, -1 if it splits none


class Preparation(NamedTuple):
    """A prepared compaction: the nodes of whole turns that are dropped, and the beginning of a split turn."""

    transcript: Transcript
    reason: Literal["ready", "nothing-to-summarize", "nothing-since-compaction", "empty"]
    tokens_before: int
    first_kept_entry_id: str | None = None
    is_split_turn: bool = False
    previous_summary: str = ""
    entries_to_summarize: tuple[Node, ...] = ()
    turn_prefix_entries: tuple[Node, ...] = ()
    file_ops: FileOperations = NO_FILES


class Branch(NamedTuple):
    """A branch that is left, oldest node first."""

    leaf: str
    common_ancestor: str | None
    entries: tuple[Node, ...]
    chosen: tuple[Node, ...]  # what its summary is made from, newest first
    tokens: int  # of the chosen nodes
    file_ops: FileOperations
    problems: tuple[str, ...]


def limits_of(transcript: Transcript, config: Config, *, window: int | None, reserve: int | None) -> Limits:
    """The window and the reserve: as given, else from the transcript, the settings or the model, in this order."""
    used = context_size(transcript).from_usage
    candidates = {
        "--window": window or 0,
        "the transcript": transcript.window,
        "context.window": config.get_int("context.window"),
        "the model": clients.row(transcript.client).context_window((transcript.model,), used, config),
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
    """Why to compact (above-threshold) or not; `enabled`: the client's settings let it compact by itself."""
    if said_since_compaction(transcript) == 0:
        return "empty" if transcript.last_compaction() < 0 else "nothing-since-compaction"
    if context_size(transcript).total <= window - reserve:
        return "below-threshold"
    return "above-threshold" if enabled else "switched-off"


def context_entries(transcript: Transcript) -> tuple[Node, ...]:
    """The nodes of the context: the latest summary, what it left as it was, and what came after it.

    Nodes that the model does not see have no role: bookkeeping, and what a context edit omits. Of the others, a context
    edit may have replaced the content.
    """
    at = transcript.last_compaction()
    shown = list(transcript.nodes[at + 1 :])
    if at >= 0:
        compaction = transcript.nodes[at].compaction
        first = compaction.first_kept if compaction is not None else ""
        kept = dropwhile(lambda node: not first or node.id != first, transcript.nodes[:at])
        # the latest summary covers an earlier one, and its line carries the client's instructions until then
        seen = [_unseen(node) if node.kind == "compaction" else node for node in kept if node.role != "system"]
        shown = [transcript.nodes[at], *seen, *shown]
    edits = {node.edits: node for node in shown if node.edits}
    return tuple(_as_seen(transcript, node, edits.get(node.id)) for node in shown)


def _as_seen(transcript: Transcript, node: Node, edit: Node | None) -> Node:
    if node.is_empty:
        return _unseen(node)
    if edit is None:
        return node
    if edit.size == 0:
        return _unseen(node)._replace(omitted=node.role)
    can_change = node.role in ("user", "assistant", "tool_result", "custom")
    return edited(transcript, node, edit) if can_change else node


def _unseen(node: Node) -> Node:
    return node._replace(role=None, can_cut=False, starts_turn=False, used=0, files=NO_FILES)


def said_since_compaction(transcript: Transcript) -> int:
    """How many messages came after the latest compaction, or are in the session if there was none."""
    later = transcript.nodes[transcript.last_compaction() + 1 :]
    roles = ("user", "assistant", "tool_result", "bash")  # not what extensions add
    return sum(node.kind == "message" and node.role in roles for node in later)


def context_size(transcript: Transcript) -> ContextTokens:
    """The tokens of the context: the usage that the last answer reported, and an estimate of everything after it.

    A usage from before the latest compaction does not count. It would cause a second compaction, which drops everything
    that the first compaction kept. Nor does a usage from before a context edit. Without a newer usage, everything is
    estimated, with the client's instructions as they are now.
    """
    shown = context_entries(transcript)
    since = takewhile(lambda node: node.kind != "compaction" and not node.edits, reversed(transcript.nodes))
    latest = {node.id for node in since}
    later = [node for node in shown if node.id in latest]
    for index in range(len(later) - 1, -1, -1):
        used, group = later[index].used, later[index].group
        if used:
            # the usage counts neither what came after its answer, nor results between the answer's own lines
            first = next(at for at, node in enumerate(later) if at == index or (group and node.group == group))
            after = [node for node in later[first + 1 :] if not group or node.group != group]
            rest = sum(sizes(transcript, after))
            return ContextTokens(used + rest, used, rest, None)
    stale = next((node.used for node in reversed(shown) if node.used), None)
    said = [node for node in shown if node.role != "system"]
    estimated = sum(sizes(transcript, said)) + system_size(transcript, shown)
    return ContextTokens(estimated, 0, estimated, stale)


def find_cut(transcript: Transcript, nodes: Sequence[Node], start: int, keep_recent: int) -> CutPoint:
    """The cut at or after `start`, the first node that may be summarised, that keeps about `keep_recent` tokens."""
    points = [index for index in range(start, len(nodes)) if nodes[index].can_cut]
    if not points:
        return CutPoint(start, -1)
    cut = _with_calls(nodes, start, _by_budget(transcript, nodes, points, start, keep_recent))
    if clients.row(transcript.client).own_rules:
        while cut > start and nodes[cut - 1].role is None and nodes[cut - 1].kind != "compaction":
            cut -= 1  # bookkeeping stays with what follows it
    return CutPoint(cut, -1 if nodes[cut].starts_turn else turn_start(nodes, cut, start))


def turn_start(nodes: Sequence[Node], index: int, start: int) -> int:
    """The node at or before `index` that began its turn, -1 if none from `start` on did."""
    return next((at for at in range(index, start - 1, -1) if nodes[at].starts_turn), -1)


def _by_budget(
    transcript: Transcript, nodes: Sequence[Node], points: Sequence[int], start: int, keep_recent: int
) -> int:
    newest = [index for index in range(len(nodes) - 1, start - 1, -1) if nodes[index].role is not None]
    kept = 0
    for index, size in zip(newest, sizes(transcript, [nodes[index] for index in newest]), strict=True):
        kept += size
        if size and kept >= keep_recent:
            # if the newest results fill the budget, their call comes first
            cut = next((point for point in points if point >= index), points[-1])
            return cut + 1 if _ends_in_failed_attempt(nodes[cut + 1 :]) else cut
    return points[0]


def _ends_in_failed_attempt(nodes: Sequence[Node]) -> bool:
    """Whether nodes hold an answer that the client omits from the context, and nothing that the model sees.

    The prompt of a failed attempt may then be summarised, unless what it answered was replaced afterwards.
    """
    omitted = {node.id for node in nodes if node.omitted}
    return (
        any(node.omitted == "assistant" for node in nodes)
        and all(node.role is None and node.kind != "compaction" for node in nodes)
        and all(not node.edits or node.size == 0 or node.edits in omitted for node in nodes)
    )


def _with_calls(nodes: Sequence[Node], start: int, cut: int) -> int:
    """Move the cut back to a call whose result would be kept without it, with all lines of its answer."""
    called: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []  # result and call; an id may be used again, a result belongs to its latest call
    for index in range(start, len(nodes)):
        pairs += [(index, called[call]) for call in nodes[index].answers if call in called]
        called.update(dict.fromkeys(nodes[index].calls, index))
    for result, call in reversed(pairs):
        if call < cut <= result:
            group = nodes[call].group
            cut = next(at for at in range(start, call + 1) if at == call or (group and nodes[at].group == group))
    return cut


def prepare(transcript: Transcript, *, keep_recent: int) -> Preparation:
    """The compaction of a session that keeps about `keep_recent` tokens; `reason` says if anything is to be done."""
    tokens = context_size(transcript).total
    previous = transcript.last_compaction()
    if said_since_compaction(transcript) == 0:
        return Preparation(transcript, "empty" if previous < 0 else "nothing-since-compaction", tokens)
    nodes = context_entries(transcript)
    compaction = nodes[0].compaction if previous >= 0 else None
    start = int(previous >= 0)  # the first node that no summary covers
    first_kept, turn = find_cut(transcript, nodes, start, keep_recent)
    history = _with_messages(nodes[start : first_kept if turn < 0 else turn])
    prefix = _with_messages(nodes[turn:first_kept]) if turn >= 0 else ()
    if clients.row(transcript.client).own_rules:
        listed = [nodes[0].files] if previous >= 0 else []
        file_ops = together([*listed, *(node.files for node in (*history, *prefix) if node.kind == "message")])
    else:  # its summaries list no files, and everything before the cut is still in the transcript
        kept = nodes[first_kept].id
        file_ops = together(node.files for node in takewhile(lambda node: node.id != kept, transcript.nodes))
    return Preparation(
        transcript,
        "ready" if history or prefix else "nothing-to-summarize",
        tokens,
        nodes[first_kept].id,
        turn >= 0,
        compaction.summary if compaction is not None else "",
        history,
        prefix,
        file_ops,
    )


def _with_messages(nodes: Iterable[Node]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if node.role not in (None, "system"))


def prepare_branch(transcript: Transcript, leaf: str, target: str, *, budget: int) -> Branch:
    """The branch that is left when a session goes from the node `leaf` ("": its newest) to `target`.

    Its summary is made from the newest nodes within `budget` tokens; 0 for no limit. Raises ENTRY_UNKNOWN.
    """
    leaf = leaf or (transcript.nodes[-1].id if transcript.nodes else "")
    for identifier in (leaf, target):
        if identifier not in transcript.tree:
            raise unknown_entry(transcript.path, identifier)
    problems = Problems()
    left = path_to(leaf, transcript.tree, problems)
    there = {node.id for node in path_to(target, transcript.tree, problems)}
    common = next((node.id for node in reversed(left) if node.id in there), None)
    own = tuple(node for node in left if node.id not in there)
    chosen: list[Node] = []
    walked: list[Node] = []
    total = 0
    edits = {node.edits: node for node in own if node.edits}
    seen = [_as_seen(transcript, node, edits[node.id]) if node.id in edits else node for node in own]
    # without tool results: their calls represent them
    candidates = [node for node in reversed(seen) if node.role not in (None, "tool_result")]
    for node, size in zip(candidates, sizes(transcript, candidates), strict=True):
        walked.append(node)
        fits = budget <= 0 or total + size <= budget
        if fits or (node.kind in ("compaction", "branch_summary") and total < budget * 0.9):
            chosen.append(node)
            total += size
        if not fits:
            break
    listed = [node.files for node in own if node.kind == "branch_summary"]
    file_ops = together([*listed, *(node.files for node in walked if node.kind == "message")])
    return Branch(leaf, common, own, tuple(chosen), total, file_ops, problems.first())
