"""Synchronising the local file with a cluster: `store sync`, `push` and `pull`, one process at a time under a lock."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from core import clock, files
from core.errors import Failure
from core.process import background_jobs
from core.store import documents, events, sqlite
from core.store.layout import COLLECTIONS
from core.store.replication import comparison, outbox, status
from core.store.replication.pull import PAGE, Puller
from core.store.replication.push import Pusher
from core.store.typesense import circuit_breaker, cluster, mapping, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import apsw

    from core.config import Config
    from core.records import Event
    from core.store.replication.replica import Embed
    from core.store.typesense.cluster import Cluster

    Progress = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]
    """Shows a step: its name and how much there is to do (None: unknown); what it yields is told how much was done."""

_LOCK_WAIT_S = 60.0
_PATIENCE = 20
"""A request that moves documents may take so many times as long as a recall's."""
_BACKGROUND_S = 10.0
_LONGEST_PAUSE_S = 60.0


class Adapters(NamedTuple):
    """What a sync needs of the rooms above."""

    embed: Embed
    """The vector of a text with its context and title."""
    search_text: Callable[[Event], str]
    """The words by which an event is found."""


class Sync:
    """One store and one cluster, while this process holds the lock (`opened`)."""

    def __init__(self, config: Config, db: apsw.Connection, remote: Cluster, adapters: Adapters) -> None:
        self._db = db
        self._cluster = remote
        self._search_text = adapters.search_text
        self._puller = Puller(db, remote, embed=adapters.embed, signatures=_signatures(db))
        self._pusher = Pusher(
            db, remote, self._puller, batch=config.whole("store.batch"), search_text=adapters.search_text
        )
        self._received = 0
        self._complete = True

    def sync(self, in_time: Callable[[], bool] = lambda: True) -> dict[str, Any]:
        """Send what waits, fetch what other machines sent, and send again what was found to be newer here.

        Args:
            in_time: asked before each batch; what is left waits for the next time.

        Returns:
            What was moved, and what still waits.
        """
        with self._outcome_noted():
            done = self._pusher.run(in_time)
            self._received += self._puller.changes(in_time)
            self._complete = done and in_time() and self._pusher.run(in_time)
        return self._result()

    def push(self, progress: Progress) -> dict[str, Any]:
        """Send whatever the cluster lacks or has otherwise; returns what `sync` does."""
        with self._outcome_noted():
            db = self._db
            with progress("comparing", None) as advance:
                for name in COLLECTIONS:
                    found = comparison.collection(db, self._cluster, name, whole=True, progress=advance)
                    self._pusher.resend.update(one.id for one in found.differences if one.kind != comparison.ONLY_THERE)
                    with sqlite.transaction(db):
                        outbox.add(db, [(one.id, name) for one in found.differences])
                found_events = comparison.events(db, self._cluster, progress=advance)
            if found_events.missing:
                with sqlite.transaction(db):
                    outbox.set_state(db, events=min(int(outbox.state(db, "events") or 0), found_events.first - 1))
            todo = outbox.summary(db, now=clock.now_ms())
            with progress("sending", todo["documents"] + todo["events"]) as advance:
                self._complete = self._pusher.run(lambda: True, advance)
        return self._result()

    def pull(self, progress: Progress, *, with_events: bool, leave: bool) -> dict[str, Any]:
        """Fetch whatever the cluster has newer or alone.

        Args:
            with_events: every machine's events too.
            leave: afterwards note nothing for the cluster any more.

        Returns:
            What was fetched, and what still waits.
        """
        fetched = 0
        with self._outcome_noted():
            with progress("comparing", None) as advance:
                wanted = {
                    name: comparison.collection(
                        self._db, self._cluster, name, whole=False, progress=advance
                    ).differences
                    for name in COLLECTIONS
                }
            with progress("fetching", sum(map(len, wanted.values()))) as advance:
                for name, differences in wanted.items():
                    for start in range(0, len(differences), PAGE):
                        page = [one.id for one in differences[start : start + PAGE]]
                        self._received += self._puller.merge_ids(page, name)
                        advance(len(page))
            if with_events:
                fetched = self._pull_events(progress)
            if leave:
                outbox.disable(self._db)
        return {"received": self._received, "events": fetched, "left": leave, "waiting": status.waiting(self._db)}

    def next_try(self) -> int | None:
        """When it makes sense to try again after a failure (ms since the epoch)."""
        return outbox.summary(self._db, now=clock.now_ms())["next_try"]

    def _pull_events(self, progress: Progress) -> int:
        """Store every event that the cluster has and the local file has not; returns how many."""
        new = 0
        with progress("events", None) as advance:
            block: list[Event] = []
            for row in self._cluster.export(schema.EVENTS):
                block.append(mapping.event_from_remote(row))
                if len(block) == PAGE:
                    new += self._store_events(block)
                    advance(len(block))
                    block = []
            new += self._store_events(block)
        return new

    def _store_events(self, block: list[Event]) -> int:
        with sqlite.transaction(self._db):
            return sum(events.insert(self._db, event, self._search_text(event)) for event in block)

    @contextmanager
    def _outcome_noted(self) -> Iterator[None]:
        """Keeps beside the outbox how it went; a fault decides when the background tries again."""
        try:
            yield
        except Failure as failure:
            if failure.code.startswith("TYPESENSE"):
                now = clock.now_ms()
                background_jobs.postpone_sync(outbox.failed(self._db, f"{failure.code}: {failure.message}", now=now))
            raise
        outbox.succeeded(self._db, now=clock.now_ms())
        circuit_breaker.clear()  # recall need not wait to find out that the cluster is back

    def _result(self) -> dict[str, Any]:
        return {
            "sent": {"documents": self._pusher.documents, "events": self._pusher.events},
            "received": self._received,
            "refused": self._pusher.refused,
            "complete": self._complete,
            "waiting": status.waiting(self._db),
        }


@contextmanager
def opened(config: Config, adapters: Adapters, *, lock_inherited: bool = False, enable: bool = True) -> Iterator[Sync]:
    """The store and the cluster under the lock.

    Args:
        lock_inherited: this is a background process, which holds the lock already.
        enable: note from now on what is written here.

    Raises:
        Failure: STORE_SYNC_BUSY; what the cluster or the store says. Nothing is lost.
    """
    limit_s = _BACKGROUND_S if lock_inherited else config.number("store.timeout_ms") / 1000 * _PATIENCE
    remote = cluster.connect(config, limit_s=limit_s)
    db = sqlite.open_writing(busy_ms=config.whole("store.busy_ms"), durable=True)
    try:
        with nullcontext() if lock_inherited else files.FileLock(_lock(db, enable), wait_s=_LOCK_WAIT_S):
            if enable:
                outbox.enable(db)
            yield Sync(config, db, remote, adapters)
    except files.LockTimeout:
        raise Failure(
            "STORE_SYNC_BUSY", "another process is carrying to the cluster", "wait for it, or see `joelclaw status`"
        ) from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        remote.close()
        db.close()


def initialise(config: Config) -> dict[str, Any]:
    """Create the cluster's collections or bring them up to date, and note what is written here from now on.

    Raises:
        Failure: TYPESENSE_API_KEY_MISSING, TYPESENSE_UNREACHABLE, TYPESENSE_UNAUTHORIZED, TYPESENSE_SCHEMA_TOO_NEW,
            TYPESENSE_SCHEMA_FOREIGN, TYPESENSE_REFUSED.
    """
    remote = cluster.connect(config)
    try:
        done = schema.init(remote)
    finally:
        remote.close()
    circuit_breaker.clear()
    db = sqlite.open_writing(busy_ms=config.whole("store.busy_ms"), durable=True)
    outbox.enable(db)
    db.close()
    return {
        "nodes": remote.nodes.urls,
        "prefix": remote.prefix,
        "schema": schema.VERSION,
        "changed": any(one["created"] or one["addedFields"] for one in done),
        "collections": done,
        "backend": config.text("store.backend"),
    }


def in_background(config: Config, adapters: Adapters) -> None:
    """One sync in a background process: it keeps to its time, and a failure is left to `status` to tell."""
    until = time.monotonic() + background_jobs.SYNC_BUDGET_S
    try:
        with opened(config, adapters, lock_inherited=True) as work:
            next_try = work.next_try()
            if next_try is not None and next_try > clock.now_ms():
                background_jobs.postpone_sync(next_try)
            else:
                work.sync(lambda: time.monotonic() < until)
    except Failure:
        pass


def watch(config: Config, adapters: Adapters, seconds: float) -> Iterator[dict[str, Any]]:
    """Sync again and again, with a pause of so many seconds; yields what was moved, and each new error once."""
    error = ""
    while True:
        pause = seconds
        try:
            with opened(config, adapters) as work:
                result = work.sync()
            moved = {name: result[name] for name in ("sent", "received", "refused")}
            if any(result["sent"].values()) or result["received"] or result["refused"] or error:
                yield {"ts": clock.iso(clock.now_ms()), **moved}
            error = ""
        except Failure as failure:
            if failure.message != error:
                yield {"ts": clock.iso(clock.now_ms()), "error": failure.message, "code": failure.code}
            error = failure.message
            pause = max(seconds, _pause())
        time.sleep(pause)


def _pause() -> float:
    """Seconds until the outbox says that another try makes sense."""
    db = sqlite.open_reading()
    next_try = outbox.summary(db, now=clock.now_ms())["next_try"] if db is not None else None
    return min(_LONGEST_PAUSE_S, max(0.0, ((next_try or 0) - clock.now_ms()) / 1000))


def _lock(db: apsw.Connection, enable: bool) -> str:
    """Which lock is to be held: a pull into a home without a cluster leaves no mark of one there."""
    if enable or outbox.enabled(db):
        return outbox.lock_path()
    return os.path.join(files.home(), "cache", "store-pull.lock")


def _signatures(db: apsw.Connection) -> bool:
    """Whether sqlite-vec is there; the table of signatures is made where the store has none."""
    if not sqlite.load_vectors(db):
        return False
    with sqlite.transaction(db):
        documents.ensure_signatures(db)
    return True
