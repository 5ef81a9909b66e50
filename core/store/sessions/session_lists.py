"""Which archived sessions there are: below a folder, the latest ones, those whose id begins as a person types it."""

from __future__ import annotations

from core.errors import Failure
from core.store import marks, row_range
from core.store.sessions.session_rows import COLUMNS, FORGOTTEN, KNOWN, of_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from core.records import Session

SHORTEST_BEGINNING = 8  # characters of a session's id that may stand for it: as many as are shown of a UUID
_MOST_LISTED = 5


def totals(db: apsw.Connection) -> tuple[int, int]:
    """How many sessions and tool calls are stored."""
    kept = db.execute("SELECT count(*) FROM session WHERE updated_at <> ?", (FORGOTTEN,)).get
    return int(kept), int(db.execute("SELECT count(*) FROM call").get)


def sessions_below(db: apsw.Connection, folders: Iterable[str]) -> list[str]:
    """The ids of sessions whose repository is, or lies below, one of the folders, the last one first."""
    found: dict[str, None] = {}
    below = "(folder = ? OR (folder >= ? AND folder < ?)) AND updated_at <> ?"
    for folder in folders:
        inside = folder.rstrip("/") + "/"
        values = (folder, inside, inside[:-1] + "0", FORGOTTEN)
        rows = db.execute(f"SELECT id FROM session WHERE {below} ORDER BY updated_at DESC", values)
        found |= dict.fromkeys(str(identifier) for (identifier,) in rows)
    return list(found)


def latest_sessions(db: apsw.Connection, most: int) -> list[Session]:
    """The sessions of all projects, the last active one first."""
    return [of_row(row) for row in db.execute(f"{KNOWN} ORDER BY updated_at DESC, id LIMIT ?", (most,))]


def last_compacted(db: apsw.Connection, projects: Sequence[str] | None = None) -> Session | None:
    """The last compacted session, of these projects or of all; without a client's time, by our own."""
    given = tuple(projects or ())
    known = "" if projects is None else f" AND project IN ({marks(given)})"
    row = db.execute(
        f"SELECT {COLUMNS} FROM session JOIN (SELECT session_id, max(at) AS compacted FROM compaction"
        f" GROUP BY session_id) ON session_id = id WHERE updated_at <> ?{known}"
        " ORDER BY CASE WHEN compacted > 0 THEN compacted ELSE updated_at END DESC, id LIMIT 1",
        (FORGOTTEN, *given),
    ).fetchone()
    return of_row(row) if row else None


def often_ran(db: apsw.Connection, most: int) -> list[str]:
    """The commands that worked most often, the first the oftenest."""
    ran = "SELECT command FROM call WHERE outcome = 'ok' AND command <> '' GROUP BY command ORDER BY count(*) DESC"
    return [command for (command,) in db.execute(f"{ran} LIMIT ?", (most,))]


def notes_with(db: apsw.Connection, text: str, most: int) -> list[str]:
    """The sessions whose recovery note, among the newest `most`, holds a text, the newest first."""
    rows = db.execute(
        "SELECT session_id FROM (SELECT session_id, text FROM injection WHERE kind IN ('compaction-recovery',"
        " 'gateway-recovery') ORDER BY at DESC, id DESC LIMIT ?) WHERE instr(text, ?)",
        (most, text),
    )
    return [session for (session,) in rows]


def noted(db: apsw.Connection, session: str, most: int) -> tuple[str, list[str]]:
    """What a session was about (a narrative of it, else its first prompt), and its newest observations, in order."""
    known = (
        "FROM document WHERE session_id = ?1 AND session_id <> '' AND forgotten_at IS NULL AND +rowid BETWEEN {} AND {}"
    )
    written = known.format(*row_range("observations")) + " AND write_verdict <> 'discard'"
    rows = db.execute(f"SELECT text, observation_type {written} ORDER BY rowid DESC LIMIT ?2", (session, most))
    found = [(str(text), kind) for text, kind in rows][::-1]
    prompt = (
        f"SELECT substr(text, 7) {known.format(*row_range('episodes'))} AND text LIKE 'user: %' ORDER BY rowid LIMIT 1"
    )
    told = [text for text, kind in found if kind == "segment_narrative"]
    return (told or [str(db.execute(prompt, (session,)).get or "")])[0], [text for text, _ in found]


def forgotten_beginning(db: apsw.Connection, start: str) -> str:
    """The first forgotten session whose id begins like this, "" if none does."""
    query = "SELECT id FROM session WHERE id >= ? AND id < ? AND updated_at = ? ORDER BY id LIMIT 1"
    return str(db.execute(query, (start, start + "\U0010ffff", FORGOTTEN)).get or "")


def sessions_beginning(db: apsw.Connection, start: str, most: int) -> list[str]:
    """The first archived sessions whose id begins like this, in order, without forgotten ones."""
    end = start + "\U0010ffff"
    rows = db.execute(
        "SELECT DISTINCT session_id FROM document WHERE session_id >= ? AND session_id < ? AND session_id <> ''"
        " AND +rowid BETWEEN ? AND ? UNION SELECT id FROM session WHERE id >= ? AND id < ?"
        " EXCEPT SELECT id FROM session WHERE updated_at = ? ORDER BY 1 LIMIT ?",
        (start, end, *row_range("episodes"), start, end, FORGOTTEN, most),
    )
    return [str(row[0]) for row in rows]


def whole_id(db: apsw.Connection, given: str, *, least: int = SHORTEST_BEGINNING) -> str:
    """The given id, or the only archived one that begins with it (of `least` characters); "" if there is none."""
    known = (
        "SELECT 1 FROM session WHERE id = ?1 AND updated_at <> ?2 UNION ALL"
        " SELECT 1 FROM document WHERE session_id = ?1 AND session_id <> '' AND forgotten_at IS NULL LIMIT 1"
    )
    if db.execute(known, (given, FORGOTTEN)).get:
        return given
    if len(given) < least:
        return ""
    found = sessions_beginning(db, given, _MOST_LISTED + 1)
    if len(found) > 1:
        shown = ", ".join(found[:_MOST_LISTED]) + (" and more" if len(found) > _MOST_LISTED else "")
        raise Failure("SESSION_AMBIGUOUS", f"several sessions begin with {given}: {shown}", "give a longer id")
    return found[0] if found else ""
