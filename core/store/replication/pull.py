"""Reads documents of the cluster, and stores here those that other machines sent since the last time.

A machine's batches have rising numbers, and a batch is at most one page of an answer. So what was sent after a number
is read page by page, from the number of the last row again, and nothing that arrives in between is passed over. The
last batch that was seen is always read again, since only a part of it may have been there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.store import sqlite
from core.store.layout import COLLECTIONS
from core.store.replication import outbox, replica, sync_metadata
from core.store.sessions import segments
from core.store.typesense import mapping, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import apsw

    from core.store.replication.replica import Embed, Side
    from core.store.typesense.cluster import Cluster
    from core.store.typesense.connection import Row

PAGE = 250
"""Rows of one answer, the most that the server gives; a batch has no more."""
_MOST_MACHINES = 250


def headers(cluster: Cluster, collection: str, identifiers: Sequence[str]) -> dict[str, Side]:
    """What the cluster says of these documents, without their content; those that it does not have are left out."""
    return {
        row["id"]: sync_metadata.headers_of(row, collection) for row in _by_id(cluster, collection, identifiers, True)
    }


def whole(cluster: Cluster, collection: str, identifiers: Sequence[str]) -> dict[str, Side]:
    """These documents with their content."""
    return {
        row["id"]: sync_metadata.side_of(row, collection) for row in _by_id(cluster, collection, identifiers, False)
    }


def _by_id(cluster: Cluster, collection: str, identifiers: Sequence[str], only_headers: bool) -> Iterator[Row]:
    name = schema.COLLECTIONS[collection]
    plain = [one for one in identifiers if "`" not in one]
    for start in range(0, len(plain), PAGE):
        names = ",".join(f"`{one}`" for one in plain[start : start + PAGE])
        yield from _rows(cluster, name, f"id:[{names}]", only_headers)
    for one in identifiers:
        if "`" in one and (row := cluster.retrieve(name, one)) is not None:  # a filter cannot quote it
            yield row


def _rows(cluster: Cluster, name: str, filter_by: str, only_headers: bool, sort_by: str = "") -> list[Row]:
    asked: Row = {"q": "*", "filter_by": filter_by, "per_page": PAGE}
    asked |= (
        {"include_fields": sync_metadata.HEADERS} if only_headers else {"exclude_fields": mapping.EXCLUDED + ",vector"}
    )
    if sort_by:
        asked["sort_by"] = sort_by
    return [hit["document"] for hit in cluster.search(name, asked)["hits"]]


def machines(cluster: Cluster, collection: str) -> list[str]:
    """Every machine that sent what is in a collection now."""
    asked = {"q": "*", "per_page": 0, "facet_by": "sync_origin", "max_facet_values": _MOST_MACHINES}
    facets = cluster.search(schema.COLLECTIONS[collection], asked)["facet_counts"]
    return [count["value"] for facet in facets for count in facet["counts"]]


class Puller:
    """Stores here what other machines sent.

    Args:
        embed: the vector of a text with its context and title.
        signatures: whether sqlite-vec is loaded.
    """

    def __init__(self, db: apsw.Connection, cluster: Cluster, *, embed: Embed, signatures: bool) -> None:
        self._db = db
        self._cluster = cluster
        self._embed = embed
        self._signatures = signatures
        self._me = outbox.origin(db)

    def changes(self, in_time: Callable[[], bool]) -> int:
        """Store what came since the last time; returns how many documents changed here.

        Args:
            in_time: asked before each page; what is left waits for the next time.

        Raises:
            Failure: of the cluster or the store; what was stored stays.
        """
        changed = 0
        for collection in COLLECTIONS:
            seen = outbox.seen(self._db, collection)
            for machine in machines(self._cluster, collection):
                if machine != self._me:
                    changed += self._of_machine(collection, machine, seen.get(machine, 0), in_time)
        return changed

    def _of_machine(self, collection: str, machine: str, number: int, in_time: Callable[[], bool]) -> int:
        changed = 0
        while in_time():
            filter_by = f"sync_origin:=`{machine}` && sync_batch:>={number}"
            rows = _rows(self._cluster, schema.COLLECTIONS[collection], filter_by, True, "sync_batch:asc")
            changed += self.merge([sync_metadata.headers_of(row, collection) for row in rows], collection)
            last = max((int(row["sync_batch"]) for row in rows), default=number)
            following = last + 1 if len(rows) == PAGE and last == number else last
            with sqlite.transaction(self._db):
                outbox.set_seen(self._db, collection, machine, following)
            if len(rows) < PAGE:
                break
            number = following
        return changed

    def merge(self, sides: Sequence[Side], collection: str) -> int:
        """Merge what the cluster says of documents (headers will do) into the local file; returns how many changed.

        What the local file knows better is queued.
        """
        return self.merge_ids([side.id for side in sides if self._differs(side)], collection)

    def merge_ids(self, identifiers: Sequence[str], collection: str) -> int:
        """The same for documents by their ids, whatever the cluster says of them."""
        if not identifiers:
            return 0
        theirs = whole(self._cluster, collection, identifiers)
        changed = 0
        with sqlite.transaction(self._db):
            back: list[tuple[str, str]] = []
            with outbox.quiet(self._db):
                for side in theirs.values():
                    done, better = self._merge_one(side)
                    changed += done
                    if better:
                        back.append((side.id, collection))
            if back and outbox.enabled(self._db):
                outbox.add(self._db, back)
        if changed and collection == "episodes":
            segments.catch_up(self._db)
        return changed

    def _differs(self, side: Side) -> bool:
        ours = replica.here(self._db, side.id, side.collection)
        if ours is None:
            return side.content != replica.GONE and side.forgotten_at is None
        return not (ours.same_content(side) and ours.same_counters(side))

    def _merge_one(self, theirs: Side) -> tuple[bool, bool]:
        """Whether something changed here, and whether the cluster is behind."""
        ours = replica.here(self._db, theirs.id, theirs.collection)
        one = theirs if ours is None else replica.merged(ours, theirs, self._me)
        behind = not (one.same_content(theirs) and one.same_counters(theirs))
        if ours is not None and one.same_content(ours) and one.same_counters(ours):
            return False, behind
        cleaned = replica.apply(self._db, one, ours, embed=self._embed, signatures=self._signatures)
        return True, behind or cleaned
