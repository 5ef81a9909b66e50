"""The lexical index as a whole. Off the hot path: after many documents were taken in at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.store import sqlite

if TYPE_CHECKING:
    import apsw

WORTH = 500
"""New documents after which the parts are merged."""
_PAGES = 1_000
"""Of one transaction: some 30 ms, which a hook's write waits at most."""


def merge(db: apsw.Connection) -> None:
    """Merge the parts that many writes have left: a search reads each of them, one takes a fifth less than ten.

    Raises:
        Failure: the store cannot be written; every document is found all the same.
    """
    pages = -_PAGES  # the sign begins a merge of all parts
    while True:
        with sqlite.transaction(db):
            before = db.total_changes()
            db.execute("INSERT INTO lexicon (lexicon, rank) VALUES ('merge', ?)", (pages,))
            changed = db.total_changes() - before
        if changed < 2:  # SQLite's sign that there is nothing left to merge
            return
        pages = _PAGES
