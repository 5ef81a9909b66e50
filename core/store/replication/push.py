"""Sends what waits in the outbox to the cluster, batch by batch, and looks at each line of the answer.

The server knows no conditional write. So each batch is compared first: what the cluster holds in a newer version is
stored here instead of overwritten, and what it holds already is not sent. Where two machines write the same document at
the same moment, whoever fetches the other's row and knows better sends again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core import clock
from core.errors import Failure
from core.store import events, sqlite
from core.store.replication import outbox, replica, sync_metadata
from core.store.replication.pull import PAGE, headers
from core.store.typesense import connection, mapping, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from core.records import Event
    from core.store.replication.outbox import Waiting
    from core.store.replication.pull import Puller
    from core.store.replication.replica import Side
    from core.store.typesense.cluster import Cluster
    from core.store.typesense.connection import Row

_CLIENTS_FAULT = range(400, 500)
_FULL = 422
"""What the server says when its disk or memory is short: no fault of the document."""


class Pusher:
    """One run of the sender; the caller holds `outbox.lock_path()`.

    Args:
        puller: stores here a newer version that a batch meets.
        batch: documents of one request, 250 at most.
        search_text: the words by which an event is found.
    """

    def __init__(
        self,
        db: apsw.Connection,
        cluster: Cluster,
        puller: Puller,
        *,
        batch: int,
        search_text: Callable[[Event], str],
    ) -> None:
        self._db = db
        self._cluster = cluster
        self._puller = puller
        self._batch = min(batch, PAGE)
        self._search_text = search_text
        self._me = outbox.origin(db)
        self.resend: set[str] = set()
        """Ids that are sent even where the cluster says that it has them: what it says of them was found untrue."""
        self.documents = 0
        """How many were sent."""
        self.events = 0
        self.refused = 0

    def run(self, in_time: Callable[[], bool], progress: Callable[[int], None] = lambda _: None) -> bool:
        """Send everything that waits; whether nothing is left.

        Args:
            in_time: asked before each batch.
            progress: told how many documents and events were dealt with.

        Raises:
            Failure: the cluster cannot be reached, refuses, or the store cannot be written; nothing is lost.
        """
        return self._documents(in_time, progress) and self._events(in_time, progress)

    def _documents(self, in_time: Callable[[], bool], progress: Callable[[int], None]) -> bool:
        while batch := outbox.next_batch(self._db, now=clock.now_ms(), limit=self._batch):
            if not in_time():
                return False
            for collection in dict.fromkeys(waiting["collection"] for waiting in batch):
                self._send(collection, [waiting for waiting in batch if waiting["collection"] == collection])
            progress(len(batch))
        return True

    def _send(self, collection: str, batch: list[Waiting]) -> None:
        theirs = headers(self._cluster, collection, [waiting["id"] for waiting in batch])
        self._puller.merge([side for side in theirs.values() if self._newer(side)], collection)
        news: list[tuple[Waiting, Side]] = []
        known: list[Waiting] = []
        for waiting in batch:
            side = self._to_send(waiting, theirs.get(waiting["id"]))
            if side is None:
                known.append(waiting)
            else:
                news.append((waiting, side))
        if known:
            with sqlite.transaction(self._db):
                outbox.confirm(self._db, known, now=clock.now_ms())
                for waiting in known:
                    outbox.set_shares(
                        self._db, waiting["id"], replica.met(outbox.shares(self._db, waiting["id"]), self._me)
                    )
        if news:
            self._import(collection, news)

    def _newer(self, theirs: Side) -> bool:
        """Whether the cluster knows something that the local file does not."""
        ours = replica.here(self._db, theirs.id, theirs.collection)
        if ours is None:
            return False
        one = replica.merged(ours, theirs, self._me)
        return not (one.same_content(ours) and one.same_counters(ours))

    def _to_send(self, waiting: Waiting, theirs: Side | None) -> Side | None:
        """What is to be sent of a document, None where the cluster has it."""
        ours = replica.here(self._db, waiting["id"], waiting["collection"])
        if ours is None:
            return None
        if theirs is None:
            return ours
        one = replica.merged(ours, theirs, self._me)
        known = waiting["id"] not in self.resend and one.same_content(theirs) and one.same_counters(theirs)
        return None if known else one

    def _import(self, collection: str, news: Sequence[tuple[Waiting, Side]]) -> None:
        batch = [waiting for waiting, _ in news]
        number = outbox.mark_sent(self._db, batch, now=clock.now_ms())
        rowids = [side.document["rowid"] for _, side in news if side.document is not None]
        vectors = mapping.vectors(self._db, rowids)
        rows = [
            sync_metadata.row_of(
                side, vectors.get(side.document["rowid"], b"") if side.document else b"", self._me, number
            )
            for _, side in news
        ]
        try:
            results = self._cluster.import_(schema.COLLECTIONS[collection], rows)
        except Failure as failure:
            if failure.code != connection.UNREACHABLE:  # it answered, so it has taken nothing
                with sqlite.transaction(self._db):
                    outbox.give_back(self._db, batch)
            raise
        trouble = ""
        with sqlite.transaction(self._db):
            for (waiting, side), result in zip(news, results, strict=True):
                if result.get("success") is True:
                    outbox.confirm(self._db, [waiting], now=clock.now_ms())
                    outbox.set_shares(self._db, side.id, replica.met(side.shares, self._me))
                    self.documents += 1
                elif _is_refusal(result):
                    outbox.refuse(self._db, waiting, str(result.get("error", "")), now=clock.now_ms())
                    self.refused += 1
                else:
                    outbox.give_back(self._db, [waiting])
                    trouble = trouble or str(result.get("error", "")) or "it says no reason"
        if trouble:
            raise _not_taken(trouble)

    def _events(self, in_time: Callable[[], bool], progress: Callable[[int], None]) -> bool:
        while found := events.after(self._db, int(outbox.state(self._db, "events") or 0), self._batch):
            if not in_time():
                return False
            rows = [mapping.event_to_remote(event, self._search_text(event)) for _, event in found]
            results = self._cluster.import_(schema.EVENTS, rows)
            handled = _handled(results)
            self.refused += sum(result.get("success") is not True for result in results[:handled])
            self.events += sum(result.get("success") is True for result in results[:handled])
            if handled:
                with sqlite.transaction(self._db):
                    outbox.set_state(self._db, events=found[handled - 1][0])
            progress(handled)
            if handled < len(found):
                raise _not_taken(str(results[handled].get("error", "")))
        return True


def _is_refusal(result: Row) -> bool:
    code = int(result.get("code", 500))
    return code in _CLIENTS_FAULT and code not in (401, 403, 408, 429, _FULL)


def _handled(results: Sequence[Row]) -> int:
    """How many lines, from the first, are dealt with: stored, or such as never will be."""
    for place, result in enumerate(results):
        if result.get("success") is not True and not _is_refusal(result):
            return place
    return len(results)


def _not_taken(reason: str) -> Failure:
    return Failure(
        connection.REFUSED,
        f"the cluster did not take everything: {' '.join(reason.split())[:200]}",
        "see to its disk and memory; what it did not take is kept and sent again",
    )
