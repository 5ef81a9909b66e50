"""What BM25 needs to know of a whole memory on the cluster, kept in the cache folder since it changes slowly."""

from __future__ import annotations

import os

from core import clock, files, json_text
from core.ids import fingerprint
from core.store.layout import COLLECTIONS as CODES
from core.store.typesense.bm25 import AFFORDABLE
from core.store.typesense.plan import counting
from core.store.typesense.schema import COLLECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.store.typesense.connection import Row
    from core.store.typesense.search_client import SearchClient

FRESH_MS = 10 * 60_000
COUNTS_FRESH_MS = clock.DAY_MS
MOST_KEPT = 4_000
_GROWTH = 1.2
"""What a memory that has grown by so much since had is asked for anew."""


class Statistics:
    """How long a document is on average: a sum over all documents, asked for with a recall and kept some minutes.

    `documents` is how many there were then.
    """

    __slots__ = ("_path", "average", "documents", "known", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        """Of this cluster, in the names of cache files."""
        self._path = os.path.join(files.home(), "cache", f"typesense-{name}.json")
        self.average = 0.0
        self.documents = 0
        self.known = False

    @classmethod
    def load(cls, client: SearchClient) -> Statistics:
        """What the cache says of this cluster."""
        name = fingerprint("\0".join([*sorted(client.nodes.urls), client.prefix]))[:16]
        made = cls(name)
        try:
            with open(made._path, "rb") as handle:
                kept = json_text.loads(handle.read())
            age = clock.now_ms() - kept["at"]
            made.average, made.documents = float(kept["average"]), int(kept["documents"])
            made.known = 0 <= age < FRESH_MS and made.average > 0
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return made

    def searches(self) -> list[Row]:
        """What to ask the cluster for, nothing where it is known."""
        if self.known:
            return []
        return [
            {
                "collection": COLLECTIONS[name],
                "q": "*",
                "filter_by": "terms:>0",
                "facet_by": "terms",
                "max_facet_values": 1,
                "per_page": 0,
            }
            for name in CODES
        ]

    def read(self, answers: Sequence[Row]) -> None:
        """Read the answers to `searches`, and store what they say."""
        if not answers:
            return
        total = 0.0
        self.documents = 0
        for answer in answers:
            self.documents += int(answer["found"])
            for facet in answer.get("facet_counts", ()):
                total += float(facet.get("stats", {}).get("sum", 0.0))
        self.average = total / self.documents if self.documents else 0.0
        self.known = True
        kept = {"at": clock.now_ms(), "average": self.average, "documents": self.documents}
        try:
            files.write_whole(self._path, json_text.dumps(kept).encode())
        except OSError:
            pass  # it is asked for again

    def outgrown(self, documents: int) -> bool:
        """Whether the memory has changed so much that the average may be another one."""
        return not self.documents / _GROWTH <= documents <= self.documents * _GROWTH

    def forget(self) -> None:
        """Let the next recall ask anew."""
        try:
            os.unlink(self._path)
        except OSError:
            pass


class Frequencies:
    """How many documents of a large memory hold a term: of common terms kept for a day, of others asked for.

    In a large memory only the rarest terms of a query are scored (`bm25.selective`), and a search for a common one is
    what takes the server its time. So what is scored is decided before anything is searched for.

    Args:
        name: of the cluster, in the names of cache files (`Statistics`).
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
            if 0 <= self._at - at < COUNTS_FRESH_MS and of / _GROWTH <= documents <= of * _GROWTH:
                self._kept = {str(term): int(count) for term, count in kept["counts"].items()}
                self._at, self._documents = at, of
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Those of the terms that must be asked for; the others are in `counts` then."""
        self.counts = {key: self._kept[key] for key in keys if key in self._kept}
        return [key for key in dict.fromkeys(keys) if key not in self.counts]

    def searches(self, missing: Sequence[str]) -> list[Row]:
        """What to ask the cluster for."""
        return [counting(collection, key) for key in missing for collection in CODES]

    def read(self, missing: Sequence[str], answers: Sequence[Row]) -> None:
        """Read the answers to `searches`, and store what they say of common terms."""
        found = iter(answers)
        for key in missing:
            self.counts[key] = sum(int(next(found)["found"]) for _ in CODES)
        common = {key: self.counts[key] for key in missing if self.counts[key] > AFFORDABLE}
        if not common:
            return
        self._kept = dict(list({**self._kept, **common}.items())[-MOST_KEPT:])
        about = {"at": self._at, "documents": self._documents, "counts": self._kept}
        try:
            files.write_whole(self._path, json_text.dumps(about).encode())
        except OSError:
            pass  # they are asked for again
