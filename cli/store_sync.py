"""`joelclaw store sync`, `push`, `pull` and `verify`: one memory on several machines, by way of a cluster."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cli import execution, store_waiting
from cli.answer import Answer, print_envelope, write_out
from core import clock, config, envelope, files, json_text
from core.errors import FAILED, Failure
from core.process import background_process, syncing
from core.store import events, sqlite
from core.store.replication import comparison, outbox
from core.store.replication.push import Carrying
from core.store.typesense import circuit_breaker, connection, mapping, schema
from core.store.typesense.fetch import PAGE, Fetching
from otel.event import search_text
from recall.document_vector import document_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw

    from core.config import Config
    from core.store.replication.comparison import Compared
    from core.store.typesense.connection import Cluster

_LOCK_WAIT_S = 60.0
_PATIENCE = 20
"""A request that moves documents may take so many times as long as a recall's."""
_BACKGROUND_S = 10.0
_MOST_LISTED = 100
_VERIFY: Any = {"command": "joelclaw store verify", "description": "whether both sides hold the same"}
_STATUS: Any = {"command": "joelclaw status", "description": "what waits, and how the last try went"}


class _Work:
    """One store and one cluster, while this process holds the lock."""

    def __init__(self, settings: Config, db: apsw.Connection, cluster: Cluster) -> None:
        self.db = db
        self.cluster = cluster
        self.fetching = Fetching(db, cluster, embed=document_vector, signatures=_signatures(db))
        self.carrying = Carrying(
            db, cluster, self.fetching, batch=settings.whole("store.batch"), search_text=search_text,
            now=clock.now_ms,
        )  # fmt: skip
        self.received = 0
        self.complete = True

    def run(self, in_time: Callable[[], bool], progress: Callable[[int], None] = lambda _: None) -> None:
        """Carry, fetch, and carry what was found to be newer here."""
        with self.noted():
            done = self.carrying.run(in_time, progress)
            self.received += self.fetching.changes(in_time)
            self.complete = done and in_time() and self.carrying.run(in_time, progress)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """How it went is kept beside the outbox; a fault decides when the background tries again."""
        try:
            yield
        except Failure as failure:
            if failure.code.startswith("TYPESENSE"):
                syncing.postpone(outbox.failed(self.db, f"{failure.code}: {failure.message}", now=clock.now_ms()))
            raise
        outbox.succeeded(self.db, now=clock.now_ms())
        circuit_breaker.clear()  # recall need not wait to find out that the cluster is back

    def told(self) -> dict[str, Any]:
        """What was moved, and what waits."""
        return {
            "sent": {"documents": self.carrying.documents, "events": self.carrying.events},
            "received": self.received,
            "refused": self.carrying.refused,
            "complete": self.complete,
            "waiting": store_waiting.told(self.db),
        }


def _signatures(db: apsw.Connection) -> bool:
    from core.store import documents

    if not sqlite.load_vectors(db):
        return False
    with sqlite.transaction(db):
        documents.ensure_signatures(db)
    return True


@contextmanager
def _work(settings: Config, *, held: bool = False, enable: bool = True) -> Iterator[_Work]:
    """The store and the cluster under the lock.

    Args:
        held: the lock was inherited (`core.process.background_process`).
        enable: note from now on what is written here.
    """
    limit_s = _BACKGROUND_S if held else settings.number("store.timeout_ms") / 1000 * _PATIENCE
    cluster = connection.connect(settings, limit_s=limit_s)
    db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=True)
    try:
        if held:
            yield _ready(settings, db, cluster, enable)
            return
        try:
            with files.FileLock(outbox.lock_path() if enable else _pull_lock(db), wait_s=_LOCK_WAIT_S):
                yield _ready(settings, db, cluster, enable)
        except files.LockTimeout:
            raise Failure(
                "STORE_SYNC_BUSY", "another process is carrying to the cluster", "wait for it, or see `joelclaw status`"
            ) from None
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        cluster.close()
        db.close()


def _ready(settings: Config, db: apsw.Connection, cluster: Cluster, enable: bool) -> _Work:
    if enable:
        outbox.enable(db)
    return _Work(settings, db, cluster)


def _pull_lock(db: apsw.Connection) -> str:
    """Without a cluster of its own a home keeps no mark of one."""
    return outbox.lock_path() if outbox.enabled(db) else os.path.join(files.home(), "cache", "store-pull.lock")


def sync(options: dict[str, Any]) -> Answer | int:
    """Carry what waits, and fetch what other machines wrote; with --watch again and again.

    Raises:
        Failure: STORE_SYNC_BUSY; what the cluster or the store says. Nothing is lost.
    """
    background = background_process.LIMIT in os.environ
    background_process.stop_in_time()
    settings = config.load()
    if background:
        return _in_background(settings)
    if options["watch"]:
        return _watch(settings, options["seconds"])
    with _work(settings) as work:
        work.run(lambda: True)
        result = work.told()
    return Answer(result, [_VERIFY])


def _in_background(settings: Config) -> int:
    """What `core.process.syncing` starts: it holds the lock, tells nobody, and keeps to its time."""
    until = time.monotonic() + syncing.BUDGET_S
    try:
        with _work(settings, held=True) as work:
            next_try = outbox.summary(work.db, now=clock.now_ms())["next_try"]
            if next_try is not None and next_try > clock.now_ms():
                syncing.postpone(next_try)
            else:
                work.run(lambda: time.monotonic() < until)
    except Failure:
        pass  # `status` names it
    return 0


def _watch(settings: Config, seconds: float) -> int:
    """Until Ctrl-C or SIGTERM, then exit 0. One line of JSON, or of text on a terminal, for each change."""
    show = _live if _on_terminal() else _line
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    last = ""
    try:
        show({"watching": True, "seconds": seconds})
        while True:
            pause = seconds
            try:
                with _work(settings) as work:
                    work.run(lambda: True)
                    told = work.told()
                moved = {name: told[name] for name in ("sent", "received", "refused")}
                if any(told["sent"].values()) or told["received"] or told["refused"] or last:
                    show({"ts": clock.iso(clock.now_ms()), **moved})
                last = ""
            except Failure as failure:
                if failure.message != last:
                    show({"ts": clock.iso(clock.now_ms()), "error": failure.message, "code": failure.code})
                last = failure.message
                pause = max(seconds, _pause())
            time.sleep(pause)
    except KeyboardInterrupt:
        pass
    return 0


def _pause() -> float:
    """Seconds until the outbox says that another try makes sense, a minute at most."""
    db = sqlite.open_reading()
    next_try = outbox.summary(db, now=clock.now_ms())["next_try"] if db is not None else None
    return min(60.0, max(0.0, ((next_try or 0) - clock.now_ms()) / 1000))


def _line(value: dict[str, Any]) -> None:
    write_out(json_text.dumps(value) + "\n")


def _live(value: dict[str, Any]) -> None:
    from cli.views import store_sync

    store_sync.watched(value)


def _on_terminal() -> bool:
    return execution.stdout_is_terminal() and "--json" not in sys.argv


def push(options: dict[str, Any]) -> Answer:  # noqa: ARG001  # every command is called alike
    """Send whatever the cluster lacks or has otherwise; a run that was cut short goes on where it was.

    Raises:
        Failure: as `sync`.
    """
    with _work(config.load()) as work, work.noted():
        db = work.db
        with _progress("comparing", None) as advance:
            for name in comparison.every_collection():
                found = comparison.collection(db, work.cluster, name, whole=True, progress=advance)
                work.carrying.anew.update(one.id for one in found.differences if one.kind != comparison.ONLY_THERE)
                with sqlite.transaction(db):
                    outbox.add(db, [(one.id, name) for one in found.differences])
            _, _, missing, first = comparison.events(db, work.cluster, progress=advance)
        if missing:
            with sqlite.transaction(db):
                outbox.set_state(db, events=min(int(outbox.state(db, "events") or 0), first - 1))
        todo = outbox.summary(db, now=clock.now_ms())
        with _progress("sending", todo["documents"] + todo["events"]) as advance:
            work.complete = work.carrying.run(lambda: True, advance)
        result = work.told()
    return Answer(result, [_VERIFY])


def pull(options: dict[str, Any]) -> Answer:
    """Fetch whatever the cluster has newer or alone; a run that was cut short goes on where it was.

    Raises:
        Failure: as `sync`.
    """
    fetched = 0
    with _work(config.load(), enable=False) as work, work.noted():
        db = work.db
        with _progress("comparing", None) as advance:
            wanted = {
                name: comparison.collection(db, work.cluster, name, whole=False, progress=advance).differences
                for name in comparison.every_collection()
            }
        with _progress("fetching", sum(map(len, wanted.values()))) as advance:
            for name, differences in wanted.items():
                for start in range(0, len(differences), PAGE):
                    page = [one.id for one in differences[start : start + PAGE]]
                    work.received += work.fetching.take_ids(page, name)
                    advance(len(page))
        if options["events"]:
            fetched = _pull_events(work)
        if options["leave"]:
            outbox.disable(db)
        result = {
            "received": work.received,
            "events": fetched,
            "left": options["leave"],
            "waiting": store_waiting.told(db),
        }
    return Answer(result, [_VERIFY])


def _pull_events(work: _Work) -> int:
    """Take in every event that the cluster has and the local file has not; returns how many."""
    new = 0
    with _progress("events", None) as advance:
        block = []
        for row in work.cluster.export(schema.EVENTS):
            block.append(mapping.event_from_remote(row))
            if len(block) == PAGE:
                new += _store_events(work.db, block)
                advance(len(block))
                block = []
        new += _store_events(work.db, block)
    return new


def _store_events(db: apsw.Connection, block: list[Any]) -> int:
    with sqlite.transaction(db):
        return sum(events.insert(db, event, search_text(event)) for event in block)


def verify(options: dict[str, Any]) -> int:  # noqa: ARG001  # every command is called alike
    """Take the fingerprint of every document on both sides; exit 1 where they differ.

    Raises:
        Failure: what the cluster or the store says.
    """
    settings = config.load()
    cluster = connection.connect(settings, limit_s=connection.BULK_S)
    db = sqlite.open_writing(busy_ms=settings.whole("store.busy_ms"), durable=False)
    try:
        with _progress("comparing", None) as advance:
            found = {
                name: comparison.collection(db, cluster, name, whole=True, progress=advance)
                for name in comparison.every_collection()
            }
            here, there, missing, _ = comparison.events(db, cluster, progress=advance)
        still = store_waiting.told(db)
    except sqlite.StoreError as error:
        raise sqlite.as_failure(error) from None
    finally:
        cluster.close()
        db.close()
    result = _verified(found, {"here": here, "there": there, "missingThere": missing}, still)
    return _verdict(result)


def _verified(found: dict[str, Compared], of_events: dict[str, int], still: dict[str, Any]) -> dict[str, Any]:
    differences = [one for compared in found.values() for one in compared.differences]
    return {
        "same": not differences and not of_events["missingThere"],
        "collections": {
            name: {
                "here": compared.here,
                "there": compared.there,
                "same": compared.same,
                "different": len(compared.differences),
            }
            for name, compared in found.items()
        },
        "events": of_events,
        "differences": [
            {"collection": one.collection, "id": one.id, "kind": one.kind} for one in differences[:_MOST_LISTED]
        ],
        "waiting": still,
    }


def _verdict(result: dict[str, Any]) -> int:
    count = sum(one["different"] for one in result["collections"].values())
    lacking = result["events"]["missingThere"]
    if _on_terminal():
        from cli.views import store_sync

        store_sync.verified(Answer(result))
    elif result["same"]:
        print_envelope(envelope.done("joelclaw store verify", result))
    else:
        failure = Failure(
            "STORE_DIFFERS",
            f"the local file and the cluster differ in {count} documents and {lacking} events",
            "run `joelclaw store sync`, or `joelclaw store push` and `pull` where the outbox knows of nothing",
        )
        told = envelope.failed("joelclaw store verify", failure, [_STATUS])
        told["error"].update(result)
        print_envelope(told)
    return 0 if result["same"] else FAILED


@contextmanager
def _progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr where that is a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)
