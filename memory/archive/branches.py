"""Branches: which part of a session was abandoned when the user went back. Hot path.

A transcript only grows at its end. If the user goes back, the next prompt names an earlier entry as its parent, or the
client notes what was taken back. Whatever was said in between is abandoned, until a later prompt continues it.

A mark tells how far a session was stored up to an entry: the number of the last call and the row of the last episode,
which both only grow along a transcript. A rewind is a pair of marks: the end of the transcript at that
time, and the entry that the user went back to. The live branch is what these leave: up to the last rewind's target, in
the part before it up to the target of that part's own rewind, and so on.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.store import branches as stored

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from clients.entries import Entry
    from core.store.branches import Mark, Rewind

START = (0, 0)
CONTENT = ("prompt", "answer", "call", "result", "shell", "compaction", "summary")
"""An entry of any other kind may be the first after a rewind, in front of the prompt."""


class Node:
    """An entry in the tree, with the ids of its episodes and the keys of its calls."""

    __slots__ = ("calls", "episodes", "has_parents", "id", "is_content", "is_prompt", "parent", "rewound_to", "turns")

    def __init__(self, head: Entry, *, is_tree: bool, has_parents: bool) -> None:
        self.id = _number(head.id)
        self.has_parents = has_parents  # earlier entries name their parent, so that an entry without a parent is a root
        # 0 for the root of a tree, None if the order of the lines counts
        self.parent = _number(head.parent) if is_tree else None
        self.is_content = head.kind in CONTENT
        self.is_prompt = False
        self.turns = head.turns
        self.rewound_to = _number(head.rewound_to)
        self.episodes: list[str] = []
        self.calls: list[str] = []


def follow(
    db: apsw.Connection,
    session: str,
    nodes: Sequence[Node],
    ends: tuple[Mark, Mark],
    *,
    is_first: bool,
    only_grows: bool,
) -> tuple[Mark, Mark, bool]:
    """Store the marks of new nodes and note rewinds, inside the caller's transaction.

    Args:
        ends: the mark before the first node, and the mark after the last line that was a node of the tree; a queued
            prompt may come in between.
        is_first: the transcript is read from its beginning.
        only_grows: False if the client removes what the user takes back. It was between two entries that remain.

    Returns both marks after the last node, and whether the user went back.
    """
    at, leaf = ends
    known = stored.rewinds(db, session)
    rewinds = [] if is_first else known[:]
    rows = stored.rows_of(db, [episode for node in nodes for episode in node.episodes])
    numbers = stored.numbers_of(db, session, [key for node in nodes for key in node.calls])
    marks: dict[int, Mark] = {}
    new: list[tuple[int, Mark, bool]] = []
    for node in nodes:
        parent = (
            START
            if node.parent == 0 and node.id and node.is_prompt and node.has_parents
            else marks.get(node.parent or 0)
        )
        if parent is None and node.parent and (node.is_prompt or not node.is_content):
            parent = stored.mark_of(db, session, node.parent)
        behind = parent if parent is not None and parent < leaf else None
        target = behind if node.is_prompt else None
        if node.turns or node.rewound_to:
            stored.save_marks(db, session, new)
            target = _taken_back(db, session, node, rewinds)
        if target is not None:
            rewinds.append((at, target))
        known_rows = [rows[name] for name in node.episodes if name in rows]
        calls = max((numbers.get(key, 0) for key in node.calls), default=0)
        episode = max(known_rows, default=0)
        if not only_grows and known_rows and stored.are_between(db, session, at[1], min(known_rows), rows.values()):
            later = [number for number in numbers.values() if number > at[0]]
            last_call = min(later) - 1 if later else stored.last_call(db, session)
            rewinds.append(((last_call, min(known_rows) - 1), at))
        at = (max(at[0], calls), max(at[1], episode))
        leaf = at if node.id or node.parent is None else leaf
        if node.id and (node.parent is not None or node.episodes):
            marks[node.id] = at if node.is_content or behind is None else behind
            new.append((node.id, marks[node.id], node.is_prompt))
        elif node.is_prompt and episode:
            new.append((-episode, at, True))
    stored.save_marks(db, session, new)
    if rewinds != known:
        stored.save_rewinds(db, session, rewinds)
        mark(db, session)
    return at, leaf, len(rewinds) > len(known)


def mark(db: apsw.Connection, session: str) -> None:
    """Mark the episodes and calls of a session that are not on its live branch, inside the caller's transaction."""
    stored.mark_abandoned(db, session, stored.live_ranges(stored.rewinds(db, session)))


def _taken_back(db: apsw.Connection, session: str, node: Node, rewinds: Sequence[Rewind]) -> Mark | None:
    """The mark to which a client notes that the user went back; None if it is unknown."""
    if node.rewound_to:
        first = stored.mark_of(db, session, node.rewound_to)
        if first is None:
            return START
    else:
        live = stored.live_ranges(rewinds)
        prompts = [
            (calls, episode)
            for calls, episode in stored.prompt_marks(db, session)
            if any(begin[1] < episode <= end[1] for begin, end in live)
        ]
        if node.turns > len(prompts):
            return None
        first = prompts[-node.turns]
    target = (first[0], first[1] - 1)  # before that prompt
    for begin, earlier in reversed(rewinds):
        if begin == target:  # it was the first after a rewind
            target = earlier
    return target


def _number(identifier: str) -> int:
    return int(words.fingerprint(identifier)[:15], 16) if identifier else 0
