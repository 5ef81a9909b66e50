"""A document on two sides: how they are compared and merged, how one goes to the cluster and comes back."""

from __future__ import annotations

from typing import Any

import apsw
import pytest
from conftest import NOW_MS

from core.store import documents, sqlite
from core.store.replication import outbox, replica, sync_metadata
from core.store.replication.replica import GONE, Side
from core.store.typesense import mapping

TEXT = "the staging queue drains at 14:00 UTC"


def document(**more: Any) -> Any:
    return {**documents.blank("observations", "m1", TEXT, NOW_MS), **more}


def side(version: int = 5, content: str = "b", **more: Any) -> Side:
    return Side("m1", "observations", more.pop("document", document()), version, content, **more)


@pytest.fixture
def db(opened_store: apsw.Connection) -> apsw.Connection:
    outbox.enable(opened_store)
    return opened_store


def test_shares_are_added_up_and_bounded() -> None:
    shares = {"a": (1, 2, 0.25), "b": (9, 3, 0.123456)}
    assert (side(shares=shares).recalls, side(shares=shares).priority) == (5, 0.3735)
    assert (side().recalls, side().priority) == (0, 0)
    assert side(shares={"a": (1, -2, -0.7), "b": (1, 1, -0.7)}).recalls == 0
    assert side(shares={"a": (1, 0, -0.7), "b": (1, 0, -0.7)}).priority == -1.0
    assert side(shares={"a": (1, 0, 0.7), "b": (1, 0, 0.7)}).priority == 1.0


def test_the_same_content() -> None:
    assert side().same_content(side(shares={"a": (1, 1, 0.0)}, last_used_at=7))
    assert not side().same_content(side(6)) and not side().same_content(side(content="c"))


def test_the_same_counters() -> None:
    one = side(shares={"a": (1, 2, 0.5), "nothing": (7, 0, 0.0)}, last_used_at=3)
    assert one.same_counters(side(shares={"a": (8, 2, 0.5)}, last_used_at=3)), "numbers of batches do not matter"
    assert not one.same_counters(side(shares={"a": (1, 3, 0.5)}, last_used_at=3))
    assert not one.same_counters(side(shares={"a": (1, 2, 0.25)}, last_used_at=3))
    assert not one.same_counters(side(shares={"a": (1, 2, 0.5)}, last_used_at=4))
    gone = side(content=GONE, shares={"a": (1, 2, 0.5)})
    assert gone.same_counters(side(content=GONE)) and not gone.same_counters(side()) and not side().same_counters(gone)


def test_the_hash_is_of_what_is_said_and_not_of_its_counters() -> None:
    plain = replica.content_hash(document())
    counted = document(recall_count=3, retrieval_priority=0.5, last_used_at=1, updated_at=NOW_MS + 1, rowid=7)
    assert replica.content_hash(counted) == plain
    for said in ({"text": "other"}, {"tags": ["a"]}, {"created_at": 1}, {"stale": True}, {"write_confidence": 0.5}):
        assert replica.content_hash(document(**said)) != plain
    assert replica.content_hash(document(history=[{"n": 1.0}], write_confidence=0)) == replica.content_hash(
        document(history=[{"n": 1}])
    ), "1 and 1.0 are the same on the cluster"
    forgotten = replica.content_hash(document(forgotten_at=5))
    assert forgotten == replica.content_hash(document(forgotten_at=5, text="other"))
    assert forgotten != replica.content_hash(document(forgotten_at=6)) and forgotten != plain


@pytest.mark.parametrize(
    ("ours", "theirs", "stays"),
    [
        ((6, "a"), (5, "b"), "ours"), ((5, "a"), (6, "a"), "theirs"), ((5, "b"), (5, "a"), "ours"),
        ((5, "a"), (5, "b"), "theirs"), ((5, "a"), (5, GONE), "theirs"),
    ],
)  # fmt: skip
def test_of_two_contents_the_newer_stays_or_the_greater(ours: Any, theirs: Any, stays: str) -> None:
    merged = replica.merged(
        side(*ours, document=document(text="ours"), forgotten_at=1),
        side(*theirs, document=document(text="theirs")),
        "me",
    )
    assert merged.document is not None and merged.document["text"] == stays
    assert (merged.version, merged.content) == (ours if stays == "ours" else theirs)
    assert merged.forgotten_at == (1 if stays == "ours" else None)


def test_of_two_shares_the_one_of_the_later_batch_stays_and_ours_is_ours() -> None:
    ours = side(shares={"me": (1, 4, 0.5), "old": (2, 1, 0.0), "new": (9, 9, 0.0), "mine": (1, 1, 0.0)})
    theirs = side(shares={"me": (3, 2, 0.5), "old": (3, 7, 0.0), "new": (8, 1, 0.0), "there": (1, 1, 0.0)})
    assert replica.merged(ours, theirs, "me").shares == {
        "me": (1, 4, 0.5), "old": (3, 7, 0.0), "new": (9, 9, 0.0), "mine": (1, 1, 0.0), "there": (1, 1, 0.0),
    }  # fmt: skip
    same = side(shares={"me": (9, 2, 0.5)})
    assert replica.merged(same, theirs, "me").shares["me"] == (3, 2, 0.5), "nothing changed: nothing is sent again"
    tie = side(shares={"old": (3, 1, 0.0)})
    assert replica.merged(tie, theirs, "me").shares["old"] == (3, 7, 0.0)


@pytest.mark.parametrize(
    ("ours", "theirs", "latest"), [(None, None, None), (3, None, 3), (None, 4, 4), (3, 4, 4), (5, 4, 5)]
)
def test_the_last_use_on_any_side_counts(ours: int | None, theirs: int | None, latest: int | None) -> None:
    assert replica.merged(side(last_used_at=ours), side(last_used_at=theirs), "me").last_used_at == latest


def test_of_a_copy_only_what_goes_beyond_the_original_is_our_own() -> None:
    theirs = side(shares={"there": (4, 3, 0.5)})
    copy = side(shares={"me": (1, 5, 0.5)}, unmet=True)
    assert replica.merged(copy, theirs, "me").shares == {"there": (4, 3, 0.5), "me": (1, 2, 0.0)}
    less = side(shares={"me": (1, 2, 0.5)}, unmet=True)
    assert replica.merged(less, theirs, "me").shares["me"] == (1, 0, 0.0)
    assert replica.merged(side(unmet=True), theirs, "me").shares["me"] == (0, 0, 0.0)
    met = side(shares={"me": (1, 5, 0.5)})
    assert replica.merged(met, theirs, "me").shares["me"] == (1, 5, 0.5)
    unused = side(shares={"there": (4, 0, 0.0)})
    assert replica.merged(copy, unused, "me").shares["me"] == (1, 5, 0.5)
    favoured = side(shares={"there": (4, 0, -0.25)})
    assert replica.merged(copy, favoured, "me").shares["me"] == (1, 5, 0.0)
    known = side(shares={"me": (1, 1, 0.0), "there": (1, 1, 0.0)})
    assert replica.merged(copy, known, "me").shares["me"] == (1, 5, 0.5)


def test_a_side_goes_to_the_cluster_and_comes_back() -> None:
    given = document(tags=["a"], history=[{"text": "before"}], write_confidence=0.5, title="Queue")
    shares = {"a": (4, 3, 0.25), "b": (1, 1, 0.0)}
    ours = side(7, replica.content_hash(given), document=given, shares=shares, last_used_at=9)
    row = sync_metadata.row_of(ours, b"\x01" * 256, "me", 12)
    assert (row["sync_origin"], row["sync_batch"], row["sync_version"]) == ("me", 12, 7)
    assert (row["recall_count"], row["retrieval_priority"], row["last_used_at"]) == (4, 0.25, 9)
    assert (row["chars"], mapping.vector_of(row), row["embedding"]) == (len(TEXT), b"\x01" * 256, [1] * 256)
    assert row["vector"] == "AQEB" * 85 + "AQ=="
    back = sync_metadata.side_of(row, "observations")
    assert (back.version, back.content, back.shares, back.last_used_at) == (7, ours.content, shares, 9)
    assert back.document == {**given, "recall_count": 4, "retrieval_priority": 0.25, "last_used_at": 9}
    headers = sync_metadata.headers_of({name: row[name] for name in row if name in sync_metadata.HEADERS}, "episodes")
    assert (headers.document, headers.collection) == (None, "episodes")
    assert headers.same_content(ours) and headers.same_counters(ours) and headers.forgotten_at is None


def test_a_tombstone_has_no_words() -> None:
    for ours in (side(7, "x", forgotten_at=3, last_used_at=2), side(3, GONE, document=None)):
        row = sync_metadata.row_of(ours, b"\x01" * 256, "me", 12)
        assert TEXT not in str(row) and "vector" not in row and row["forgotten_at"] == row["updated_at"] == 3
        assert row.get("last_used_at") == ours.last_used_at
        back = sync_metadata.headers_of(row, "observations")
        assert (back.forgotten_at, back.version, back.content) == (3, ours.version, ours.content)
    assert sync_metadata.side_of(row, "observations").document is None


def test_a_row_of_another_program() -> None:
    row = mapping.to_remote(document(recall_count=2, retrieval_priority=0.5))
    back = sync_metadata.side_of(row, "observations")
    assert (back.version, back.shares) == (NOW_MS, {"": (0, 2, 0.5)})
    assert back.content == replica.content_hash(document())
    for counters in ({"recall_count": 2}, {"retrieval_priority": 0.5}):
        assert "" in sync_metadata.side_of(mapping.to_remote(document(**counters)), "observations").shares
    assert sync_metadata.side_of(mapping.to_remote(document()), "observations").shares == {}
    ours = {**row, "sync_shares": '{"a": [1, 2, 0.5]}', "sync_version": 3, "sync_content": "untrue"}
    told = sync_metadata.side_of(ours, "observations")
    assert (told.shares, told.version) == ({"a": (1, 2, 0.5)}, 3)
    assert told.content == back.content, "its content is what is there, whatever the row says"
    bare = sync_metadata.headers_of({"id": "m1"}, "observations")
    assert (bare.version, bare.content, bare.shares, bare.last_used_at, bare.forgotten_at) == (0, "", {}, None, None)


def test_an_event_goes_to_the_cluster_and_comes_back() -> None:
    event: Any = {
        "id": "e1", "timestamp": 5, "sessionId": "s", "systemId": "h", "level": "warn", "source": "cli",
        "component": "c", "action": "a", "success": False, "metadata": {"n": [1]}, "duration_ms": 1.5, "error": "",
    }  # fmt: skip
    row = mapping.event_to_remote(event, "words")
    assert row["search_text"] == "words" and mapping.event_from_remote(row) == event
    assert mapping.event_from_remote({**row, "duration_ms": 2.0})["duration_ms"] == 2
    least = mapping.event_from_remote({"id": "e2", "timestamp": 6.0})
    assert least == {
        "id": "e2", "timestamp": 6, "sessionId": "", "systemId": "", "level": "info", "source": "", "component": "",
        "action": "", "success": True, "metadata": {},
    }  # fmt: skip


def apply(db: apsw.Connection, one: Side, ours: Side | None = None, signatures: bool = False) -> tuple[bool, list[str]]:
    """Whether its words were changed, and what was embedded for it."""
    embedded: list[str] = []

    def embed(text: str, context: str, title: str) -> bytes:
        embedded.append(text)
        return b"\x01" * 256

    with sqlite.transaction(db), outbox.quiet(db):
        changed = replica.apply(db, one, ours, embed=embed, signatures=signatures)
    return changed, embedded


def test_what_comes_from_the_cluster_is_put_here(db: apsw.Connection) -> None:
    shares = {"there": (4, 3, 0.25)}
    assert apply(db, side(NOW_MS + 9, shares=shares, last_used_at=8)) == (False, [TEXT])
    here = replica.here(db, "m1", "observations")
    assert here is not None and here.document is not None
    assert (here.version, here.shares["there"], here.unmet) == (NOW_MS + 9, (4, 3, 0.25), False)
    assert (here.document["recall_count"], here.document["retrieval_priority"]) == (3, 0.25)
    assert here.last_used_at == 8 and here.shares[outbox.origin(db)] == (0, 0, 0.0)
    assert outbox.next_batch(db, now=NOW_MS, limit=9) == [], "what came from the cluster need not go there"
    counted = side(NOW_MS + 9, here.content, shares={"there": (5, 4, 0.25)})
    assert apply(db, counted, here) == (False, []), "where only counters differ, nothing is embedded"
    found = documents.by_id(db, "m1")
    assert found is not None and found["recall_count"] == 4


def test_what_others_wrote_is_redacted_and_sent_back(db: apsw.Connection) -> None:
    secret = "AKIA" + "Z7Q2X9W3L5K8P4M6"
    changes: tuple[dict[str, Any], ...] = (
        {"text": f"the key is {secret}"},
        {"tags": [secret]},
        {"history": [{"text": secret, "n": 1}]},
        {"title": "a\0b"},
    )
    for number, said in enumerate(changes):
        assert apply(db, side(NOW_MS + number, document=document(**said)))[0] is True
        found = documents.by_id(db, "m1")
        assert found is not None and secret not in str(found) and "\0" not in str(found)
        assert outbox.version(db, "m1", 0) == NOW_MS + number + 1, "it must be sent back as a newer one"


def test_a_tombstone_forgets_and_keeps_the_words(db: apsw.Connection) -> None:
    tombstone = side(NOW_MS + 9, "x", document=None, forgotten_at=NOW_MS + 8)
    assert apply(db, tombstone) == (False, []), "a tombstone of what never was here"
    assert documents.by_id(db, "m1") is None
    apply(db, side(NOW_MS))
    assert apply(db, tombstone, replica.here(db, "m1", "observations")) == (False, [])
    found = documents.by_id(db, "m1")
    assert found is not None and found["text"] == TEXT
    assert (found["forgotten_at"], found["updated_at"]) == (NOW_MS + 8, NOW_MS + 9)


def test_a_tombstone_that_brings_words_changes_none(db: apsw.Connection) -> None:
    words = side(NOW_MS + 9, "x", document=document(text="other words"), forgotten_at=NOW_MS + 8)
    assert apply(db, words) == (False, []) and documents.by_id(db, "m1") is None
    apply(db, side(NOW_MS))
    assert apply(db, words, replica.here(db, "m1", "observations")) == (False, [])
    found = documents.by_id(db, "m1")
    assert found is not None and (found["text"], found["forgotten_at"]) == (TEXT, NOW_MS + 8)


def test_what_was_deleted_there_goes_here_too(db: apsw.Connection) -> None:
    gone = side(NOW_MS + 9, GONE, document=None)
    assert apply(db, gone) == (False, [])
    apply(db, side(NOW_MS))
    assert apply(db, gone) == (False, []) and documents.by_id(db, "m1") is None
    here = replica.here(db, "m1", "observations")
    assert here is not None and (here.version, here.content) == (NOW_MS + 9, GONE)
    assert replica.here(db, "never", "observations") is None


def test_what_was_counted_here_is_our_share(db: apsw.Connection) -> None:
    me = outbox.origin(db)
    given = document(recall_count=2, retrieval_priority=0.25)
    with sqlite.transaction(db):
        documents.insert(db, given, b"", signatures=False)
    first = replica.here(db, "m1", "observations")
    assert first is not None and first.unmet and first.shares == {me: (1, 2, 0.25)}
    assert (first.recalls, first.priority) == (2, 0.25)
    outbox.set_shares(db, "m1", {me: (7, 1, 0.25), "there": (3, 1, 0.0)})
    again = replica.here(db, "m1", "observations")
    assert again is not None and not again.unmet
    assert again.shares == {me: (7, 1, 0.25), "there": (3, 1, 0.0)}, "what is counted already is no new batch"
    documents.set_counters(db, "m1", 5, 0.0, None)
    third = replica.here(db, "m1", "observations")
    assert third is not None and third.shares == {me: (1, 4, 0.0), "there": (3, 1, 0.0)}
