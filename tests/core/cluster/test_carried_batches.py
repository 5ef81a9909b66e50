"""What waits is carried batch by batch, and what others sent is fetched page by page: against a cluster in memory."""

from __future__ import annotations

from typing import Any

import apsw
import pytest
from conftest import NOW_MS
from memory_cluster import Cluster

from core.errors import Failure
from core.store import documents, events, sqlite
from core.store.layout import COLLECTIONS as CODES
from core.store.replication import outbox, push, replica, sync_metadata
from core.store.replication.pull import PAGE, Puller, headers, whole
from core.store.replication.push import Pusher
from core.store.replication.replica import Side
from core.store.typesense import connection, schema

OBSERVATIONS = schema.COLLECTIONS["observations"]


@pytest.fixture
def db(opened_store: apsw.Connection) -> apsw.Connection:
    outbox.enable(opened_store)
    return opened_store


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def document(identifier: str, text: str = "", at: int = NOW_MS) -> Any:
    return documents.blank("observations", identifier, text or f"about {identifier}", at)


def add(db: apsw.Connection, *identifiers: str) -> None:
    with sqlite.transaction(db):
        for one in identifiers:
            documents.insert(db, document(one), b"", signatures=False)


def puller(db: apsw.Connection, cluster: Cluster) -> Puller:
    return Puller(db, cluster, embed=lambda *_: b"", signatures=False)  # type: ignore[arg-type]


def pusher(db: apsw.Connection, cluster: Cluster, batch: int = 2) -> Pusher:
    return Pusher(db, cluster, puller(db, cluster), batch=batch, search_text=lambda event: event["action"])  # type: ignore[arg-type]


def sent(
    cluster: Cluster, identifier: str, *, version: int, text: str = "", origin: str = "other", batch: int = 1
) -> None:
    """What another machine sent."""
    given = document(identifier, text, version)
    side = Side(identifier, "observations", given, version, replica.content_hash(given))
    cluster.rows[OBSERVATIONS][identifier] = sync_metadata.row_of(side, b"", origin, batch)


def waiting(db: apsw.Connection, later: int = 0) -> list[str]:
    return [one["id"] for one in outbox.next_batch(db, now=NOW_MS + later, limit=99)]


def text_of(db: apsw.Connection, identifier: str) -> str | None:
    found = documents.by_id(db, identifier)
    return found["text"] if found is not None else None


def always() -> bool:
    return True


def test_documents_go_in_batches_and_in_order(db: apsw.Connection, cluster: Cluster) -> None:
    add(db, "a", "b", "c")
    told: list[int] = []
    run = pusher(db, cluster)
    assert run.run(always, told.append) is True
    assert cluster.batches == [["a", "b"], ["c"]] and told == [2, 1]
    assert (run.documents, run.refused, waiting(db)) == (3, 0, [])
    assert [row["sync_batch"] for row in cluster.rows[OBSERVATIONS].values()] == [1, 1, 2]
    assert {row["sync_origin"] for row in cluster.rows[OBSERVATIONS].values()} == {outbox.origin(db)}
    assert pusher(db, cluster, batch=PAGE + 1)._batch == PAGE


def test_time_that_is_over_leaves_the_rest(db: apsw.Connection, cluster: Cluster) -> None:
    add(db, "a", "b", "c")
    moments = iter([True, False])
    assert pusher(db, cluster).run(lambda: next(moments)) is False
    assert waiting(db) == ["c"]
    with sqlite.transaction(db):
        for number in range(3):
            events.insert(db, event(number), "")
    moments = iter([True, True, False])
    assert pusher(db, cluster).run(lambda: next(moments)) is False
    assert list(cluster.rows[schema.EVENTS]) == ["e0", "e1"]


def event(number: int) -> Any:
    return {
        "id": f"e{number}", "timestamp": NOW_MS, "sessionId": "", "systemId": "h", "level": "info", "source": "s",
        "component": "c", "action": f"done{number}", "success": True, "metadata": {},
    }  # fmt: skip


def test_what_the_cluster_has_already_is_not_sent(db: apsw.Connection, cluster: Cluster) -> None:
    add(db, "a", "b")
    pusher(db, cluster).run(always)
    cluster.batches.clear()
    outbox.add(db, [("a", "observations"), ("b", "observations")])
    run = pusher(db, cluster)
    run.resend.add("b")
    assert run.run(always) and cluster.batches == [["b"]] and run.documents == 1
    assert waiting(db) == []


def test_what_is_newer_there_is_stored_here_and_not_overwritten(db: apsw.Connection, cluster: Cluster) -> None:
    add(db, "a", "b")
    sent(cluster, "a", version=NOW_MS + 5, text="newer there")
    sent(cluster, "b", version=NOW_MS - 5, text="older there")
    run = pusher(db, cluster)
    assert run.run(always) and cluster.batches == [["b"]]
    assert text_of(db, "a") == "newer there" and cluster.rows[OBSERVATIONS]["b"]["observation"] == "about b"
    assert waiting(db) == []


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        (399, False), (400, True), (404, True), (499, True), (500, False), (401, False), (403, False), (408, False),
        (422, False), (429, False), (None, False),
    ],
)  # fmt: skip
def test_which_answer_is_a_refusal_of_the_document(code: int | None, refusal: bool) -> None:
    assert push._is_refusal({"success": False} if code is None else {"code": code}) is refusal


def test_a_refused_document_is_set_aside_for_a_day(db: apsw.Connection, cluster: Cluster) -> None:
    add(db, "a", "b", "c")
    cluster.results = lambda one: {"success": one != "b", "code": 400, "error": "too long"}
    run = pusher(db, cluster, batch=9)
    assert run.run(always) and (run.documents, run.refused) == (2, 1)
    assert waiting(db, 86_399_999) == [] and waiting(db, 86_400_000) == ["b"]
    assert outbox.summary(db, now=NOW_MS)["refusal"] == "too long"


def test_what_the_cluster_did_not_take_is_kept(db: apsw.Connection, cluster: Cluster) -> None:
    add(db, "a", "b", "c")
    cluster.results = lambda one: {"success": one == "a", "code": 503, "error": f"no room\nfor {one}"}
    with pytest.raises(Failure, match=r"the cluster did not take everything: no room for b$") as raised:
        pusher(db, cluster, batch=9).run(always)
    assert raised.value.code == connection.REFUSED
    assert waiting(db) == ["b", "c"] and [one["doubt"] for one in outbox.next_batch(db, now=NOW_MS, limit=9)] == [0, 0]
    cluster.results = lambda one: {"success": False, "code": 503}
    with pytest.raises(Failure, match="it says no reason"):
        pusher(db, cluster, batch=9).run(always)


def test_an_answer_that_never_came_leaves_a_doubt(db: apsw.Connection, cluster: Cluster) -> None:
    add(db, "a")
    for code, doubt in ((connection.UNREACHABLE, NOW_MS), (connection.REFUSED, 0)):
        cluster.down = Failure(code, "no", "wait")
        with sqlite.transaction(db):
            db.execute("UPDATE outbox SET doubt = 0")
        with pytest.raises(Failure):
            pusher(db, cluster).run(always)
        assert [one["doubt"] for one in outbox.next_batch(db, now=NOW_MS, limit=9)] == [doubt]


def test_events_are_carried_up_to_the_first_that_is_not_taken(db: apsw.Connection, cluster: Cluster) -> None:
    with sqlite.transaction(db):
        for number in range(5):
            events.insert(db, event(number), "")
    answers: dict[str, Any] = {"e1": {"success": False, "code": 400}, "e3": {"success": False, "code": 503}}
    cluster.results = lambda one: answers.get(one, {"success": True})
    told: list[int] = []
    run = pusher(db, cluster, batch=9)
    with pytest.raises(Failure):
        run.run(always, told.append)
    assert (run.events, run.refused, told) == (2, 1, [3])
    assert cluster.rows[schema.EVENTS]["e0"]["search_text"] == "done0"
    answers.clear()
    assert run.run(always, told.append) and (run.events, told) == (4, [3, 2])
    answers["e5"] = {"success": False, "code": 503}
    with sqlite.transaction(db):
        events.insert(db, event(5), "")
    with pytest.raises(Failure):
        run.run(always, told.append)
    assert told == [3, 2, 0]


def test_documents_are_asked_for_page_by_page(cluster: Cluster) -> None:
    names = [f"m{number}" for number in range(PAGE + 1)]
    for name in [*names, "odd`name"]:
        sent(cluster, name, version=NOW_MS)
    found = headers(cluster, "observations", [*names, "odd`name", "no`such", "missing"])  # type: ignore[arg-type]
    assert list(found) == [*names, "odd`name"] and cluster.searches == 2
    assert found["m0"].document is None
    full = whole(cluster, "observations", ["m0"])["m0"]  # type: ignore[arg-type]
    assert full.document is not None and full.document["text"] == "about m0"
    assert headers(cluster, "observations", []) == {} and cluster.searches == 3  # type: ignore[arg-type]


def test_what_others_sent_is_fetched_once(db: apsw.Connection, cluster: Cluster) -> None:
    sent(cluster, "a", version=NOW_MS, batch=3)
    sent(cluster, "b", version=NOW_MS, batch=4)
    sent(cluster, "mine", version=NOW_MS, origin=outbox.origin(db))
    work = puller(db, cluster)
    assert work.changes(always) == 2
    assert text_of(db, "a") == "about a" and text_of(db, "mine") is None
    assert outbox.seen(db, "observations") == {"other": 4} and waiting(db) == []
    assert work.changes(always) == 0
    sent(cluster, "c", version=NOW_MS, batch=5)
    assert work.changes(lambda: False) == 0 and work.changes(always) == 1
    assert all(outbox.seen(db, name) == {} for name in CODES if name != "observations")


def test_many_changes_of_one_machine_are_read_page_by_page(db: apsw.Connection, cluster: Cluster) -> None:
    for number in range(PAGE):
        sent(cluster, f"m{number}", version=NOW_MS, batch=7)
    sent(cluster, "last", version=NOW_MS, batch=8)
    assert puller(db, cluster).changes(always) == PAGE + 1
    assert outbox.seen(db, "observations") == {"other": 8}


def test_a_tombstone_of_what_never_was_here_is_passed_over(db: apsw.Connection, cluster: Cluster) -> None:
    gone = Side("gone", "observations", None, NOW_MS, replica.GONE)
    forgotten = Side("f", "observations", document("f"), NOW_MS, "x", forgotten_at=NOW_MS)
    for one in (gone, forgotten):
        cluster.rows[OBSERVATIONS][one.id] = sync_metadata.row_of(one, b"", "other", 1)
    before = cluster.searches
    assert puller(db, cluster).changes(always) == 0 and cluster.searches == before + 1
    assert outbox.version(db, "gone", 0) == 0


def test_what_is_newer_here_is_queued_again(db: apsw.Connection, cluster: Cluster) -> None:
    add(db, "a", "b")
    pusher(db, cluster).run(always)
    sent(cluster, "a", version=NOW_MS - 5, text="older there", batch=2)
    assert puller(db, cluster).changes(always) == 0
    assert waiting(db) == ["a"] and text_of(db, "a") == "about a"
    outbox.disable(db)
    assert puller(db, cluster).merge_ids(["a"], "observations") == 0
    assert waiting(db) == [] and puller(db, cluster).merge_ids([], "observations") == 0
