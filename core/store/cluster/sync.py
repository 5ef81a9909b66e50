"""The local file and a cluster: `store init`, `sync`, `push`, `pull` and `verify`."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any

import apsw

from core import clock, files
from core.config import Config
from core.errors import Failure
from core.process import background_jobs
from core.records import Event
from core.store import curation, events, sqlite
from core.store.cluster import client, exchange, mapping, outbox
from core.store.cluster.client import PAGE
from core.store.cluster.collections import VERSION, Cluster
from core.store.cluster.exchange import Embed, Exchange
from core.store.cluster.mapping import COLLECTIONS, EVENTS

Advance = Callable[[int], None]
"""Called with the number of documents compared or moved since the last call."""
_LOCK_WAIT_S = 60.0
_PATIENCE = 20
"""The time limit of a request that moves documents, in recalls' limits."""
_BACKGROUND_S = 10.0
_ONLY_HERE, _ONLY_THERE, _CONTENT, _COUNTERS = "only here", "only there", "content", "counters"
_MOST_LISTED = 100


def sync(work: Exchange, in_time: Callable[[], bool] = lambda: True) -> dict[str, Any]:
    """Send what waits, fetch what other machines sent, send what was found to be newer here; what was moved."""
    with _outcome_noted(work.db):
        done = work.send(in_time)
        work.fetch(in_time)
        complete = done and in_time() and work.send(in_time)
    return _result(work, complete)


def push(work: Exchange, advance: Advance) -> dict[str, Any]:
    """Send whatever the cluster lacks or has otherwise; returns what `sync` does."""
    db = work.db
    with _outcome_noted(db):
        for name in COLLECTIONS:
            kinds, _ = _compared(db, work.cluster, name, advance)
            with sqlite.transaction(db):
                outbox.add(db, kinds, name)
        found, first = _missing_events(db, work.cluster)
        if found["missingThere"]:
            with sqlite.transaction(db):
                outbox.set_state(db, events=min(int(outbox.state(db, "events") or 0), first - 1))
        complete = work.send(lambda: True, advance)
    return _result(work, complete)


def pull(work: Exchange, advance: Advance, *, with_events: bool, leave: bool) -> dict[str, Any]:
    """Fetch whatever the cluster has newer or alone; with `leave`, note nothing for it any more."""
    db, fetched = work.db, 0
    with _outcome_noted(db):
        for name in COLLECTIONS:
            theirs = work.cluster.export(COLLECTIONS[name], exclude=mapping.SEARCHED)
            while rows := list(islice(theirs, PAGE)):
                work.merge((exchange.of_row(row, name) for row in rows), name)
                advance(len(rows))
        told = work.cluster.export(EVENTS) if with_events else iter(())
        while block := [mapping.event_from_remote(row) for row in islice(told, PAGE)]:
            with sqlite.transaction(db):
                fetched += sum(events.insert(db, one, work.search_text(one)) for one in block)
            advance(len(block))
        if leave:
            outbox.disable(db)
    return {"received": work.received, "events": fetched, "left": leave, "waiting": outbox.waiting(db)}


@contextmanager
def _outcome_noted(db: apsw.Connection) -> Iterator[None]:
    """Keeps beside the outbox how it went; a fault decides when the background tries again."""
    try:
        yield
    except Failure as failure:
        if failure.code.startswith("TYPESENSE"):
            said = f"{failure.code}: {failure.message}"
            background_jobs.postpone(background_jobs.SYNC, outbox.failed(db, said, now=clock.now_ms()))
        raise
    with sqlite.transaction(db):
        outbox.set_state(db, tries=None, error=None, next_try=None, synced_at=clock.now_ms())
    client.forget_fault()  # recall need not wait to find out that the cluster is back


def _result(work: Exchange, complete: bool) -> dict[str, Any]:
    return {
        "sent": {"documents": work.documents, "events": work.events},
        "received": work.received,
        "refused": work.refused,
        "complete": complete,
        "waiting": outbox.waiting(work.db),
    }


@contextmanager
def opened(
    config: Config,
    embed: Embed,
    search_text: Callable[[Event], str],
    *,
    lock_inherited: bool = False,
    enable: bool = True,
) -> Iterator[Exchange]:
    """The store and the cluster under the lock."""
    with _both(config, durable=True, limit_s=_BACKGROUND_S if lock_inherited else None) as (db, remote):
        # A pull into a home without a cluster leaves no mark of one there.
        marked = enable or outbox.enabled(db)
        lock = outbox.lock_path() if marked else os.path.join(files.home(), "cache", "store-pull.lock")
        try:
            with nullcontext() if lock_inherited else files.FileLock(lock, wait_s=_LOCK_WAIT_S):
                if enable:
                    outbox.enable(db)
                yield Exchange(db, remote, config.get_int("store.batch"), embed, search_text)
        except files.LockTimeout:
            raise Failure(
                "STORE_SYNC_BUSY",
                "another process is syncing with the cluster",
                "wait for it, or look at `joelclaw status`",
            ) from None


@contextmanager
def _both(config: Config, *, durable: bool, limit_s: float | None = None) -> Iterator[tuple[apsw.Connection, Cluster]]:
    limit_s = limit_s or config.get_float("store.timeout_ms") / 1000 * _PATIENCE
    remote = Cluster(client.nodes(config), client.key(config), prefix=config.get_str("store.prefix"), limit_s=limit_s)
    try:
        db = sqlite.open_writing(busy_ms=config.get_int("store.busy_ms"), durable=durable)
        try:
            yield db, remote
        finally:
            db.close()
    finally:
        remote.close()


def initialise(config: Config) -> dict[str, Any]:
    """Create the cluster's collections or bring them up to date, and note what is written here from now on."""
    with _both(config, durable=True) as (db, remote):
        done = remote.init()
        client.forget_fault()
        outbox.enable(db)
    return {
        "nodes": remote.nodes,
        "prefix": remote.prefix,
        "schema": VERSION,
        "changed": any(one["created"] or one["addedFields"] for one in done),
        "collections": done,
        "backend": config.get_str("store.backend"),
    }


def in_background(config: Config, embed: Embed, search_text: Callable[[Event], str]) -> None:
    """One sync in a background process: it keeps to its time, and a failure is left to `status` to tell."""
    until = time.monotonic() + background_jobs.SYNC_BUDGET_S
    try:
        with opened(config, embed, search_text, lock_inherited=True) as work:
            again_at = int(outbox.state(work.db, "next_try") or 0)
            if again_at > clock.now_ms():
                background_jobs.postpone(background_jobs.SYNC, again_at)
            else:
                sync(work, lambda: time.monotonic() < until)
    except (Failure, sqlite.StoreError):
        pass


def verify(config: Config, advance: Advance) -> dict[str, Any]:
    """Compare every document on both sides, and look for ours of the events there."""
    with _both(config, durable=False) as (db, remote):
        found = {name: _compared(db, remote, name, advance) for name in COLLECTIONS}
        of_events, _ = _missing_events(db, remote)
        differences = [
            {"collection": name, "id": identifier, "kind": kind}
            for name, (kinds, _) in found.items()
            for identifier, kind in kinds.items()
        ]
        return {
            "same": not differences and not of_events["missingThere"],
            "collections": {name: {**count, "different": len(kinds)} for name, (kinds, count) in found.items()},
            "events": of_events,
            "differences": differences[:_MOST_LISTED],
            "waiting": outbox.waiting(db),
        }


def _compared(
    db: apsw.Connection, remote: Cluster, name: str, advance: Advance
) -> tuple[dict[str, str], dict[str, int]]:
    """By id, how documents of a collection differ; and how many there are and agree."""
    kinds: dict[str, str] = {}
    there: dict[str, tuple[str, tuple[int, int, float]]] = {}
    for row in remote.export(COLLECTIONS[name], exclude=mapping.SEARCHED):
        side = exchange.of_row(row, name)
        if not side.dead:
            there[side.id] = side.content, side.counters
        advance(1)
    count = {"here": 0, "there": len(there), "same": 0}
    for document in curation.every(db, forgotten=True, collection=name):
        side = exchange.of_document(document)
        found = there.pop(side.id, None)
        count["here"] += not side.dead
        if side.dead or found is None:
            kind = _ONLY_THERE if found is not None else "" if side.dead else _ONLY_HERE
        else:
            kind = _CONTENT if found[0] != side.content else "" if found[1] == side.counters else _COUNTERS
            count["same"] += not kind
        if kind:
            kinds[side.id] = kind
        advance(1)
    return kinds | dict.fromkeys(sorted(there), _ONLY_THERE), count


def _missing_events(db: apsw.Connection, remote: Cluster) -> tuple[dict[str, int], int]:
    """How many events are here and there, how many of ours are missing there; and the number of the first of those."""
    there = {row["id"] for row in remote.export(EVENTS, include="id")}
    here = list(db.execute("SELECT seq, id FROM event ORDER BY seq"))
    missing = [int(number) for number, identifier in here if identifier not in there]
    return {"here": len(here), "there": len(there), "missingThere": len(missing)}, min(missing, default=0)
