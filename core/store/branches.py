"""Which part of a session was abandoned when the user went back, and what a fork shares with its parents. Hot path.

A transcript only grows at its end. If the user goes back, the next prompt names an earlier entry as its parent, or the
client notes what was taken back. Whatever was said in between is abandoned, until a later prompt continues it.

A mark is the position of an entry in what was stored: the number of the last call and the row of the last episode,
which both grow in the order of storing. A rewind is a pair of marks: the end of the transcript at that time, and the
entry that the user went back to. Read the rewinds backwards: what follows the last one is live, before it only what
comes before its target, and so on.

An abandoned episode has the tag `abandoned`, an abandoned call a column. Functions that write belong inside the
caller's transaction.
"""

from __future__ import annotations

from core import TYPE_CHECKING, json_text, words
from core.store import calls, documents, sessions
from core.store.sqlite import ALL, LISTED, LIVE_CALL, row_range

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import apsw

    from core.records import Call, Edit, Name, Place, Session

    Mark = tuple[int, int]
    Rewind = tuple[Mark, Mark]

START = (0, 0)


def rewinds(db: apsw.Connection, session: str) -> list[Rewind]:
    """The rewinds of a session, in order."""
    stored = json_text.loads(db.execute("SELECT branches FROM session WHERE id = ?", (session,)).get or "[]")
    return [((begin[0], begin[1]), (target[0], target[1])) for begin, target in stored]


class Node:
    """An entry in the tree of a session, with the ids of its episodes and the keys of its calls."""

    is_content = False  # else it may be the first after a rewind, in front of the prompt
    is_root = False  # it has no parent, but earlier entries have
    is_prompt = False
    turns = 0  # that the user took back
    rewound_to = ""  # id of the first entry that the user took back

    def __init__(self, identifier: str, parent: str | None) -> None:
        self.id = _hash_of(identifier)
        self.parent = None if parent is None else _hash_of(parent)  # None if the order of the lines counts
        self.episodes: list[str] = []
        self.calls: list[str] = []


def store_nodes(
    db: apsw.Connection, session: str, nodes: Sequence[Node], ends: tuple[Mark, Mark]
) -> tuple[Mark, Mark, bool]:
    """Store new nodes with their marks, and note where the user went back. Storing nodes again changes nothing.

    An example without calls, so that a mark is only a row. Each entry has its parent in brackets; `end` is the mark
    after the entry before it.

    | entry   | end | parent's mark | mark | |
    |---|---|---|---|---|
    | p1      | 0 | | 1 | |
    | a1 (p1) | 1 | 1 | 2 | |
    | p2 (a1) | 2 | 2 | 3 | |
    | a2 (p2) | 3 | 3 | 4 | |
    | x (a1)  | 4 | 2 | 2 | It has no content, and its parent is before the end: it takes its parent's mark. |
    | p3 (x)  | 4 | 2 | 5 | Its parent is before the end: the rewind is (4, 2). p2 and a2 are abandoned. |

    Args:
        ends: the mark before the first node, and the mark after the last line that was a node of the tree; a queued
            prompt may come in between.

    Returns both marks after the last node, and whether the user went back.
    """
    end, end_in_tree = ends
    noted = rewinds(db, session)
    known = len(noted)
    keys = json_text.dumps([key for node in nodes for key in node.calls])
    names = json_text.dumps([name for node in nodes for name in node.episodes])
    numbers = dict(
        db.execute(f"SELECT key, number FROM call WHERE session_id = ? AND key IN {LISTED}", (session, keys))
    )
    rows = dict(db.execute(f"SELECT id, rowid FROM document WHERE session_id = ? AND id IN {LISTED}", (session, names)))
    for node in nodes:
        parent = START if node.is_root and node.is_prompt else _mark_of(db, session, node.parent or 0)
        older_parent = parent if parent is not None and parent < end_in_tree else None
        target = _target_of(db, session, node, older_parent, noted)
        if target is not None and (end, target) not in noted:
            noted.append((end, target))
        last_call = max((numbers.get(key, 0) for key in node.calls), default=0)
        last_row = max((rows.get(name, 0) for name in node.episodes), default=0)
        end = (max(end[0], last_call), max(end[1], last_row))
        if node.id or node.parent is None:
            end_in_tree = end
        # A prompt without an id is stored by its row, so that `turns` counts it.
        if identifier := node.id or (-last_row if node.is_prompt else 0):
            mark = older_parent if older_parent is not None and node.id and not node.is_content else end
            values = (session, identifier, *mark, node.is_prompt)
            db.execute("INSERT OR REPLACE INTO node VALUES (?, ?, ?, ?, ?)", values)
    if len(noted) > known:
        db.execute("UPDATE session SET branches = ? WHERE id = ?", (json_text.dumps(noted), session))
        mark_abandoned(db, session)
    return end, end_in_tree, len(noted) > known


def _target_of(
    db: apsw.Connection, session: str, node: Node, older_parent: Mark | None, noted: Sequence[Rewind]
) -> Mark | None:
    """The mark to which the user went back with a node, None if unknown or if he did not.

    | the node | he went back |
    |---|---|
    | is a prompt, with a parent before the end | to the parent |
    | names the first entry that he took back | before that entry |
    | says how many turns he took back | before the prompt of the first of them; abandoned prompts do not count |
    """
    if not node.turns and not node.rewound_to:
        return older_parent if node.is_prompt else None
    if node.rewound_to:
        first = _mark_of(db, session, _hash_of(node.rewound_to))
    else:
        live, prompts = live_ranges(noted), sessions.prompts(db, session)
        prompts = [mark for mark in prompts if any(begin[1] < mark[1] <= end[1] for begin, end in live)]
        first = prompts[-node.turns] if node.turns <= len(prompts) else None
    if first is None:
        return None
    target = (first[0], first[1] - 1)
    for begin, earlier in reversed(noted):
        if begin == target:  # that entry was itself the first after a rewind
            target = earlier
    return target


def _hash_of(identifier: str) -> int:
    return int(words.fingerprint(identifier)[:15], 16) if identifier else 0


def has_node(db: apsw.Connection, session: str, identifier: str, new: Sequence[Node]) -> bool:
    """Whether an entry is one of a session, or of these new nodes of it."""
    node = _hash_of(identifier)
    return any(node == other.id for other in new) or _mark_of(db, session, node) is not None


def _mark_of(db: apsw.Connection, session: str, node: int) -> Mark | None:
    """The mark of an entry, None if the entry is unknown."""
    query = "SELECT calls, episode FROM node WHERE session_id = ? AND id = ?"
    row = db.execute(query, (session, node)).fetchone() if node else None
    return (int(row[0]), int(row[1])) if row else None


def live_ranges(rewinds: Sequence[Rewind], end: Mark = (ALL, ALL)) -> list[tuple[Mark, Mark]]:
    """The ranges of marks on the branch that ends at a mark, else on the live branch, each without its first mark."""
    ranges: list[tuple[Mark, Mark]] = []
    for left_at, back_at in reversed(rewinds):
        if left_at < end:
            ranges.append((left_at, end))
            end = back_at
    return [*ranges, (START, end)]


class Part:
    """A session's share in the history of a fork: conditions in SQL for its calls and episodes, what came before it."""

    def __init__(self, session: str, live_calls: str, live_episodes: str) -> None:
        self.session = session
        self.last = ALL  # number of the last call that belongs to it
        self.until = ALL  # its time, ms
        self.calls = live_calls
        self.episodes = live_episodes
        self.before = 0  # calls in the parts before it
        self.prompts_before = 0


def lineage(db: apsw.Connection, session: str) -> list[Part]:
    """A session and, before it, the parents of this fork, each up to the fork; the oldest first."""
    parts = [Part(session, LIVE_CALL, sessions.LIVE_EPISODE)]
    until = ALL
    while fork := sessions.fork_of(db, parts[0].session):
        parent, until = fork[0], min(until, fork[1])
        if parent in [part.session for part in parts]:  # transcripts may name a circle
            break
        query = "SELECT coalesce(max(number), 0), coalesce(max(prompt), 0) FROM call WHERE session_id = ? AND at <= ?"
        ((number, prompt),) = db.execute(query, (parent, until))
        ranges = live_ranges(rewinds(db, parent), (int(number), sessions.last_row(db, parent, until)))
        # a fork whose copies were found later has counted them
        query = "SELECT coalesce(min(number) - 1, session.calls) FROM session LEFT JOIN call ON session_id = session.id"
        counted = db.execute(f"{query} WHERE session.id = ?", (parts[0].session,)).get
        for part in parts:
            part.before += max(0, int(number) - int(counted))
            part.prompts_before += 0 if counted else int(prompt)
        parts.insert(0, Part(parent, _within("number", ranges, 0), _within("rowid", ranges, 1)))
        parts[0].last, parts[0].until = int(number), until
    return parts


class History:
    """A session's work. A fork's includes its parents' up to the fork, and goes on with the numbers of their calls."""

    def __init__(self, db: apsw.Connection, session: str) -> None:
        self._db = db
        self._parts = lineage(db, session)
        self.calls_before = self._parts[-1].before  # the fork

    def session(self) -> Session | None:
        """The record of the session, with the counts and the plan that it has from its parents, too."""
        own = sessions.by_id(self._db, self._parts[-1].session)
        if own is None:
            return None
        for part in self._parts[::-1]:
            known = sessions.by_id(self._db, part.session)
            at, prompts = known.get("plan_at", [0, 0]) if known else (0, 0)
            if known and known["plan"] and at <= part.last:
                own["plan"], own["plan_at"] = known["plan"], [at + part.before, prompts + part.prompts_before]
                break
        own["calls"] += self._parts[-1].before
        own["prompts"] += self._parts[-1].prompts_before
        return own

    def calls(self, last: int = 1000) -> list[Call]:
        """The last calls, oldest first, without passages."""
        return self._numbered(calls.of_session, last=last)[-last:]

    def places(self, files: Sequence[str] = ()) -> list[Place]:
        """As `calls.places`."""
        return self._numbered(calls.places, files=files)

    def edits(self) -> list[Edit]:
        """As `calls.edits`."""
        return self._numbered(calls.edits)

    def compactions(self) -> list[dict[str, Any]]:
        """As `sessions.compactions`, without those that a fork has copied."""
        found: list[dict[str, Any]] = []
        for part in self._parts:
            rows = sessions.compactions(self._db, part.session, live=part.calls)
            copied = found[-1]["at"] if found else -1
            own = [row for row in rows if copied < row["at"] <= part.until]
            found += [{**row, "call": row["call"] + part.before} for row in own]
        return found

    def names(self, *, every: bool = False) -> list[Name]:
        """As `calls.names`."""
        found: dict[str, Name] = {}
        for part in self._parts:
            of_all = every or part is not self._parts[-1]
            for name in calls.names(self._db, part.session, every=of_all, live=part.calls):
                name["first"] += part.before
                name["last"] = min(name["last"], part.last) + part.before
                name["written"] += part.before if name["written"] else 0
                if older := found.get(name["name"]):
                    name["weight"] += older["weight"] * calls.fading(name["last"] - older["last"])
                    name["calls"] += older["calls"]
                    name["first"] = older["first"]
                found[name["name"]] = name
        return list(found.values())

    def episodes(self, most: int, until: int = ALL) -> list[tuple[str, str, int]]:
        """As `sessions.last_episodes`."""
        own = (
            sessions.last_episodes(self._db, part.session, most, until=until, live=part.episodes)
            for part in self._parts
        )
        return [episode for episodes in own for episode in episodes][-most:]

    def conversation(self, characters: int) -> list[tuple[int, str]]:
        """The last messages by time: the time and a prompt's beginning, or "" for an answer of the agent."""
        spoken = [(at, text) for _, text, at in self.episodes(400) if text.startswith(("user: ", "assistant: "))]
        spoken.sort(key=lambda message: message[0])
        return [(at, text[6 : 6 + characters] if text.startswith("user: ") else "") for at, text in spoken]

    def paths(self) -> set[str]:
        """The files in which a name was shown or something edited."""
        return {path for part in self._parts for path in calls.paths(self._db, part.session)}

    def files(self) -> set[str]:
        """The files that the calls worked on."""
        return {call["file"] for call in self.calls(ALL)} | {edit["file"] for edit in self.edits()}

    def _numbered(self, read: Callable[..., list[Any]], **options: Any) -> list[Any]:
        """The rows of all parts, whose numbers of calls and prompts go on from part to part."""
        found: list[Any] = []
        for part in self._parts:
            for row in read(self._db, part.session, live=part.calls, **options):
                row["number"] += part.before
                row |= {"prompt": row["prompt"] + part.prompts_before} if "prompt" in row else {}
                found.append(row)
        return found


def mark_abandoned(db: apsw.Connection, session: str) -> None:
    """Mark the episodes and calls of a session that are not on its live branch, and unmark the others."""
    live = live_ranges(rewinds(db, session))
    is_live = _within("number", live, 0)
    db.execute(f"UPDATE call SET abandoned = NOT {is_live} WHERE session_id = ? AND abandoned = {is_live}", (session,))
    is_live = _within("rowid", live, 1)
    changed = db.execute(
        f"SELECT rowid, tags, stale FROM document WHERE session_id = ? AND session_id <> '' AND +rowid BETWEEN ? AND ?"
        f" AND text NOT LIKE '{sessions.TITLE}: %'"
        f" AND (instr(tags, '\"{documents.ABANDONED}\"') > 0) = {is_live}",
        (session, *row_range("episodes")),
    ).fetchall()
    for rowid, stored, stale in changed:
        tags: list[str] = json_text.loads(str(stored))
        others = [tag for tag in tags if tag != documents.ABANDONED]
        now_tags = others if len(others) < len(tags) else [*others, documents.ABANDONED]
        documents.set_tags(db, int(str(rowid)), now_tags, stale=bool(stale))
    known = sessions.by_id(db, session)
    if known is not None and known["plan"]:
        changed_at = known.get("plan_at", [0])[0]
        if changed_at and not any(begin[0] < changed_at <= end[0] for begin, end in live):
            known["plan"] = []
            sessions.save(db, known)


def _within(column: str, ranges: Sequence[tuple[Mark, Mark]], part: int) -> str:
    """A condition in SQL: the column, which is this part of a mark, is within one of the ranges."""
    parts = [f"({column} > {int(begin[part])} AND {column} <= {int(end[part])})" for begin, end in ranges]
    return f"({' OR '.join(parts)})"
