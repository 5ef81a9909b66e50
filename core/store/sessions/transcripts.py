"""How far each transcript was read, and the state of its file then; stored in its episodes' transaction."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    import apsw


def position(db: apsw.Connection, source: str) -> tuple[int, str, str] | None:
    """The bytes read, a fingerprint of the first of them, and JSON that the next lines need."""
    row = db.execute("SELECT offset, head, carry FROM transcript WHERE source = ?", (source,)).fetchone()
    return (int(row[0]), str(row[1]), str(row[2])) if row else None


def advance(db: apsw.Connection, source: str, offset: int, head: str, carry: str, at: int) -> None:
    """Store what `position` returns, inside the caller's transaction; `at` in ms since the epoch."""
    db.execute("INSERT OR REPLACE INTO transcript VALUES (?, ?, ?, ?, ?)", (source, offset, head, carry, at))


def sources_naming(db: apsw.Connection, session: str) -> list[str]:
    """The transcripts with a session's id in their path."""
    rows = db.execute("SELECT source FROM transcript WHERE instr(source, ?) ORDER BY updated_at DESC", (session,))
    return [str(row[0]) for row in rows]


def sources(db: apsw.Connection) -> set[str]:
    """The transcripts of which anything was read."""
    return {source for (source,) in db.execute("SELECT source FROM transcript")}


def seen_files(db: apsw.Connection) -> dict[str, dict[str, Any]]:
    """The files that the archive has seen, by the fingerprint of their path."""
    rows = db.execute("SELECT path, stamp, asked, client, reason, seen_at FROM seen_file")
    return {
        path: {"path": path, "stamp": stamp, "asked": asked, "client": client, "reason": reason, "seen_at": seen_at}
        for path, stamp, asked, client, reason, seen_at in rows
    }


def note_seen(db: apsw.Connection, seen: Iterable[dict[str, Any]], gone: Iterable[str]) -> None:
    """Record the state of files, and forget that others were seen, inside the caller's transaction."""
    columns = ("path", "stamp", "asked", "client", "reason", "seen_at")
    values = ", ".join(f":{name}" for name in columns)
    db.executemany(f"INSERT OR REPLACE INTO seen_file ({', '.join(columns)}) VALUES ({values})", list(seen))
    db.executemany("DELETE FROM seen_file WHERE path = ?", [(path,) for path in gone])


def rename_project(db: apsw.Connection, name: str, former: str, folder: str) -> None:
    """Rename a project in what is stored if a session of it began in the folder; inside a transaction."""
    if db.execute("SELECT 1 FROM session WHERE project = ? AND folder = ? LIMIT 1", (former, folder)).get:
        for table in ("session", "document"):
            db.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (name, former))
