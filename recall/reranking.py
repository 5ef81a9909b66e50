"""The contextual tier of one question: which candidates have a contextual vector, and how near it is.

Only `deep` recall asks, and only where both the store and this installation have the tier: a store without such vectors
costs one query, and loads no engine.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw


class Contextual:
    """One question in the contextual space of one store; see `of`."""

    __slots__ = ("_db", "_space", "_vector", "found")

    def __init__(self, db: apsw.Connection, space: int, vector: bytes) -> None:
        self._db = db
        self._space = space
        self._vector = vector
        self.found = 0
        """How many of the documents asked for had a vector."""

    @classmethod
    def of(cls, db: apsw.Connection, query: str) -> Contextual | None:
        """The tier for a question, None where it is not there. sqlite-vec must be loaded into `db`."""
        from core.store import spaces
        from recall import contextual

        space = spaces.code(db, contextual.SPACE)
        vector = contextual.embed_query(query) if space else b""
        return cls(db, space, vector) if vector else None

    def cosines(self, rowids: Sequence[int]) -> dict[int, float]:
        """The cosine, -1 to 1, of each of these documents that has a contextual vector."""
        from core.store import spaces

        cosines = spaces.cosines(self._db, self._space, rowids, self._vector)
        self.found += len(cosines)
        return cosines
