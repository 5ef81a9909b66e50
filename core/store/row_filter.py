"""The documents that a filter admits: gathered where they are few, asked about once they are found where they are many.

The rows of a session come from its index and those of a project from three, into a table of this connection by which
both searches are narrowed. Where a third of all is admitted, or more, that takes longer than to look among the best.
"""

from __future__ import annotations

from core import json_text
from core.store import marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from core.records import Filters

    Condition = tuple[str, list[Any]]
    """SQL, and its parameters."""

_FEW = 4_096
"""So many rows are never many: to gather them takes a millisecond."""
_MANY = 1 / 3
_GUESSED = 1 / 4
"""The share of a category or a tag, which no index counts."""
_ROOM = 1.5
"""So many times as many of the best are looked at as would do if the share among them were that among all."""
_MOST = 400
"""The nearest 200 of 100,000 signatures take three times as long as the nearest 50, and the nearest 1,000 25 times."""


class RowFilter:
    """The rows that a filter admits, whatever it says of collections; one at a time on a connection.

    Args:
        filters: at least a session, a category, tags, or projects of which there are others.
        size: how many documents there are, roughly.
    """

    __slots__ = ("_asked", "_db", "_gathered", "_indexed", "_share")

    def __init__(self, db: apsw.Connection, filters: Filters, size: int) -> None:
        session, category = filters.get("session"), filters.get("category")
        names = filters["projects"] if filters.get("others") else ()
        apart = filters.get("apart", False)
        self._db = db
        self._gathered = False
        self._indexed: Condition | None = None
        self._asked: list[Condition] = []
        asked = self._asked
        if session:
            asked.append(("+session_id = ?", [session]))
            # without its second condition SQLite does not take the index of sessions, which has no row without one
            self._indexed = "SELECT rowid FROM document WHERE session_id = ? AND session_id <> ''", [session]
        if names:
            asked.append(_is_of(names, apart))
            self._indexed = self._indexed or _rows_of(names, apart)
        if category:
            asked.append(("+category_id = ?", [category]))
        tags = filters.get("tags", ())
        for tag in tags:  # few hold the letters, so that few lists are taken apart
            found = "instr(tags, ?) AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)"
            asked.append((found, [json_text.dumps(tag), tag]))
        self._share = 0.0
        if size > _FEW and not session:
            rows = _counted(db, names, apart) if names else size
            if rows > max(_FEW, size * _MANY):
                self._share = rows / size * (_GUESSED if category or tags else 1)

    def looked_at(self, limit: int) -> int:
        """How many of the best of all are to be looked at for `limit` admitted ones; 0 where `where` is quicker."""
        if not self._share or self._gathered:
            return 0
        wide = int(limit / self._share * _ROOM) + 1
        return wide if wide <= _MOST else 0

    def among(self, rows: Sequence[int]) -> list[int]:
        """Those of a few rows that are admitted, in their order."""
        where, parameters = self._conditions()
        found = self._db.execute(
            f"SELECT rowid FROM document WHERE rowid IN ({marks(rows)}) AND {where}", (*rows, *parameters)
        )
        kept = {int(row) for (row,) in found}
        return [row for row in rows if row in kept]

    def where(self, row: str) -> str:
        """A condition that admitted rows alone fulfil; `row` has their number. The first call gathers them."""
        if not self._gathered:
            rows, parameters = self._indexed or ("", [])
            if not rows or len(self._asked) > 1:
                where, more = self._conditions()
                rows = f"SELECT rowid FROM document WHERE {f'rowid IN ({rows}) AND ' if rows else ''}{where}"
                parameters = [*parameters, *more]
            self._db.execute("PRAGMA temp_store = MEMORY")
            self._db.execute("CREATE TABLE IF NOT EXISTS temp.admitted (id INTEGER PRIMARY KEY)")
            self._db.execute("DELETE FROM temp.admitted")
            self._db.execute(f"INSERT INTO temp.admitted {rows}", parameters)
            self._gathered = True
        return f" AND {row} IN (SELECT id FROM temp.admitted)"

    def _conditions(self) -> Condition:
        return " AND ".join(sql for sql, _ in self._asked), [value for _, values in self._asked for value in values]


def _is_of(names: Sequence[str], apart: bool) -> Condition:
    """Whether a row belongs to one of the projects; `+` keeps SQLite from walking an index of all rows."""
    named, none = _named(names)
    if not none:
        return f"+project IN ({marks(named)})", named
    of_others = f"+project = '' AND +session_id NOT IN ({_of_others(named, apart)})"
    return f"(+project IN ({marks(named)}) OR {of_others})", [*named, *named]


def _rows_of(names: Sequence[str], apart: bool) -> Condition:
    """The rows of the projects; where "" is among the names, also those that belong to none.

    A memory that names no project belongs to that of its session, and to none where that is not known. Three queries,
    each with an index of its own: one condition of all three stops SQLite 3.54 with "internal query planner error".
    """
    named, none = _named(names)
    rows = f"SELECT rowid FROM document WHERE project <> '' AND project IN ({marks(named)})"
    if not none:
        return rows, named
    rows += " UNION ALL SELECT rowid FROM document WHERE project = '' AND session_id = ''"
    rows += " UNION ALL SELECT rowid FROM document WHERE project = '' AND session_id <> ''"
    return f"{rows} AND session_id NOT IN ({_of_others(named, apart)})", [*named, *named]


def _counted(db: apsw.Connection, names: Sequence[str], apart: bool) -> int:
    """How many rows `_rows_of` finds: told by the table `tally`, and not by walking them."""
    named, none = _named(names)
    of_them = f"SELECT coalesce(sum(documents), 0) FROM tally WHERE project IN ({marks(names)})"
    total = int(db.execute(of_them, names).get)
    if none:
        of_others = "SELECT count(*) FROM document WHERE project = '' AND session_id <> '' AND session_id IN"
        total -= int(db.execute(f"{of_others} ({_of_others(named, apart)})", named).get)
    return total


def _of_others(named: Sequence[str], apart: bool) -> str:
    """The sessions that are known to belong to another project than these; with `apart`, also those of none."""
    placed = "" if apart else "project <> '' AND "
    return f"SELECT id FROM session WHERE {placed}project NOT IN ({marks(named)})"


def _named(names: Sequence[str]) -> tuple[list[str], bool]:
    """The names of projects, and whether what belongs to none is admitted too."""
    named = [name for name in names if name]
    return named, len(named) < len(names)
