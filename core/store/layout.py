"""Which rows of the store are whose, and which schema this version writes. Hot path."""

from __future__ import annotations

SCHEMA = 11
"""How many steps of `core.store.migrations` a store of this version has had."""
COLLECTIONS = {"observations": 1, "episodes": 2, "knowledge": 3}
"""The collection is in the row number (code << 40 | n), so that a range of rows limits both indexes to one of them."""
COLLECTION_SHIFT = 40


def row_range(collection: str) -> tuple[int, int]:
    """The first and the last row number that a collection may use; the first is left free."""
    base = COLLECTIONS[collection] << COLLECTION_SHIFT
    return base, base + (1 << COLLECTION_SHIFT) - 1
