"""What the modules with SQL share: rows mapped by column name and numbered by collection, FTS5 terms. Hot path."""

from __future__ import annotations

from math import log

from core import TYPE_CHECKING, json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Sized
    from typing import Any, Self, TypeVar

    import apsw

    R = TypeVar("R")

COLLECTIONS = {"observations": 1, "episodes": 2, "knowledge": 3}
"""The row number holds the collection (code << 40 | n), so that a range of rows limits both indexes to it."""
NAME_OF = {code: name for name, code in COLLECTIONS.items()}
COLLECTION_SHIFT = 40
ALL = 1 << 62  # above every row number and time
LISTED = "(SELECT value FROM json_each(?))"  # a single parameter for any number of values
SMALL_INDEX = 64  # in fewer rows, FTS5's idf is 0 for a word that half of them have: BM25 says little
BY_HAND = "written by hand"  # the reason why the write gate allowed a text that its rules did not allow


class Record:
    """Base of records: a subclass lists its fields in `__slots__`, and is made from them by name."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, **values: Any) -> None:
        for name in self.__slots__:
            setattr(self, name, values[name])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.__slots__))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"

    def changed(self, **values: Any) -> Self:
        """A copy with some fields changed."""
        return type(self)(**{name: getattr(self, name) for name in self.__slots__} | values)


def fetch(db: apsw.Connection, sql: str, values: Sequence[Any], record: Callable[..., R]) -> list[R]:
    """The rows of a query; `record`, a `Record` or a function, is called with the columns by name."""
    cursor = db.execute(sql, values)
    names: list[str] = []
    records = []
    for row in cursor:
        names = names or [name for name, _ in cursor.get_description()]
        records.append(record(**dict(zip(names, row, strict=True))))
    return records


def fetch_dicts(db: apsw.Connection, sql: str, values: Sequence[Any], *, json_columns: Sequence[str] = ()) -> list[Any]:
    """The rows of a query as dictionaries, with the `json_columns` parsed."""
    rows: list[dict[str, Any]] = fetch(db, sql, values, dict)
    for row in rows:
        for name in json_columns:
            row[name] = json_text.loads(row[name])
    return rows


def fetch_one(db: apsw.Connection, sql: str, values: Sequence[Any], record: Callable[..., R]) -> R | None:
    """The first row of a query, or None."""
    return next(iter(fetch(db, f"{sql} LIMIT 1", values, record)), None)


def row_range(collection: str) -> tuple[int, int]:
    """The first and the last row number of a collection; the first is not used."""
    base = COLLECTIONS[collection] << COLLECTION_SHIFT
    return base, base + (1 << COLLECTION_SHIFT) - 1


def marks(values: Sized) -> str:
    """A SQL parameter for each value: `?, ?, ?`."""
    return ", ".join("?" * len(values))


def quoted(term: str) -> str:
    """A word or phrase as FTS5 reads it: none of its characters is an operator."""
    return '"' + term.replace('"', " ").replace("\0", " ") + '"'


def small_idf(count: int, size: int) -> float:
    """The weight, as in Lucene, of a word that `count` of `size` rows have: FTS5's is 0 in a small index."""
    return log(1 + (max(size - count, 0) + 0.5) / (count + 0.5))
