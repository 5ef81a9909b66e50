"""The SQLite store: all SQL of the product. Here stands which rows are whose, and the schema of this version."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sized

SCHEMA = 13  # how many steps of `core.store.migrations` a store of this version has had
COLLECTIONS = {"observations": 1, "episodes": 2, "knowledge": 3}
"""The collection is in the row number (code << 40 | n), so that a range of rows limits both indexes to one of them."""
NAME_OF = {code: name for name, code in COLLECTIONS.items()}
COLLECTION_SHIFT = 40


def row_range(collection: str) -> tuple[int, int]:
    """The first and the last row number that a collection may use; the first is left free."""
    base = COLLECTIONS[collection] << COLLECTION_SHIFT
    return base, base + (1 << COLLECTION_SHIFT) - 1


def marks(values: Sized) -> str:
    """As many parameters of SQL as there are values: `?, ?, ?`."""
    return ", ".join("?" * len(values))
