"""Synchronising the local file with a cluster: `store init`, `sync`, `push`, `pull` and `verify`.

Whoever moves documents holds a lock: one process at a time.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any

from core import clock, files
from core.errors import Failure
from core.process import background_jobs
from core.store import documents, events, sqlite
from core.store.layout import COLLECTIONS
from core.store.replication import comparison, outbox
from core.store.replication.exchange import PAGE, Exchange
from core.store.typesense import connection, mapping, schema
from core.store.typesense.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import apsw

    from core.config import Config
    from core.records import Event
    from core.store.replication.replica import Embed

    Progress = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]
    """Shows a step: its name and how much there is to do (None: unknown); what it yields is told how much was done."""

_LOCK_WAIT_S = 60.0
_PATIENCE = 20
"""A request that moves documents may take so many times as long as a recall's."""
_BACKGROUND_S = 10.0
_LONGEST_PAUSE_S = 60.0


class Sync:
    """One store and one cluster, while this process holds the lock (`opened`)."""

    def __init__(
        self, db: apsw.Connection, remote: Cluster, exchange: Exchange, search_text: Callable[[Event], str]
    ) -> None:
        self.db = db
        self._search_text = search_text
        self._cluster = remote
        self._exchange = exchange
        self._complete = True

    def sync(self, in_time: Callable[[], bool] = lambda: True) -> dict[str, Any]:
        """Send what waits, fetch what other machines sent, and send again what was found to be newer here.

        Returns:
            What was moved, and what still waits.
        """
        with self._outcome_noted():
            done = self._exchange.send(in_time)
            self._exchange.fetch(in_time)
            self._complete = done and in_time() and self._exchange.send(in_time)
        return self._result()

    def push(self, progress: Progress) -> dict[str, Any]:
        """Send whatever the cluster lacks or has otherwise; returns what `sync` does."""
        db = self.db
        with self._outcome_noted():
            with progress("comparing", None) as advance:
                for name in COLLECTIONS:
                    kinds, _ = comparison.collection(db, self._cluster, name, whole=True, progress=advance)
                    self._exchange.resend.update(one for one, kind in kinds.items() if kind != comparison.ONLY_THERE)
                    with sqlite.transaction(db):
                        outbox.add(db, kinds, name)
                found, first = comparison.events(db, self._cluster, progress=advance)
            if found["missingThere"]:
                with sqlite.transaction(db):
                    outbox.set_state(db, events=min(int(outbox.state(db, "events") or 0), first - 1))
            todo = outbox.waiting(db)
            with progress("sending", todo["documents"] + todo["events"]) as advance:
                self._complete = self._exchange.send(lambda: True, advance)
        return self._result()

    def pull(self, progress: Progress, *, with_events: bool, leave: bool) -> dict[str, Any]:
        """Fetch whatever the cluster has newer or alone."""
        fetched = 0
        with self._outcome_noted():
            with progress("comparing", None) as advance:
                wanted = [
                    (name, identifier)
                    for name in COLLECTIONS
                    for identifier in comparison.collection(
                        self.db, self._cluster, name, whole=False, progress=advance
                    )[0]
                ]
            with progress("fetching", len(wanted)) as advance:
                for start in range(0, len(wanted), PAGE):
                    page = wanted[start : start + PAGE]
                    for name in COLLECTIONS:
                        self._exchange.merge([identifier for of, identifier in page if of == name], name)
                    advance(len(page))
            if with_events:
                with progress("events", None) as advance:
                    rows = self._cluster.export(schema.EVENTS)
                    while block := [mapping.event_from_remote(row) for row in islice(rows, PAGE)]:
                        with sqlite.transaction(self.db):
                            fetched += sum(events.insert(self.db, one, self._search_text(one)) for one in block)
                        advance(len(block))
            if leave:
                outbox.disable(self.db)
        waiting = outbox.waiting(self.db)
        return {"received": self._exchange.received, "events": fetched, "left": leave, "waiting": waiting}

    @contextmanager
    def _outcome_noted(self) -> Iterator[None]:
        """Keeps beside the outbox how it went; a fault decides when the background tries again."""
        try:
            yield
        except Failure as failure:
            if failure.code.startswith("TYPESENSE"):
                said = f"{failure.code}: {failure.message}"
                background_jobs.postpone(background_jobs.SYNC, outbox.failed(self.db, said, now=clock.now_ms()))
            raise
        outbox.succeeded(self.db, now=clock.now_ms())
        connection.forget_fault()  # recall need not wait to find out that the cluster is back

    def _result(self) -> dict[str, Any]:
        return {
            "sent": {"documents": self._exchange.documents, "events": self._exchange.events},
            "received": self._exchange.received,
            "refused": self._exchange.refused,
            "complete": self._complete,
            "waiting": outbox.waiting(self.db),
        }


@contextmanager
def opened(
    config: Config,
    embed: Embed,
    search_text: Callable[[Event], str],
    *,
    lock_inherited: bool = False,
    enable: bool = True,
) -> Iterator[Sync]:
    """The store and the cluster under the lock."""
    limit_s = _BACKGROUND_S if lock_inherited else config.get_float("store.timeout_ms") / 1000 * _PATIENCE
    with _both(config, limit_s, durable=True) as (db, remote):
        # A pull into a home without a cluster leaves no mark of one there.
        marked = enable or outbox.enabled(db)
        lock = outbox.lock_path() if marked else os.path.join(files.home(), "cache", "store-pull.lock")
        try:
            with nullcontext() if lock_inherited else files.FileLock(lock, wait_s=_LOCK_WAIT_S):
                if enable:
                    outbox.enable(db)
                signatures = sqlite.load_vectors(db)
                if signatures:
                    with sqlite.transaction(db):
                        documents.ensure_signatures(db)
                batch = config.get_int("store.batch")
                exchange = Exchange(
                    db, remote, batch=batch, embed=embed, search_text=search_text, signatures=signatures
                )
                yield Sync(db, remote, exchange, search_text)
        except files.LockTimeout:
            raise Failure(
                "STORE_SYNC_BUSY", "another process is carrying to the cluster", "wait for it, or see `joelclaw status`"
            ) from None


@contextmanager
def _both(config: Config, limit_s: float, *, durable: bool) -> Iterator[tuple[apsw.Connection, Cluster]]:
    nodes, key = connection.nodes(config), connection.key(config)
    remote = Cluster(nodes, key, prefix=config.get_str("store.prefix"), limit_s=limit_s)
    try:
        db = sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=durable)
        try:
            yield db, remote
        finally:
            db.close()
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        remote.close()


def verify(config: Config, progress: Callable[[int], None]) -> dict[str, Any]:
    """See `comparison.verify`."""
    with _both(config, config.get_float("store.timeout_ms") / 1000 * _PATIENCE, durable=False) as (db, remote):
        return comparison.verify(db, remote, progress)


def initialise(config: Config) -> dict[str, Any]:
    """Create the cluster's collections or bring them up to date, and note what is written here from now on."""
    with _both(config, config.get_float("store.timeout_ms") / 1000 * _PATIENCE, durable=True) as (db, remote):
        done = schema.init(remote)
        connection.forget_fault()
        outbox.enable(db)
    return {
        "nodes": remote.nodes,
        "prefix": remote.prefix,
        "schema": schema.VERSION,
        "changed": any(one["created"] or one["addedFields"] for one in done),
        "collections": done,
        "backend": config.get_str("store.backend"),
    }


def in_background(config: Config, embed: Embed, search_text: Callable[[Event], str]) -> None:
    """One sync in a background process: it keeps to its time, and a failure is left to `status` to tell."""
    until = time.monotonic() + background_jobs.SYNC_BUDGET_S
    try:
        with opened(config, embed, search_text, lock_inherited=True) as work:
            again_at = outbox.next_try(work.db)
            if again_at > clock.now_ms():
                background_jobs.postpone(background_jobs.SYNC, again_at)
            else:
                work.sync(lambda: time.monotonic() < until)
    except Failure:
        pass


def watch(
    config: Config, embed: Embed, search_text: Callable[[Event], str], seconds: float
) -> Iterator[dict[str, Any]]:
    """Sync again and again, with a pause of so many seconds; yields what was moved, and each new error once."""
    error = ""
    while True:
        pause = seconds
        try:
            with opened(config, embed, search_text) as work:
                result = work.sync()
            moved = {name: result[name] for name in ("sent", "received", "refused")}
            if any(result["sent"].values()) or result["received"] or result["refused"] or error:
                yield {"ts": clock.iso(clock.now_ms()), **moved}
            error = ""
        except Failure as failure:
            if failure.message != error:
                yield {"ts": clock.iso(clock.now_ms()), "error": failure.message, "code": failure.code}
            error = failure.message
            db = sqlite.open_reading()
            wait_ms = outbox.next_try(db) - clock.now_ms() if db is not None else 0
            pause = max(seconds, min(_LONGEST_PAUSE_S, wait_ms / 1000))
        time.sleep(pause)
