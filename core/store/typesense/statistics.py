"""How long a document of the cluster is on average: asked for with a recall, and kept some minutes in the cache folder.

It is a sum over all documents, so it is not asked for each time; it moves slowly.
"""

from __future__ import annotations

import os

from core import clock, files, json_text
from core.ids import fingerprint
from core.store.migrations import COLLECTIONS as CODES
from core.store.typesense.schema import COLLECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.store.typesense.connection import Row
    from core.store.typesense.search_client import SearchClient

FRESH_MS = 10 * 60_000
_GROWTH = 1.2
"""A memory that has grown by so much since is measured anew."""


class Statistics:
    """The average, from the cache or still to be asked for.

    `documents` is how many there were when it was taken.
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

    def take(self, answers: Sequence[Row]) -> None:
        """Take the answers to `searches` in, and keep what they say."""
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
