"""Reads the tables of another program's SQLite file, and writes neither to it nor beside it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from core.errors import Failure
from core.store import apsw, open_unchanged

_LONGEST = 20_000  # characters of a value that are read


@contextmanager
def opened(path: str) -> Iterator[apsw.Connection]:
    """An SQLite file, opened read-only and immutable. Raises Failure IMPORT_FAILED, also while it is read."""
    try:
        db = open_unchanged(path)
        try:
            db.execute("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON")
            yield db
        finally:
            db.close()
    except apsw.Error as error:
        fix = "name an intact SQLite file"
        raise Failure("IMPORT_FAILED", f"{path} cannot be read: {error}", fix) from None


def columns(db: apsw.Connection, table: str) -> set[str]:
    """A table's column names; none if there is no such table (a view does not count)."""
    rows = db.execute(
        "SELECT name FROM pragma_table_info(?1) WHERE EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table'"
        " AND name = ?1 AND sql LIKE 'CREATE TABLE%')",
        (table,),
    )
    return {str(name) for (name,) in rows}


def rows(db: apsw.Connection, table: str, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A table's rows in order; a column that it lacks is None, a long text is cut."""
    known = columns(db, table)
    texts = "CASE typeof({0}) WHEN 'text' THEN substr({0}, 1, {1}) ELSE {0} END"
    read = ", ".join(texts.format(name, _LONGEST) if name in known else "NULL" for name in wanted)
    for row in db.execute(f"SELECT {read} FROM {table} ORDER BY rowid") if known else ():
        yield dict(zip(wanted, row, strict=True))
