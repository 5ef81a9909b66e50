"""Reads the tables of another program's SQLite file, and never writes to it, nor to anything beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from core.errors import Failure
from core.store.sqlite import apsw, open_unchanged

_LONGEST = 20_000
"""Characters of a value that are read."""


class ForeignFile:
    """An open file of another program."""

    __slots__ = ("_db",)

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def columns(self, table: str) -> set[str]:
        """The names of an ordinary table's columns; none where there is no such table (a view is none)."""
        rows = self._db.execute(
            "SELECT name FROM pragma_table_info(?1) WHERE EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table'"
            " AND name = ?1 AND sql LIKE 'CREATE TABLE%')",
            (table,),
        )
        return {str(name) for (name,) in rows}

    def rows(self, table: str, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The rows of a table in their order; a column that the table has not is None, a long text is cut."""
        known = self.columns(table)
        if not known:
            return
        columns = ", ".join(
            f"CASE typeof({_name(name)}) WHEN 'text' THEN substr({_name(name)}, 1, {_LONGEST}) ELSE {_name(name)} END"
            if name in known
            else "NULL"
            for name in wanted
        )
        for row in self._db.execute(f"SELECT {columns} FROM {_name(table)} ORDER BY rowid"):
            yield dict(zip(wanted, row, strict=True))


@contextmanager
def opened(path: str) -> Iterator[ForeignFile]:
    """An SQLite file, read-only and as it is.

    Raises:
        Failure: IMPORT_FAILED where it is none, or is damaged; also for what is read while it is open.
    """
    try:
        db = open_unchanged(path)
        try:
            db.execute("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON")
            yield ForeignFile(db)
        finally:
            db.close()
    except apsw.Error as error:
        raise Failure(
            "IMPORT_FAILED", f"{path} cannot be read: {error}", "name an SQLite file that is whole, or a copy of it"
        ) from None


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
