"""Moves documents between the local file and the cluster, batch by batch: what waits goes, what others sent comes.

The server knows no conditional write. So each batch is compared first: what the cluster holds in a newer version is
stored here instead of overwritten, and what it holds already is not sent. Where two machines write the same document at
the same moment, whoever fetches the other's row and knows better sends again.

A machine's batches have rising numbers, and a batch is at most one page of an answer. So what was sent after a number
is read page by page, from the number of the last row again, and nothing that arrives in between is passed over. The
last batch that was seen is always read again, since only a part of it may have been there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core import clock
from core.errors import Failure
from core.store import events, sqlite
from core.store.layout import COLLECTIONS
from core.store.replication import outbox, replica
from core.store.sessions import segments
from core.store.typesense import connection, mapping, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import apsw

    from core.records import Event
    from core.store.replication.outbox import Waiting
    from core.store.replication.replica import Embed, Side
    from core.store.typesense.cluster import Cluster
    from core.store.typesense.connection import Row

PAGE = 250
"""Rows of one answer, the most that the server gives; a batch has no more."""
_CLIENTS_FAULT = range(400, 500)
_NOT_OF_THE_DOCUMENT = (401, 403, 408, 422, 429)
"""422 is what the server says when its disk or memory is short."""


class Exchange:
    """One run; the caller holds `outbox.lock_path()`."""

    def __init__(
        self,
        db: apsw.Connection,
        cluster: Cluster,
        *,
        batch: int,
        embed: Embed,
        search_text: Callable[[Event], str],
        signatures: bool,
    ) -> None:
        self._db = db
        self._cluster = cluster
        self._batch = min(batch, PAGE)
        self._embed = embed
        self._search_text = search_text
        self._signatures = signatures
        self._me = str(outbox.state(db, "origin") or "")
        self.resend: set[str] = set()
        """Ids that are sent even where the cluster says that it has them: what it says of them was found untrue."""
        self.documents = 0
        """How many were sent."""
        self.events = 0
        self.refused = 0
        self.received = 0

    def send(self, in_time: Callable[[], bool], progress: Callable[[int], None] = lambda _: None) -> bool:
        """Send everything that waits; whether nothing is left."""
        while batch := outbox.next_batch(self._db, now=clock.now_ms(), limit=self._batch):
            if not in_time():
                return False
            for collection in dict.fromkeys(waiting["collection"] for waiting in batch):
                self._send([waiting for waiting in batch if waiting["collection"] == collection], collection)
            progress(len(batch))
        return self._send_events(in_time, progress)

    def fetch(self, in_time: Callable[[], bool]) -> None:
        """Store what other machines sent since the last time."""
        for collection in COLLECTIONS:
            seen = outbox.seen(self._db, collection)
            for machine in self._cluster.values(schema.COLLECTIONS[collection], "sync_origin"):
                if machine != self._me:
                    self._fetch_from(machine, collection, seen.get(machine, 0), in_time)

    def merge(self, identifiers: Sequence[str], collection: str) -> int:
        """Merge documents of the cluster into the local file; returns how many changed.

        What the local file knows better is queued.
        """
        if not identifiers:
            return 0
        rows = list(self._by_id(collection, identifiers, {"exclude_fields": mapping.SEARCHED}))
        changed = 0
        with sqlite.transaction(self._db):
            back: list[str] = []
            with outbox.quiet(self._db):
                for row in rows:
                    theirs = replica.of_row(row, collection)
                    ours = replica.here(self._db, theirs.id, collection)
                    one = theirs if ours is None else replica.merged(self._db, ours, theirs)
                    behind = not one.same(theirs)
                    if ours is None or not one.same(ours):
                        behind |= replica.apply(self._db, one, ours, embed=self._embed, signatures=self._signatures)
                        changed += 1
                    if behind:
                        back.append(theirs.id)
            if outbox.enabled(self._db):
                outbox.add(self._db, back, collection)
        if changed and collection == "episodes":
            segments.catch_up(self._db)
        self.received += changed
        return changed

    def _send(self, batch: list[Waiting], collection: str) -> None:
        rows = self._by_id(collection, [waiting["id"] for waiting in batch], {"include_fields": replica.HEADERS})
        theirs = {str(row["id"]): replica.of_headers(row, collection) for row in rows}
        newer = []
        for side in theirs.values():
            ours = replica.here(self._db, side.id, collection)
            if ours is not None and not replica.merged(self._db, ours, side).same(ours):
                newer.append(side.id)
        self.merge(newer, collection)
        news: list[tuple[Waiting, Side]] = []
        known: list[Waiting] = []
        for waiting in batch:
            one, there = replica.here(self._db, waiting["id"], collection), theirs.get(waiting["id"])
            if one is not None and there is not None:
                one = replica.merged(self._db, one, there)
            if one is None or (there is not None and one.same(there) and one.id not in self.resend):
                known.append(waiting)
            else:
                news.append((waiting, one))
        with sqlite.transaction(self._db):
            outbox.confirm(self._db, known)
        if news:
            self._import(collection, news)

    def _import(self, collection: str, news: Sequence[tuple[Waiting, Side]]) -> None:
        number = outbox.next_number(self._db)
        vectors = mapping.vectors(self._db, [side.document["rowid"] for _, side in news if side.document is not None])
        rows = [
            replica.to_row(
                side, vectors.get(side.document["rowid"], b"") if side.document is not None else b"", self._me, number
            )
            for _, side in news
        ]
        results = self._cluster.import_(schema.COLLECTIONS[collection], rows)
        trouble = ""
        with sqlite.transaction(self._db):
            for (waiting, _), result in zip(news, results, strict=True):
                if result.get("success") is True:
                    outbox.confirm(self._db, [waiting])
                    self.documents += 1
                elif _is_refusal(result):
                    outbox.refuse(self._db, waiting, str(result.get("error", "")), now=clock.now_ms())
                    self.refused += 1
                else:
                    trouble = trouble or str(result.get("error", "")) or "it says no reason"
        if trouble:
            raise _not_taken(trouble)

    def _send_events(self, in_time: Callable[[], bool], progress: Callable[[int], None]) -> bool:
        while found := events.after(self._db, int(outbox.state(self._db, "events") or 0), self._batch):
            if not in_time():
                return False
            rows = [mapping.event_to_remote(event, self._search_text(event)) for _, event in found]
            results = self._cluster.import_(schema.EVENTS, rows)
            handled = 0
            for result in results:
                if result.get("success") is True:
                    self.events += 1
                elif _is_refusal(result):
                    self.refused += 1
                else:
                    break
                handled += 1
            if handled:
                with sqlite.transaction(self._db):
                    outbox.set_state(self._db, events=found[handled - 1][0])
            progress(handled)
            if handled < len(found):
                raise _not_taken(str(results[handled].get("error", "")))
        return True

    def _fetch_from(self, machine: str, collection: str, number: int, in_time: Callable[[], bool]) -> None:
        while in_time():
            asked = {
                "filter_by": f"sync_origin:=`{machine}` && sync_batch:>={number}",
                "sort_by": "sync_batch:asc",
                "include_fields": replica.HEADERS,
            }
            rows = self._rows(collection, asked)
            differing = []
            for row in rows:
                side = replica.of_headers(row, collection)
                ours = replica.here(self._db, side.id, collection)
                if not side.dead if ours is None else not ours.same(side):
                    differing.append(side.id)
            self.merge(differing, collection)
            last = max((int(row["sync_batch"]) for row in rows), default=number)
            number = last + 1 if len(rows) == PAGE and last == number else last
            outbox.set_seen(self._db, collection, machine, number)
            if len(rows) < PAGE:
                break

    def _by_id(self, collection: str, identifiers: Sequence[str], fields: Row) -> Iterator[Row]:
        plain = [one for one in identifiers if "`" not in one]
        for start in range(0, len(plain), PAGE):
            names = ",".join(f"`{one}`" for one in plain[start : start + PAGE])
            yield from self._rows(collection, {**fields, "filter_by": f"id:[{names}]"})
        for one in identifiers:  # a filter cannot quote it
            if "`" in one and (row := self._cluster.retrieve(schema.COLLECTIONS[collection], one)) is not None:
                yield row

    def _rows(self, collection: str, asked: Row) -> list[Row]:
        answer = self._cluster.search(schema.COLLECTIONS[collection], {"q": "*", "per_page": PAGE, **asked})
        return [hit["document"] for hit in answer["hits"]]


def _is_refusal(result: Row) -> bool:
    """Whether the server will never take this one as it is."""
    code = int(result.get("code", 500))
    return code in _CLIENTS_FAULT and code not in _NOT_OF_THE_DOCUMENT


def _not_taken(reason: str) -> Failure:
    return Failure(
        connection.REFUSED,
        f"the cluster did not take everything: {' '.join(reason.split())[:200]}",
        "see to its disk and memory; what it did not take is kept and sent again",
    )
