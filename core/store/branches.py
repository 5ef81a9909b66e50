"""The marks of a session's entries and its rewinds, as `memory.archive.branches` explains them. Hot path.

An abandoned episode has the tag `abandoned`, an abandoned call a column. Functions that write belong inside the
caller's transaction.
"""

from __future__ import annotations

from core import TYPE_CHECKING, json_text
from core.store import calls, documents, sessions
from core.store.sqlite import LISTED, row_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

    Mark = tuple[int, int]
    """The number of the last call and the row of the last episode up to an entry."""
    Rewind = tuple[Mark, Mark]
    """Where the transcript ended, and the mark that the user went back to."""


def rewinds(db: apsw.Connection, session: str) -> list[Rewind]:
    """The rewinds of a session, in order."""
    stored = json_text.loads(db.execute("SELECT branches FROM session WHERE id = ?", (session,)).get or "[]")
    return [((begin[0], begin[1]), (target[0], target[1])) for begin, target in stored]


def save_rewinds(db: apsw.Connection, session: str, given: Sequence[Rewind]) -> None:
    """Store `rewinds`."""
    db.execute("UPDATE session SET branches = ? WHERE id = ?", (json_text.dumps(given), session))


def mark_of(db: apsw.Connection, session: str, node: int) -> Mark | None:
    """The mark of an entry, None if the entry is unknown."""
    row = db.execute("SELECT calls, episode FROM node WHERE session_id = ? AND id = ?", (session, node)).fetchone()
    return (int(row[0]), int(row[1])) if row else None


def save_mark(db: apsw.Connection, session: str, node: int, mark: Mark, *, is_prompt: bool) -> None:
    """Store the mark of an entry."""
    db.execute("INSERT OR REPLACE INTO node VALUES (?, ?, ?, ?, ?)", (session, node, *mark, is_prompt))


def prompt_marks(db: apsw.Connection, session: str) -> list[Mark]:
    """The marks of a session's prompts, in order."""
    query = "SELECT calls, episode FROM node WHERE session_id = ? AND is_prompt ORDER BY episode"
    return [(int(number), int(episode)) for number, episode in db.execute(query, (session,))]


def rows_of(db: apsw.Connection, episodes: Iterable[str]) -> dict[str, int]:
    """The rows of episodes by id."""
    query = f"SELECT id, rowid FROM document WHERE id IN {LISTED}"
    return dict(db.execute(query, (json_text.dumps(list(episodes)),)))


def are_between(db: apsw.Connection, session: str, begin: int, end: int, others: Iterable[int]) -> bool:
    """Whether a session has episodes between two rows, except others and its title."""
    return bool(
        db.execute(
            f"SELECT EXISTS (SELECT 1 FROM document WHERE session_id = ? AND session_id <> '' AND +rowid > ?"
            f" AND +rowid < ? AND rowid NOT IN {LISTED} AND text NOT LIKE '{sessions.TITLE}: %')",
            (session, max(begin, row_range("episodes")[0] - 1), end, json_text.dumps(list(others))),
        ).get
    )


def last_call(db: apsw.Connection, session: str) -> int:
    """The number of a session's last call, 0 if it has none."""
    return int(db.execute("SELECT coalesce(max(number), 0) FROM call WHERE session_id = ?", (session,)).get)


def numbers_of(db: apsw.Connection, session: str, keys: Iterable[str]) -> dict[str, int]:
    """The numbers of a session's calls by key."""
    query = f"SELECT key, number FROM call WHERE session_id = ? AND key IN {LISTED}"
    return dict(db.execute(query, (session, json_text.dumps(list(keys)))))


def files(db: apsw.Connection, session: str) -> set[str]:
    """The files that the calls on the live branch of a session worked on."""
    query = f"SELECT DISTINCT file FROM call WHERE session_id = ? AND {calls.LIVE}"
    return {str(file) for (file,) in db.execute(query, (session,))} | {e["file"] for e in calls.edits(db, session)}


def mark_abandoned(db: apsw.Connection, session: str, live: Sequence[tuple[Mark, Mark]]) -> None:
    """Mark the episodes and calls outside the live ranges (each without its first mark), and unmark those inside."""
    ranges: list[Any] = [(begin[part], end[part]) for part in (0, 1) for begin, end in live]
    of_calls, of_episodes = ranges[: len(live)], ranges[len(live) :]
    is_live = " OR ".join([f"(number > {int(begin)} AND number <= {int(end)})" for begin, end in of_calls])
    db.execute(
        f"UPDATE call SET abandoned = NOT ({is_live}) WHERE session_id = ? AND abandoned = ({is_live})", (session,)
    )
    is_live = " OR ".join([f"(rowid > {int(begin)} AND rowid <= {int(end)})" for begin, end in of_episodes])
    changed = db.execute(
        f"SELECT rowid, tags, stale FROM document WHERE session_id = ? AND session_id <> '' AND +rowid BETWEEN ? AND ?"
        f" AND text NOT LIKE '{sessions.TITLE}: %'"
        f" AND (instr(tags, '\"{documents.ABANDONED}\"') > 0) = ({is_live})",
        (session, *row_range("episodes")),
    ).fetchall()
    for rowid, stored, stale in changed:
        tags = [str(tag) for tag in json_text.loads(str(stored))]
        others = [tag for tag in tags if tag != documents.ABANDONED]
        now_tags = others if len(others) < len(tags) else [*others, documents.ABANDONED]
        documents.set_tags(db, int(str(rowid)), now_tags, stale=bool(stale))
    known = sessions.by_id(db, session)
    if known is not None and known["plan"]:
        changed_at = known.get("plan_at", [0])[0]
        if changed_at and not any(begin < changed_at <= end for begin, end in of_calls):
            known["plan"] = []
            sessions.save(db, known)
