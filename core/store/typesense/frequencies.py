"""How many documents of a large memory hold a term: asked for before a recall, and of common terms kept for a day.

In a large memory only the rarest terms of a query are scored (`bm25.selective`), and a search for a common one is what
takes the server its time. So it is known what is scored before anything is searched for.
"""

from __future__ import annotations

import os

from core import clock, files, json_text
from core.store.migrations import COLLECTIONS as CODES
from core.store.typesense.bm25 import AFFORDABLE
from core.store.typesense.plan import counting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.store.typesense.connection import Row

FRESH_MS = clock.DAY_MS
MOST_KEPT = 4_000
_GROWTH = 1.2
"""Of a memory that has grown by so much since, they are asked for anew."""


class Frequencies:
    """What the cache says of one cluster, and what is asked for beside it.

    Args:
        name: of the cluster, in the names of cache files (`statistics.Statistics`).
        documents: how many the memory has now.
    """

    __slots__ = ("_at", "_documents", "_kept", "_path", "counts")

    def __init__(self, name: str, documents: int) -> None:
        self._path = os.path.join(files.home(), "cache", f"typesense-{name}-terms.json")
        self._at, self._documents = clock.now_ms(), documents
        self._kept: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        """Term → documents."""
        try:
            with open(self._path, "rb") as handle:
                kept = json_text.loads(handle.read())
            at, of = int(kept["at"]), int(kept["documents"])
            if 0 <= self._at - at < FRESH_MS and of / _GROWTH <= documents <= of * _GROWTH:
                self._kept = {str(term): int(count) for term, count in kept["counts"].items()}
                self._at, self._documents = at, of
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass

    def lacking(self, keys: Sequence[str]) -> list[str]:
        """Those of the terms that must be asked for; the others are in `counts` then."""
        self.counts = {key: self._kept[key] for key in keys if key in self._kept}
        return [key for key in dict.fromkeys(keys) if key not in self.counts]

    def searches(self, lacking: Sequence[str]) -> list[Row]:
        """What to ask the cluster for."""
        return [counting(collection, key) for key in lacking for collection in CODES]

    def take(self, lacking: Sequence[str], answers: Sequence[Row]) -> None:
        """Take the answers to `searches` in, and keep what they say of common terms."""
        found = iter(answers)
        for key in lacking:
            self.counts[key] = sum(int(next(found)["found"]) for _ in CODES)
        common = {key: self.counts[key] for key in lacking if self.counts[key] > AFFORDABLE}
        if not common:
            return
        kept = dict(list({**self._kept, **common}.items())[-MOST_KEPT:])
        about = {"at": self._at, "documents": self._documents, "counts": kept}
        try:
            files.write_whole(self._path, json_text.dumps(about).encode())
        except OSError:
            pass  # they are asked for again
