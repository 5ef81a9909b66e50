"""Recall's candidates from the cluster, with the raw scores that the local file would give them."""

from __future__ import annotations

import time

from core.store.layout import COLLECTION_SHIFT
from core.store.layout import COLLECTIONS as CODES
from core.store.replication.pending import Cosine, Pending
from core.store.typesense import lexicon, mapping
from core.store.typesense.bm25 import AFFORDABLE, ENOUGH, Bm25, by_rarity, selective
from core.store.typesense.plan import Plan, by_ids
from core.store.typesense.schema import COLLECTIONS
from core.store.typesense.statistics import Frequencies, Statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import apsw

    from core.records import Candidate, Document, Filters, Traits
    from core.store.typesense.connection import Row
    from core.store.typesense.search_client import SearchClient

_MOST_TERMS = 24
"""Each is a search of its own in every collection: of a longer query the first and the last."""


_COUNTED_AT_ONCE = 2
"""Terms of one request: a common one takes the server up to 80 ms in a memory of a million."""


class ClusterSource:
    """Candidates from a cluster, for one recall. Row numbers are of this object only: the cluster has ids.

    Args:
        limit_s: seconds that all its requests may take together.
        local: the local file, which has what the cluster has not got yet.

    Its methods raise Failure as `SearchClient`.
    """

    backend = "typesense"
    __slots__ = ("_average", "_client", "_counts", "_pending", "_rows", "_size", "_until")

    def __init__(self, client: SearchClient, *, limit_s: float, local: apsw.Connection | None = None) -> None:
        self._client = client
        self._pending = Pending(local)
        self._until = time.monotonic() + limit_s
        self._rows: dict[int, tuple[str, Row]] = {}
        self._size = -1
        self._average = 0.0
        self._counts: Mapping[str, int] = {}

    @property
    def semantic(self) -> bool:
        """See `core.records.CandidateSource`."""
        return True

    def candidates(
        self, terms: Sequence[str], vector: bytes, filters: Filters, lexical: int, semantic: int
    ) -> list[Candidate]:
        """See `core.records.CandidateSource`.

        One request; of a large memory one more for the frequencies of terms that are not known to be common.
        """
        keys = [key for key in (" ".join(lexicon.terms(term)) for term in _few(terms)) if key]
        whole = Statistics.load(self._client)
        if not whole.known:
            whole.read(self._asked(whole.searches()))
        counts = self._frequencies(whole, keys) if whole.documents > AFFORDABLE else None
        plan = Plan(keys, vector, filters, lexical, semantic, counts=counts, documents=whole.documents)
        plan.read(self._asked(plan.searches()))
        if plan.together and plan.matched < ENOUGH:
            keys = by_rarity(keys, plan.counts)[:1]
            rarest = Plan(keys, b"", filters, lexical, semantic, counts=plan.counts, documents=whole.documents)
            rarest.read(self._asked(rarest.searches()))
            plan.add(rarest)
        if len(plan.sizes) == len(CODES):
            self._size = sum(plan.sizes.values())
            if whole.outgrown(self._size):
                whole.forget()
        else:
            self._size = whole.documents
        bm25 = Bm25(keys, plan.counts, documents=self._size, average=whole.average)
        near = Cosine(vector) if vector else None
        self._pending.overlay(plan, filters, near)
        self._counts, self._average = plan.counts, whole.average
        return self._scored(plan, bm25, near, lexical, semantic)

    def _frequencies(self, whole: Statistics, keys: Sequence[str]) -> dict[str, int]:
        frequencies = Frequencies(whole.name, whole.documents)
        missing = frequencies.missing(keys)
        for start in range(0, len(missing), _COUNTED_AT_ONCE):  # what came before the time was over is kept
            some = missing[start : start + _COUNTED_AT_ONCE]
            frequencies.read(some, self._asked(frequencies.searches(some)))
        return frequencies.counts

    def around(self, *_: object) -> dict[int, tuple[float, float]]:
        """None: a cluster keeps no segments."""
        return {}

    def weights(self, rowids: Sequence[int], terms: Sequence[str]) -> dict[str, dict[int, float]]:
        """See `core.records.CandidateSource`; no request."""
        keys = {term: " ".join(lexicon.terms(term)) for term in _few(terms)}
        chosen, _ = selective([key for key in keys.values() if key], self._counts, self._size)
        found: dict[str, dict[int, float]] = {}
        for term, key in keys.items():
            if key not in chosen:
                continue
            bm25 = Bm25([key], self._counts, documents=self._size, average=self._average)
            for rowid in rowids:
                row = self._rows[rowid][1]
                weight = bm25.of(row.get("lexicon", ""), row.get("lexicon_context", ""))
                if weight > 0:
                    found.setdefault(term, {})[rowid] = weight
        return found

    def absent(self, terms: Sequence[str]) -> float:
        """See `core.records.CandidateSource`; of the terms that were searched for."""
        keys = [" ".join(lexicon.terms(term)) for term in terms if " " not in term]
        counts = [self._counts[key] for key in keys if key in self._counts]
        return sum(not count for count in counts) / len(counts) if counts else 0.0

    def segments(self) -> int:
        """None."""
        return 0

    def size(self) -> int:
        """See `core.records.CandidateSource`."""
        if self._size < 0:
            answers = self._asked([{"collection": name, "q": "*", "per_page": 0} for name in COLLECTIONS.values()])
            self._size = sum(int(answer["out_of"]) for answer in answers)
        return self._size

    def documents(self, rowids: Sequence[int]) -> list[Document]:
        """See `core.records.CandidateSource`; one request."""
        wanted: dict[str, list[str]] = {}
        found: dict[tuple[str, str], Document] = {}
        for rowid in rowids:
            collection, row = self._rows[rowid]
            own = self._pending.document(collection, row["id"])
            if own is not None:
                found[(collection, row["id"])] = own
            elif "`" in row["id"]:  # which no filter can name
                whole = self._client.retrieve(COLLECTIONS[collection], row["id"])
                found |= {(collection, row["id"]): mapping.from_remote(whole, collection)} if whole else {}
            else:
                wanted.setdefault(collection, []).append(row["id"])
        searches = [
            {
                "collection": COLLECTIONS[collection],
                "q": "*",
                "filter_by": by_ids(identifiers),
                "per_page": min(len(identifiers), 250),
                "exclude_fields": mapping.EXCLUDED + ",vector",
            }
            for collection, identifiers in wanted.items()
        ]
        for collection, answer in zip(wanted, self._asked(searches), strict=True):
            for hit in answer["hits"]:
                document = mapping.from_remote(hit["document"], collection)
                found[(collection, document["id"])] = document
        documents = []
        for rowid in rowids:
            collection, row = self._rows[rowid]
            brought = found.get((collection, row["id"]))
            if brought is not None and brought["forgotten_at"] is None:  # it may have been forgotten meanwhile
                brought["rowid"] = rowid
                documents.append(brought)
        return documents

    def traits(self, rowids: Sequence[int]) -> list[Traits]:
        """See `core.records.CandidateSource`; no request."""
        return [self._traits(rowid) for rowid in rowids]

    def _asked(self, searches: Sequence[Row]) -> list[Row]:
        if not searches:
            return []
        self._client.within(max(self._until - time.monotonic(), 0.001))
        return self._client.multi_search(searches)

    def _scored(self, plan: Plan, bm25: Bm25, near: Cosine | None, lexical: int, semantic: int) -> list[Candidate]:
        """The best of each kind, numbered in the order in which they were written."""
        scores: dict[tuple[str, str], float] = {}
        for collection, rows in plan.found.items():
            for identifier, row in rows.items():
                score = bm25.of(row.get("lexicon", ""), row.get("lexicon_context", ""))
                scores[(collection, identifier)] = score
        best = sorted((key for key, score in scores.items() if score > 0), key=lambda key: -scores[key])
        kept = dict.fromkeys(best if bm25.small else best[:lexical])
        plan.distances.sort()
        for _, collection, identifier in plan.distances[:semantic]:
            kept.setdefault((collection, identifier))
        ordered = sorted(kept, key=lambda key: (CODES[key[0]], int(plan.found[key[0]][key[1]]["timestamp"]), key[1]))
        found: list[Candidate] = []
        for number, (collection, identifier) in enumerate(ordered, 1):
            row = plan.found[collection][identifier]
            rowid = (CODES[collection] << COLLECTION_SHIFT) + number
            self._rows[rowid] = (collection, row)
            cosine = near.of(mapping.vector_of(row)) if near else None
            found.append({"rowid": rowid, "bm25": scores[(collection, identifier)], "cosine": cosine})
        return found

    def _traits(self, rowid: int) -> Traits:
        collection, row = self._rows[rowid]
        return {
            "rowid": rowid,
            "collection": collection,
            "chars": int(row.get("chars", 0)),
            "confirmed_at": max(int(row["timestamp"]), int(row.get("updated_at", 0))),
            "recall_count": int(row.get("recall_count", 0)),
            "retrieval_priority": float(row.get("retrieval_priority", 0.0)),
            "write_verdict": str(row.get("write_verdict", "allow")),
            "stale": bool(row.get("stale")) or "stale" in row.get("tags", ()),
            "pinned": "pinned" in row.get("tags", ()),
            "superseded_by": str(row.get("superseded_by", "")),
            "project": str(row.get("project", "")),
            "session": str(row.get("session_id", "")),
        }


def _few(terms: Sequence[str]) -> Sequence[str]:
    if len(terms) <= _MOST_TERMS:
        return terms
    half = _MOST_TERMS // 2
    return [*terms[:half], *terms[-half:]]
