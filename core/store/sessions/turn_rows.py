"""What was said in an archived session, turn by turn; not what was forgotten."""

from __future__ import annotations

from core.store.layout import row_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from core.records import Prompt

# The partial index on the session needs the second condition; +rowid keeps the planner from walking all episodes.
_OF_SESSION = (
    "FROM document WHERE session_id = ? AND session_id <> '' AND forgotten_at IS NULL AND +rowid BETWEEN {} AND {}"
).format(*row_range("episodes"))
_EVER = 1 << 62


def turns(db: apsw.Connection, session: str, *, first: int, last: int, characters: int) -> list[tuple[str, str]]:
    """Ids and texts of the first and the last so many turns of a session, oldest first, each text cut."""
    found: dict[int, tuple[str, str]] = {}
    for order, most in (("ASC", first), ("DESC", last)):
        rows = db.execute(
            f"SELECT rowid, id, substr(text, 1, ?) {_OF_SESSION} ORDER BY rowid {order} LIMIT ?",
            (characters, session, most),
        )
        found.update((int(rowid), (str(identifier), str(text))) for rowid, identifier, text in rows)
    return [found[rowid] for rowid in sorted(found)]


def last_turns(db: apsw.Connection, session: str, most: int, *, until: int = _EVER) -> list[tuple[str, str, int]]:
    """Id, text and time of the last so many turns of a session up to a time, oldest first; in ms since the epoch."""
    rows = db.execute(
        f"SELECT id, text, created_at {_OF_SESSION} AND created_at <= ? ORDER BY rowid DESC LIMIT ?",
        (session, until, most),
    )
    return [(str(identifier), str(text), int(at)) for identifier, text, at in rows][::-1]


def prompts(db: apsw.Connection, session: str, last: int) -> list[str]:
    """The last prompts of the user in a session, by time."""
    return [prompt["text"] for prompt in timed_prompts(db, session, last)]


def timed_prompts(db: apsw.Connection, session: str, last: int = _EVER) -> list[Prompt]:
    """Likewise, with their times."""
    rows = db.execute(
        f"SELECT created_at, substr(text, 7) {_OF_SESSION} AND text LIKE 'user: %' ORDER BY rowid DESC LIMIT ?",
        (session, last),
    )
    found: list[Prompt] = [{"at": int(at), "text": str(text)} for at, text in rows]
    found.reverse()  # of the same time: as they were stored
    return sorted(found, key=lambda one: one["at"])


def spoken(db: apsw.Connection, session: str) -> tuple[int, int, int]:
    """How many turns of a session are archived, and when the first and the last were (ms since the epoch, or 0)."""
    row = db.execute(
        f"SELECT count(*), coalesce(min(created_at), 0), coalesce(max(created_at), 0) {_OF_SESSION}", (session,)
    ).fetchone()
    return (int(row[0]), int(row[1]), int(row[2])) if row else (0, 0, 0)
