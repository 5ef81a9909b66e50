"""The local file and a cluster side by side: what differs, what is carried whole, and what is told of the way there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from conftest import NOW_MS
from memory_cluster import Cluster

from core import files
from core.errors import Failure
from core.process import background_jobs
from core.store import documents, events, sqlite
from core.store.replication import comparison, outbox, pending, pull, replica, status, sync, sync_metadata
from core.store.replication.replica import GONE, Side
from core.store.sessions import calls
from core.store.typesense import schema
from core.store.typesense.plan import Plan

OBSERVATIONS = schema.COLLECTIONS["observations"]
ALL: Any = {"collections": (), "session": "", "projects": (), "others": (), "category": "", "verdicts": ()}


@pytest.fixture
def db(opened_store: apsw.Connection) -> apsw.Connection:
    return opened_store


@pytest.fixture
def enabled(db: apsw.Connection) -> apsw.Connection:
    outbox.enable(db)
    return db


@pytest.fixture
def cluster() -> Any:
    return Cluster()


def add(db: apsw.Connection, *identifiers: str, collection: str = "observations", **more: Any) -> None:
    with sqlite.transaction(db):
        for one in identifiers:
            given: Any = {**documents.blank(collection, one, f"about {one}", NOW_MS), **more}
            documents.insert(db, given, b"", signatures=False)


def emit(db: apsw.Connection, *identifiers: str) -> None:
    with sqlite.transaction(db):
        for one in identifiers:
            events.insert(db, event(one), "")


def event(identifier: str) -> Any:
    return {
        "id": identifier, "timestamp": NOW_MS, "sessionId": "", "systemId": "", "level": "info", "source": "",
        "component": "", "action": "a", "success": True, "metadata": {},
    }  # fmt: skip


def there(db: apsw.Connection, cluster: Cluster, identifier: str, origin: str = "me", **more: Any) -> Any:
    """The row of a document that is here, as the cluster has it."""
    ours = replica.here(db, identifier, "observations")
    assert ours is not None
    row = sync_metadata.row_of(ours, b"", origin, 1)
    cluster.rows[OBSERVATIONS][identifier] = row | more
    return row


def only_there(cluster: Cluster, identifier: str, collection: str = "observations", **more: Any) -> None:
    given = documents.blank(collection, identifier, f"about {identifier}", NOW_MS)
    side = Side(identifier, collection, given, NOW_MS, more.pop("content", replica.content_hash(given)), **more)
    row = sync_metadata.row_of(side, b"", "other", 1)
    cluster.rows[schema.COLLECTIONS[collection]][identifier] = row


def compared(
    db: apsw.Connection, cluster: Any, *, whole: bool
) -> tuple[tuple[int, int, int], list[tuple[str, str]], int]:
    """How many are here, there and the same; what differs; how many were read."""
    read: list[int] = []
    found = comparison.collection(db, cluster, "observations", whole=whole, progress=read.append)
    differences = [(one.id, one.kind) for one in found.differences]
    assert all(one.collection == "observations" for one in found.differences)
    return (found.here, found.there, found.same), differences, sum(read)


@pytest.mark.parametrize("whole", [True, False])
def test_each_document_is_held_against_the_one_of_the_other_side(
    enabled: apsw.Connection, cluster: Any, whole: bool
) -> None:
    db = enabled
    add(db, "same", "here", "text", "counted", "favoured", "gone there", "gone here", "dead on both", "never there")
    for one in ("same", "text", "counted", "favoured", "gone there", "gone here", "dead on both"):
        there(db, cluster, one)
    rows = cluster.rows[OBSERVATIONS]
    rows["text"] |= {"observation": "other", "sync_content": "other"}
    rows["counted"] |= {"sync_shares": '{"a": [1, 2, 0.0]}'}
    rows["favoured"] |= {"sync_shares": '{"a": [1, 0, 0.5]}'}
    for one in ("gone there", "dead on both"):
        rows[one] |= {"forgotten_at": NOW_MS}
    for one in ("gone here", "dead on both", "never there"):
        db.execute("UPDATE document SET forgotten_at = 1 WHERE id = ?", (one,))
    only_there(cluster, "z there")
    only_there(cluster, "a there")
    only_there(cluster, "deleted", content=GONE)
    figures, differences, read = compared(db, cluster, whole=whole)
    assert figures == (6, 7, 1) and read == 10 + 9
    assert differences == [
        ("here", "only here"), ("text", "content"), ("counted", "counters"), ("favoured", "counters"),
        ("gone there", "only here"), ("gone here", "only there"), ("a there", "only there"), ("z there", "only there"),
    ]  # fmt: skip


def test_only_a_whole_comparison_sees_what_a_row_says_untruly_of_itself(enabled: apsw.Connection, cluster: Any) -> None:
    add(enabled, "a")
    there(enabled, cluster, "a", observation="changed by another program")
    assert compared(enabled, cluster, whole=False)[:2] == ((1, 1, 1), [])
    assert compared(enabled, cluster, whole=True)[:2] == ((1, 1, 0), [("a", "content")])


def test_events_are_compared_by_their_ids(db: apsw.Connection, cluster: Any) -> None:
    read: list[int] = []
    assert comparison.events(db, cluster, progress=read.append) == (0, 0, 0, 0)
    emit(db, "a", "b", "c", "d")
    for one in ("a", "c", "of another"):
        cluster.rows[schema.EVENTS][one] = {"id": one, "timestamp": 1}
    assert comparison.events(db, cluster, progress=read.append) == (4, 3, 2, 2) and sum(read) == 3


class Config:
    """Settings as a sync asks for them."""

    def whole(self, name: str) -> int:
        return {"store.busy_ms": 1000, "store.batch": 2}[name]

    def number(self, name: str) -> float:
        return {"store.timeout_ms": 500.0}[name]

    def text(self, name: str) -> str:
        return {"store.backend": "typesense"}[name]


@pytest.fixture
def connected(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The limits of the connections that are made."""
    limits: list[Any] = []

    def connect(_: Any, *, limit_s: Any = None) -> Any:
        limits.append(limit_s)
        return cluster

    monkeypatch.setattr(sync.cluster, "connect", connect)
    cluster.name = lambda collection: collection
    cluster.nodes, cluster.prefix = SimpleNamespace(urls=["http://a:1"]), ""
    return limits


CONFIG: Any = Config()
ADAPTERS = sync.Adapters(lambda *_: b"", lambda one: one["action"])
TOLD: list[tuple[str, int | None, int]] = []


@contextmanager
def progress(step: str, whole: int | None) -> Iterator[Callable[[int], None]]:
    done: list[int] = []
    yield done.append
    TOLD.append((step, whole, sum(done)))


def test_what_is_the_same_on_both_sides_is_verified(
    enabled: apsw.Connection, cluster: Any, connected: list[Any]
) -> None:
    add(enabled, "a")
    there(enabled, cluster, "a")
    found = comparison.verify(CONFIG, lambda _: None)
    none = {"here": 0, "there": 0, "same": 0, "different": 0}
    assert found["same"] is True and found["differences"] == [] and found["waiting"]["documents"] == 1
    assert found["collections"] == {
        "observations": {**none, "here": 1, "there": 1, "same": 1}, "episodes": none, "knowledge": none,
    }  # fmt: skip
    emit(enabled, "e")
    found = comparison.verify(CONFIG, lambda _: None)
    assert found["same"] is False and found["events"] == {"here": 1, "there": 0, "missingThere": 1}
    cluster.rows[schema.EVENTS]["e"] = {"id": "e"}
    add(enabled, *(f"m{number:03}" for number in range(101)))
    found = comparison.verify(CONFIG, lambda _: None)
    assert found["same"] is False and len(found["differences"]) == 100 and cluster.closed == 3
    assert found["differences"][0] == {"collection": "observations", "id": "m000", "kind": "only here"}
    assert found["collections"]["observations"] == {"here": 102, "there": 1, "same": 1, "different": 101}


def test_a_sync_sends_and_fetches_and_tells_what_it_moved(
    enabled: apsw.Connection, cluster: Any, connected: list[Any]
) -> None:
    add(enabled, "a", "b", "c")
    emit(enabled, "e")
    only_there(cluster, "other")
    with sync.opened(CONFIG, ADAPTERS) as work:
        done = work.sync()
        assert work.next_try() is None
    assert (done["sent"], done["received"], done["refused"]) == ({"documents": 3, "events": 1}, 1, 0)
    assert done["complete"] is True and done["waiting"]["documents"] == 0
    assert done["waiting"]["syncedAt"] == "2026-09-21T14:13:20.000Z"
    assert connected == [10.0] and cluster.closed == 1, "twenty times as long as a recall"
    add(enabled, "d")
    with sync.opened(CONFIG, ADAPTERS, lock_inherited=True) as work:
        left = work.sync(lambda: False)
    assert (left["sent"]["documents"], left["complete"], left["waiting"]["documents"]) == (0, False, 1)
    assert connected[1] == 10.0


def test_a_cluster_that_cannot_be_reached_is_tried_again_later(
    enabled: apsw.Connection, cluster: Any, connected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    postponed: list[int] = []
    monkeypatch.setattr(background_jobs, "postpone_sync", postponed.append)
    add(enabled, "a")
    for code, noted in (("TYPESENSE_UNREACHABLE", [NOW_MS + 1_000]), ("STORE_FULL", [NOW_MS + 1_000])):
        cluster.down = Failure(code, "down", "wait")
        with pytest.raises(Failure), sync.opened(CONFIG, ADAPTERS) as work:
            work.sync()
        assert postponed == noted
    with sync.opened(CONFIG, ADAPTERS) as work:
        assert work.next_try() == NOW_MS + 1_000
    told = status.waiting(enabled)
    assert (told["tries"], told["error"]) == (1, "TYPESENSE_UNREACHABLE: down")
    sync.in_background(CONFIG, ADAPTERS)
    assert postponed == [NOW_MS + 1_000] * 2 and cluster.batches == [], "its time has not come"
    cluster.down = None
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS + 1_000))
    sync.in_background(CONFIG, ADAPTERS)
    assert postponed == [NOW_MS + 1_000] * 2 and status.waiting(enabled)["tries"] == 0
    monkeypatch.setenv("JOELCLAW_NOW_MS", str(NOW_MS + 61_000))  # an answer that never came is looked at once more
    sync.in_background(CONFIG, ADAPTERS)
    assert cluster.batches == [["a"]] and status.waiting(enabled)["documents"] == 0


def test_one_sync_at_a_time_holds_the_lock(
    enabled: apsw.Connection, cluster: Any, connected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_LOCK_WAIT_S", 0.0)
    with files.FileLock(outbox.lock_path(), 0.0):
        with pytest.raises(Failure) as caught, sync.opened(CONFIG, ADAPTERS):
            pass
        assert caught.value.code == "STORE_SYNC_BUSY" and cluster.closed == 1
        with sync.opened(CONFIG, ADAPTERS, lock_inherited=True) as work:
            assert work.next_try() is None
    with sync.opened(CONFIG, ADAPTERS), pytest.raises(files.LockTimeout), files.FileLock(outbox.lock_path(), 0.0):
        pass


def test_a_home_without_a_cluster_is_locked_elsewhere(db: apsw.Connection, home: Path) -> None:
    assert [sync._lock(db, enable) for enable in (True, False)] == [
        outbox.lock_path(), str(home / "cache" / "store-pull.lock"),
    ]  # fmt: skip
    outbox.enable(db)
    assert sync._lock(db, True) == sync._lock(db, False) == outbox.lock_path()


def test_what_the_store_says_of_itself_ends_a_sync(
    enabled: apsw.Connection, cluster: Any, connected: list[Any]
) -> None:
    with pytest.raises(Failure) as caught, sync.opened(CONFIG, ADAPTERS):
        raise apsw.FullError
    assert caught.value.code == "STORE_FULL" and cluster.closed == 1


def test_a_sync_in_the_background_ends_with_its_time(
    enabled: apsw.Connection, cluster: Any, connected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    add(enabled, "a", "b", "c")
    clock = iter([0.0, 9.9, *[10.0] * 9])
    monkeypatch.setattr(sync, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    sync.in_background(CONFIG, ADAPTERS)
    assert cluster.batches == [["a", "b"]] and status.waiting(enabled)["documents"] == 1


def test_a_push_sends_whatever_the_cluster_has_not_or_otherwise(
    enabled: apsw.Connection, cluster: Any, connected: list[Any]
) -> None:
    add(enabled, "a", "b", "c")
    for one in ("a", "b"):
        there(enabled, cluster, one)
    cluster.rows[OBSERVATIONS]["b"]["observation"] = "changed by another program"
    emit(enabled, "e", "f")
    with sync.opened(CONFIG, ADAPTERS) as work:
        work.sync()
        del cluster.rows[OBSERVATIONS]["a"], cluster.rows[schema.EVENTS]["f"]
        only_there(cluster, "z")
        TOLD.clear()
        done = work.push(progress)
    assert {*cluster.rows[OBSERVATIONS]} == {"a", "b", "c", "z"} and done["waiting"]["documents"] == 0
    assert cluster.rows[OBSERVATIONS]["b"]["observation"] == "about b" and done["complete"]
    assert {*cluster.rows[schema.EVENTS]} == {"e", "f"}
    assert TOLD == [("comparing", None, 3 + 3 + 1), ("sending", 4, 4)]
    assert done["sent"] == {"documents": 3, "events": 3}


def test_a_pull_fetches_whatever_the_cluster_has_alone(
    db: apsw.Connection, cluster: Any, connected: list[Any], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sync, pull):
        monkeypatch.setattr(module, "PAGE", 3)
    for number in range(4):
        only_there(cluster, f"m{number}")
    for one in range(4):
        cluster.rows[schema.EVENTS][f"e{one}"] = {"id": f"e{one}", "timestamp": 1, "action": "a"}
    TOLD.clear()
    with sync.opened(CONFIG, ADAPTERS, enable=False) as work:
        done = work.pull(progress, with_events=False, leave=False)
    assert (done["received"], done["events"], done["left"]) == (4, 0, False) and events.count(db) == 0
    assert TOLD == [("comparing", None, 4), ("fetching", 4, 4)]
    assert (
        not outbox.enabled(db) and not (home / "outbox.lock").exists() and (home / "cache" / "store-pull.lock").exists()
    )
    with sync.opened(CONFIG, ADAPTERS) as work:
        assert outbox.enabled(db) and (home / "outbox.lock").exists()
        done = work.pull(progress, with_events=True, leave=True)
    assert (done["received"], done["events"], done["left"]) == (0, 4, True) and events.count(db) == 4
    assert TOLD[-1] == ("events", None, 3) and not outbox.enabled(db)
    with sync.opened(CONFIG, ADAPTERS) as work:
        assert work.pull(progress, with_events=True, leave=False)["events"] == 0 and outbox.enabled(db)


def test_a_cluster_is_made_ready(db: apsw.Connection, cluster: Any, connected: list[Any], monkeypatch: Any) -> None:
    made = {"collection": "c", "created": False, "addedFields": [], "documents": 0}
    for prepared, changed in (
        ([made], False),
        ([made, {**made, "created": True}], True),
        ([{**made, "addedFields": ["f"]}], True),
    ):
        monkeypatch.setattr(sync.schema, "init", lambda _, prepared=prepared: prepared)
        assert sync.initialise(CONFIG) == {
            "nodes": ["http://a:1"], "prefix": "", "schema": 1, "changed": changed, "collections": prepared,
            "backend": "typesense",
        }  # fmt: skip
    assert outbox.enabled(db) and cluster.closed == 3


def test_a_watch_tells_what_moved_and_each_new_error_once(
    enabled: apsw.Connection, cluster: Any, connected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    steps = iter(
        [lambda: None, lambda: add(enabled, "b"), lambda: add(enabled, "c") or fail("x"), lambda: fail("x"),
         lambda: fail("y"), lambda: fail("")]
    )  # fmt: skip

    def fail(why: str) -> None:
        cluster.down = Failure("TYPESENSE_UNREACHABLE", why, "wait") if why else None

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        next(steps)()

    monkeypatch.setattr(sync, "time", SimpleNamespace(sleep=sleep))
    add(enabled, "a")
    told = sync.watch(CONFIG, ADAPTERS, 0.5)
    first, second = next(told), next(told)
    assert first["sent"] == second["sent"] == {"documents": 1, "events": 0} and set(first) == {
        "ts",
        "sent",
        "received",
        "refused",
    }
    assert [next(told).get("error") for _ in range(3)] == ["x", "y", None]
    assert slept == [0.5, 0.5, 0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize(("wait_ms", "pause"), [(1_000, 1.0), (60_000, 60.0), (61_000, 60.0), (0, 0.0), (-5, 0.0)])
def test_a_watch_waits_for_the_next_try_a_minute_at_most(db: apsw.Connection, wait_ms: int, pause: float) -> None:
    assert sync._pause() == 0.0
    outbox.set_state(db, next_try=NOW_MS + wait_ms)
    assert sync._pause() == pause


def test_what_waits_is_told_with_its_times(enabled: apsw.Connection) -> None:
    emit(enabled, "e")
    outbox.set_state(enabled, next_try=1_000, synced_at=0, tries=2, error="CODE: why")
    add(enabled, "a")
    enabled.execute("UPDATE outbox SET queued_at = 5000, refusal = 'no'")
    assert status.waiting(enabled) == {
        "documents": 1, "events": 1, "refused": 1, "refusal": "no", "oldest": "1970-01-01T00:00:05.000Z", "tries": 2,
        "error": "CODE: why", "nextTry": "1970-01-01T00:00:01.000Z", "syncedAt": "1970-01-01T00:00:00.000Z",
    }  # fmt: skip


def test_what_is_wrong_with_the_way_to_the_cluster() -> None:
    def codes(found: Any, backend: str = "typesense") -> list[tuple[str, str]]:
        return [(one["code"], one["message"]) for one in status.problems(found, backend)]

    fine = {"error": "", "refused": 0, "refusal": "", "tries": 0, "nextTry": None}
    assert codes(None, "sqlite") == codes(fine) == []
    assert [code for code, _ in codes(None)] == ["TYPESENSE_NOT_INITIALISED"]
    wrong = {"error": "CODE: why: so", "tries": 3, "nextTry": "later", "refused": 2, "refusal": "no"}
    assert codes(wrong, "sqlite") == [
        ("CODE", "why: so (3 tries, the next at later)"),
        ("TYPESENSE_REFUSED", "the cluster refuses 2 documents or events: no"),
    ]


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        ({}, True), ({"collections": ["observations"]}, True), ({"collections": ["episodes"]}, False),
        ({"session": "s"}, True),
        ({"session": "t"}, False), ({"projects": ["p"]}, True), ({"projects": ["q"]}, False), ({"tags": ["a"]}, True),
        ({"tags": ["a", "b"]}, False), ({"category": "c"}, True), ({"category": "d"}, False),
        ({"verdicts": ["allow"]}, True),
        ({"verdicts": ["hold"]}, False), ({"collections": ["observations"], "session": "t"}, False),
    ],
)  # fmt: skip
def test_what_waits_passes_the_filters(filters: dict[str, Any], passes: bool) -> None:
    document: Any = {
        **documents.blank("observations", "d", "text", 1), "session_id": "s", "tags": ["a"], "category_id": "c",
    }  # fmt: skip
    assert pending._passes(document, {**ALL, **filters}, "p") is passes


def test_what_waits_goes_over_the_answer_of_the_cluster(enabled: apsw.Connection) -> None:
    db = enabled
    for session, project in (("s", "p"), ("t", "q")):
        calls.save_session(db, {
            "id": session, "client": "", "project": project, "folder": "", "updated_at": 1, "prompts": 0, "calls": 0,
            "plan": [],
        })  # fmt: skip
    add(db, "changed", session_id="s")
    add(db, "elsewhere", session_id="t")
    add(db, "unknown", session_id="u")
    add(db, "gone")
    db.execute("INSERT INTO vector SELECT rowid, 1, ? FROM document WHERE id = 'changed'", (bytes([127, 0]),))
    with sqlite.transaction(db):
        db.execute("UPDATE document SET forgotten_at = 1 WHERE id = 'gone'")
    waiting = pending.Pending(db)
    plan = Plan([], b"", ALL, 9, 9)
    plan.found = {"observations": {one: {"id": one, "old": 1} for one in ("changed", "elsewhere", "gone", "stays")}}
    plan.distances = [(0.1, "observations", "gone"), (0.2, "observations", "stays"), (0.3, "observations", "changed")]
    waiting.overlay(plan, {**ALL, "projects": ("p",), "others": ("q",)}, pending.Cosine(bytes([127, 127])))
    assert {one: "old" in row for one, row in plan.found["observations"].items()} == {"stays": True, "changed": False}
    (stays, changed) = plan.distances
    assert stays == (0.2, "observations", "stays")
    assert changed == (pytest.approx(1 - 0.5**0.5), "observations", "changed")
    kept = waiting.document("observations", "changed")
    assert kept is not None and kept["text"] == "about changed"
    assert waiting.document("observations", "gone") is waiting.document("episodes", "changed") is None
    plain = Plan([], b"", ALL, 9, 9)
    waiting.overlay(plain, ALL, None)
    assert set(plain.found["observations"]) == {"changed", "elsewhere", "unknown"} and plain.distances == []


def test_a_home_without_a_cluster_has_nothing_that_waits(db: apsw.Connection) -> None:
    for given in (None, db):
        plan = Plan([], b"", ALL, 9, 9)
        plan.found = {"observations": {"a": {"id": "a"}}}
        pending.Pending(given).overlay(plan, ALL, None)
        assert plan.found == {"observations": {"a": {"id": "a"}}}
