"""The SQLite store: all SQL of the product. Here: which rows belong to which collection, and the schema's version."""

from __future__ import annotations

import os

from core import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sized

SCHEMA = 14  # how many steps of `core.store.migrations` a store of this version has had
COLLECTIONS = {"observations": 1, "episodes": 2, "knowledge": 3}
"""The row number holds the collection (code << 40 | n), so that a range of rows limits both indexes to it."""
NAME_OF = {code: name for name, code in COLLECTIONS.items()}
COLLECTION_SHIFT = 40
MARK = ".mark"  # behind the store's path: a file that is there once a store was
BY_HAND = "written by hand"  # the reason why the write gate allowed what its rules did not


def path() -> str:
    """The store's path."""
    return os.path.join(files.home(), files.STORE)


def acknowledged(store: str) -> str:
    """Where the number of the last change of a store stands that was acknowledged."""
    return os.path.join(os.path.dirname(store), "acknowledged")


def row_range(collection: str) -> tuple[int, int]:
    """The first and the last row number of a collection; the first is left free."""
    base = COLLECTIONS[collection] << COLLECTION_SHIFT
    return base, base + (1 << COLLECTION_SHIFT) - 1


def marks(values: Sized) -> str:
    """A SQL parameter for each value: `?, ?, ?`."""
    return ", ".join("?" * len(values))
