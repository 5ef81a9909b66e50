"""The documents that a filter admits: gathered where they are few, asked about once they are found where they are many.

The rows of a session come from its index and those of a project from three, into a table of this connection by which
both searches are narrowed. Where a third of all is admitted, or more, that takes longer than to look among the best.
"""

from __future__ import annotations

from core import TYPE_CHECKING, json_text
from core.store import marks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import apsw

    from core.records import Filters

    Condition = tuple[str, list[Any]]
    """SQL, and its parameters."""

_FEW, _MANY = 4_096, 1 / 3
"""This many rows are never too many to collect (it takes a millisecond); nor is this share of all."""
_GUESSED = 1 / 4  # the share of a category or a tag, which no index counts
_ROOM = 1.5
"""How many times as many of the best to look at as would do if matches were spread evenly."""
_MOST = 400
"""The nearest 200 of 100,000 signatures take three times as long as the nearest 50, and the nearest 1,000 25 times."""


class RowFilter:
    """The rows that a filter (of more than collections) admits, of about `size`; one at a time on a connection."""

    def __init__(self, db: apsw.Connection, filters: Filters, size: int) -> None:
        session, category = filters.get("session"), filters.get("category")
        names = filters["projects"] if filters.get("others") else ()
        self._db = db
        self._gathered = False
        self._indexed: Condition | None = None
        self._asked: list[Condition] = []
        asked = self._asked
        if session:
            asked.append(("+session_id = ?", [session]))
            # without its second condition SQLite does not take the index of sessions, which has no row without one
            self._indexed = "SELECT rowid FROM document WHERE session_id = ? AND session_id <> ''", [session]
        rows = size
        if names:
            condition, indexed, rows = _of_projects(db, names, filters.get("apart", False))
            asked.append(condition)
            self._indexed = self._indexed or indexed
        if category:
            asked.append(("+category_id = ?", [category]))
        between, tags = filters.get("between", ()), filters.get("tags", ())
        if between:
            asked.append(("+created_at BETWEEN ? AND ?", [*between]))
        for tag in tags:  # few hold the letters, so that few lists are taken apart
            found = "instr(tags, ?) AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)"
            asked.append((found, [json_text.dumps(tag), tag]))
        self._share = 0.0
        if not session and rows > max(_FEW, size * _MANY):
            self._share = rows / size * (_GUESSED if category or tags or between else 1)

    def first(self, search: Callable[[int], dict[int, float]], limit: int) -> dict[int, float] | None:
        """The first admitted rows of a search among this many of the best; None if `where` is quicker."""
        wide = int(limit / self._share * _ROOM) + 1 if self._share and not self._gathered else 0
        if not 0 < wide <= _MOST:
            return None
        best = search(wide)
        kept = self.among(list(best))[:limit]
        return {row: best[row] for row in kept} if len(kept) == limit or len(best) < wide else None

    def among(self, rows: Sequence[int]) -> list[int]:
        """The admitted ones of a few rows, in order."""
        where, parameters = self._conditions()
        found = self._db.execute(
            f"SELECT rowid FROM document WHERE rowid IN ({marks(rows)}) AND {where}", (*rows, *parameters)
        )
        kept = {int(row) for (row,) in found}
        return [row for row in rows if row in kept]

    def where(self, row: str) -> str:
        """A condition that only admitted rows meet; `row` has their number. The first call collects them."""
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


def _of_projects(db: apsw.Connection, names: Sequence[str], apart: bool) -> tuple[Condition, Condition, int]:
    """A condition for the rows of these projects, a query for them, and (by the table `tally`) their number.

    With "" among the names also what belongs to none. A memory that names no project belongs to that of its session,
    and to none where that is not known, or with `apart` where that has none. Three queries, each with an index of its
    own: one condition of all three stops SQLite 3.54 with "internal query planner error".
    """
    named = [name for name in names if name]
    ours = f"project IN ({marks(named)})"
    rows = f"SELECT rowid FROM document WHERE project <> '' AND {ours}"
    count = int(
        db.execute(f"SELECT coalesce(sum(documents), 0) FROM tally WHERE project IN ({marks(names)})", names).get
    )
    if len(named) == len(names):
        return (f"+{ours}", named), (rows, named), count
    placed = "" if apart else "project <> '' AND "
    of_others = f"(SELECT id FROM session WHERE {placed}project NOT IN ({marks(named)}))"
    rows += " UNION ALL SELECT rowid FROM document WHERE project = '' AND session_id = ''"
    rows += " UNION ALL SELECT rowid FROM document WHERE project = '' AND session_id <> ''"
    left_out = f"SELECT count(*) FROM document WHERE project = '' AND session_id <> '' AND session_id IN {of_others}"
    count -= int(db.execute(left_out, named).get)
    twice = [*named, *named]
    # `+` keeps SQLite from walking an index of all rows
    belongs = f"(+{ours} OR +project = '' AND +session_id NOT IN {of_others})"
    return (belongs, twice), (f"{rows} AND session_id NOT IN {of_others}", twice), count
