"""Whether to compact a session, where to cut it, what to summarise and which files to list.

The rules are those of pi's compaction.md (1.6), and those against a second compaction in a row (openclaw#21117).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import dropwhile, takewhile
from typing import Literal, NamedTuple

import clients
from core.config import Config
from core.errors import usage
from session.compaction import session_tree
from session.compaction.session_tree import FileOperations, Node, Transcript


class ContextTokens(NamedTuple):
    """The size of a context in tokens."""

    total: int
    from_usage: int  # reported by the last answer; the rest is estimated
    stale: int | None  # reported before the latest compaction, which made it void


class Limits(NamedTuple):
    """How large the context may become, in tokens."""

    window: int  # of the model
    window_from: str  # the source of the window
    reserve: int  # kept free for the answer


class Preparation(NamedTuple):
    """A prepared compaction: the nodes of whole turns that are dropped, and the beginning of a split turn."""

    reason: Literal["ready", "nothing-to-summarize", "nothing-since-compaction", "empty"]
    tokens_before: int
    first_kept_entry_id: str | None = None
    is_split_turn: bool = False
    previous_summary: str = ""
    entries_to_summarize: tuple[Node, ...] = ()
    turn_prefix_entries: tuple[Node, ...] = ()
    file_ops: FileOperations = FileOperations()


class Branch(NamedTuple):
    """A branch that is left, oldest node first."""

    leaf: str
    common_ancestor: str | None
    entries: tuple[Node, ...]
    chosen: tuple[Node, ...]  # what its summary is made from, newest first
    tokens: int  # of the chosen nodes
    file_ops: FileOperations


def limits_of(transcript: Transcript, config: Config, *, window: int | None, reserve: int | None) -> Limits:
    """The window and the reserve: as given, else from the settings or the model, in this order."""
    candidates = {
        "--window": window or 0,
        "context.window": config.get_int("context.window"),
        "the model": clients.by_name(transcript.client).context_window((transcript.model,), 0, config),
    }
    source, found = next((name, size) for name, size in candidates.items() if size)
    if reserve is None:
        reserve = config.get_int("compaction.reserve_tokens")
    if reserve >= found:
        what = f"a reserve of {reserve:,} tokens takes up the whole window of {found:,} ({source})"
        fix = "give --window N for the model's window, or a smaller --reserve N"
        raise usage("COMPACTION_INVALID_ARGS", what, fix)
    return Limits(found, source, reserve)


def reason(transcript: Transcript, *, window: int, reserve: int, enabled: bool = True) -> str:
    """Why to compact (above-threshold) or not; `enabled`: the client's settings let it compact by itself."""
    if why := nothing_to_compact(transcript):
        return why
    if context_size(transcript).total <= window - reserve:
        return "below-threshold"
    return "above-threshold" if enabled else "switched-off"


def context_entries(transcript: Transcript) -> tuple[Node, ...]:
    """The nodes of the context: the latest summary, the nodes that it kept, and those after it.

    Nodes that the model does not see have no role: bookkeeping, and what a context edit omits. A context edit may also
    have replaced the content of a node.
    """
    at = transcript.last_compaction()
    shown = list(transcript.nodes[at + 1 :])
    if at >= 0:
        first = transcript.nodes[at].head.first_kept
        kept = dropwhile(lambda node: not first or node.id != first, transcript.nodes[:at])
        # the latest summary covers an earlier one, and its line carries pi's instructions until then
        seen = [
            replace(node, role=None) if node.head.kind == "compaction" else node
            for node in kept
            if node.role != "system"
        ]
        shown = [transcript.nodes[at], *seen, *shown]
    is_empty = [node.role == "branch_summary" and not node.head.text for node in shown]
    shown = [replace(node, role=None) if empty else node for node, empty in zip(shown, is_empty, strict=True)]
    return tuple(_as_seen(transcript, shown))


def _as_seen(transcript: Transcript, nodes: Sequence[Node]) -> list[Node]:
    """Nodes with what the context edits among them omit or put in their place."""
    client = clients.by_name(transcript.client)
    edits = {node.head.edits: node for node in nodes if node.head.edits}
    found: list[Node] = []
    for node in nodes:
        edit = edits.get(node.id)
        if edit is not None and edit.head.content is None:
            node = replace(node, role=None, omitted=node.role)
        elif edit is not None and node.role in ("user", "assistant", "tool_result", "custom"):
            node = replace(node, entries=tuple(client.entries(client.edited(node.line, edit.line))))
        found.append(node)
    return found


def nothing_to_compact(transcript: Transcript) -> Literal["", "empty", "nothing-since-compaction"]:
    """Why there is nothing to compact; "" if something was said since the latest compaction."""
    last = transcript.last_compaction()
    said = ("user", "assistant", "tool_result", "bash")  # not what extensions add
    if any(node.role in said for node in transcript.nodes[last + 1 :]):
        return ""
    return "empty" if last < 0 else "nothing-since-compaction"


def context_size(transcript: Transcript) -> ContextTokens:
    """The tokens of the context: the usage that the last answer reported, and an estimate of everything after it.

    A usage from before the latest compaction does not count. It would cause a second compaction, which drops everything
    that the first compaction kept. Nor does a usage from before a context edit. Without a newer usage, everything is
    estimated, with pi's current instructions.
    """
    shown = context_entries(transcript)
    since = takewhile(lambda node: node.head.kind != "compaction" and not node.head.edits, reversed(transcript.nodes))
    latest = {node.id for node in since}
    rest = 0
    for node in reversed([node for node in shown if node.id in latest]):
        if node.role is not None and node.used:
            return ContextTokens(node.used + rest, node.used, None)
        rest += session_tree.tokens(node)
    stale = next((node.used for node in reversed(shown) if node.role is not None and node.used), None)
    estimated = session_tree.system_tokens(shown)
    estimated += sum(session_tree.tokens(node) for node in shown if node.role != "system")
    return ContextTokens(estimated, 0, stale)


def find_cut(nodes: Sequence[Node], start: int, keep_recent: int) -> tuple[int, int]:
    """The cut at or after `start`, the first node that may be summarised, that keeps about `keep_recent` tokens.

    Returns the indices of the first kept node and of the beginning of the turn that the cut splits, -1 for none.
    """
    never_first = (None, "tool_result", "compaction_summary", "system")
    points = [index for index in range(start, len(nodes)) if nodes[index].role not in never_first]
    if not points:
        return start, -1
    cut, kept = points[0], 0
    for index in range(len(nodes) - 1, start - 1, -1):
        size = session_tree.tokens(nodes[index])
        kept += size
        if size and kept >= keep_recent:
            # if the newest results fill the budget, their call comes first
            cut = next((point for point in points if point >= index), points[-1])
            cut += _ends_in_failed_attempt(nodes[cut + 1 :])
            break
    while cut > start and nodes[cut - 1].role is None and nodes[cut - 1].head.kind != "compaction":
        cut -= 1  # bookkeeping stays with what follows it
    # The node at or before the cut that began its turn.
    turn = next((at for at in range(cut, start - 1, -1) if nodes[at].starts_turn), -1)
    return cut, -1 if turn == cut else turn


def _ends_in_failed_attempt(nodes: Sequence[Node]) -> bool:
    """Whether nodes hold an answer that pi omits from the context, and nothing that the model sees.

    The prompt of a failed attempt may then be summarised, unless what it answered was replaced afterwards.
    """
    omitted = {node.id for node in nodes if node.omitted}
    heads = [node.head for node in nodes]
    return (
        any(node.omitted == "assistant" for node in nodes)
        and all(node.role is None and node.head.kind != "compaction" for node in nodes)
        and all(not head.edits or head.content is None or head.edits in omitted for head in heads)
    )


def prepare(transcript: Transcript, *, keep_recent: int) -> Preparation:
    """The compaction of a session that keeps about `keep_recent` tokens; `reason` says if anything is to be done."""
    size = context_size(transcript).total
    is_compacted = transcript.last_compaction() >= 0
    if why := nothing_to_compact(transcript):
        return Preparation(why, size)
    nodes = context_entries(transcript)
    start = int(is_compacted)  # the first node that no summary covers
    first_kept, turn = find_cut(nodes, start, keep_recent)
    history = _with_messages(nodes[start : first_kept if turn < 0 else turn])
    prefix = _with_messages(nodes[turn:first_kept]) if turn >= 0 else ()
    listed = [nodes[0].files] if is_compacted else []
    return Preparation(
        "ready" if history or prefix else "nothing-to-summarize",
        size,
        nodes[first_kept].id,
        turn >= 0,
        nodes[0].head.content if is_compacted else "",
        history,
        prefix,
        session_tree.together([*listed, *_of_calls([*history, *prefix])]),
    )


def _with_messages(nodes: Iterable[Node]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if node.role not in (None, "system"))


def _of_calls(nodes: Iterable[Node]) -> list[FileOperations]:
    """The files of tool calls, not those that a summary lists."""
    return [node.files for node in nodes if node.role in ("assistant", "tool_result")]


def prepare_branch(transcript: Transcript, leaf: str, target: str, *, budget: int) -> Branch:
    """The branch that is left when a session goes from the node `leaf` ("": its newest) to `target`.

    Its summary is made from the newest nodes within `budget` tokens; 0 for no limit. Raises ENTRY_UNKNOWN.
    """
    leaf = leaf or (transcript.nodes[-1].id if transcript.nodes else "")
    for identifier in (leaf, target):
        if identifier not in transcript.tree:
            raise session_tree.unknown_entry(transcript.path, identifier)
    left = session_tree.path_to(leaf, transcript.tree)
    there = {node.id for node in session_tree.path_to(target, transcript.tree)}
    common = next((node.id for node in reversed(left) if node.id in there), None)
    own = [node for node in left if node.id not in there]
    chosen: list[Node] = []
    walked: list[Node] = []
    total = 0
    # without tool results: their calls represent them
    for node in reversed([node for node in _as_seen(transcript, own) if node.role not in (None, "tool_result")]):
        size = session_tree.tokens(node)
        walked.append(node)
        fits = budget <= 0 or total + size <= budget
        if fits or (node.role in ("compaction_summary", "branch_summary") and total < budget * 0.9):
            chosen.append(node)
            total += size
        if not fits:
            break
    listed = [node.files for node in own if node.head.kind == "branch_summary"]
    return Branch(leaf, common, tuple(own), tuple(chosen), total, session_tree.together([*listed, *_of_calls(walked)]))
