"""What waits for a cluster: filled by each write in its own transaction, in order, taken out when it has arrived."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from conftest import NOW_MS, Run

from core.store import documents, sqlite
from core.store.replication import outbox

FACTS = (
    "The staging queue drains at 14:00 UTC; deploys wait for it",
    "packages/worker-7/src/index.ts must not import the scheduler of region 7",
    "Ticket OPS-77 was closed because shard 12 no longer drops connections",
)


@pytest.fixture
def db(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[apsw.Connection]:
    """The store of this test's home, noting what is written."""
    with opened(home, monkeypatch) as made:
        outbox.enable(made)
        yield made


@contextmanager
def opened(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[apsw.Connection]:
    monkeypatch.setenv("JOELCLAW_HOME", str(home))
    home.mkdir(mode=0o700, exist_ok=True)
    made = sqlite.open_writing(busy_ms=1000, durable=False)
    yield made
    made.close()


def waiting(db: apsw.Connection, now: int = NOW_MS) -> list[outbox.Waiting]:
    return outbox.next_batch(db, now=now, limit=1000)


def names(db: apsw.Connection, now: int = NOW_MS) -> list[str]:
    return [one["id"] for one in waiting(db, now)]


def deliver(db: apsw.Connection, now: int = NOW_MS) -> None:
    batch = waiting(db, now)
    outbox.mark_sent(db, batch, now=now)
    with sqlite.transaction(db):
        outbox.confirm(db, batch, now=now)


def write(run: Run, text: str) -> str:
    identifier: str = run("memory", "write", text).result["id"]
    return identifier


def test_a_store_without_a_cluster_has_no_triggers_and_no_rows(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(run, FACTS[0])
    with opened(home, monkeypatch) as db:
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'outbox%'").get == 0
        assert db.execute("SELECT count(*) FROM outbox").get == 0
    assert not (home / outbox.LOCK).exists()


def test_every_write_is_noted_in_order(run: Run, db: apsw.Connection) -> None:
    written = [write(run, fact) for fact in FACTS]
    assert names(db) == written


def test_what_was_written_before_is_noted_once_when_a_cluster_is_taken_up(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = [write(run, fact) for fact in FACTS]
    run("memory", "forget", written[1])
    with opened(home, monkeypatch) as db:
        assert outbox.enable(db) is True
        assert names(db) == [written[0], written[2]]
        deliver(db)
        assert outbox.enable(db) is False
        assert names(db) == []


def test_forgetting_counting_and_writing_again_are_noted_too(run: Run, db: apsw.Connection) -> None:
    first, second = write(run, FACTS[0]), write(run, FACTS[1])
    deliver(db)
    run("recall", "staging queue drains")
    assert names(db) == [first]
    deliver(db)
    run("memory", "write", FACTS[1])
    assert names(db) == [second]
    deliver(db)
    run("memory", "forget", first)
    run("memory", "forget", first, "--undo")
    assert names(db) == [first]


def test_what_recall_must_add_to_the_cluster_s_answer_and_what_it_must_leave_out(run: Run, db: apsw.Connection) -> None:
    first, second, third = (write(run, fact) for fact in FACTS)
    deliver(db)
    assert (outbox.pending(db, 10), outbox.withdrawn(db)) == ([], [])
    run("memory", "write", FACTS[2])
    run("memory", "write", FACTS[0])
    run("memory", "forget", second)
    rows = [document["id"] for document in documents.by_rowids(db, outbox.pending(db, 10))]
    assert (rows, outbox.withdrawn(db)) == ([first, third], [second])
    assert len(outbox.pending(db, 1)) == 1


def test_many_changes_of_a_document_are_one_row_at_its_last_place(run: Run, db: apsw.Connection) -> None:
    first, second = write(run, FACTS[0]), write(run, FACTS[1])
    run("memory", "write", FACTS[0])
    assert names(db) == [second, first]


def test_a_change_while_it_is_sent_is_sent_again(run: Run, db: apsw.Connection) -> None:
    name = write(run, FACTS[0])
    batch = waiting(db)
    outbox.mark_sent(db, batch, now=NOW_MS)
    run("memory", "write", FACTS[0])
    with sqlite.transaction(db):
        outbox.confirm(db, batch, now=NOW_MS)
    assert names(db) == [name]


def test_a_write_that_is_rolled_back_leaves_no_row(run: Run, db: apsw.Connection) -> None:
    write(run, FACTS[0])
    deliver(db)
    with pytest.raises(ZeroDivisionError), sqlite.transaction(db):
        db.execute("UPDATE document SET recall_count = recall_count + 1")
        raise ZeroDivisionError
    assert names(db) == []


def test_what_comes_from_the_cluster_is_not_noted(run: Run, db: apsw.Connection) -> None:
    write(run, FACTS[0])
    deliver(db)
    with sqlite.transaction(db), outbox.quiet(db):
        db.execute("UPDATE document SET text = 'from elsewhere'")
    assert names(db) == []
    db.execute("UPDATE document SET text = 'from here'")
    assert len(names(db)) == 1


def test_an_answer_that_never_came_is_looked_at_once_more(run: Run, db: apsw.Connection) -> None:
    name = write(run, FACTS[0])
    outbox.mark_sent(db, waiting(db), now=NOW_MS)  # and the process is killed
    assert names(db) == [name]
    deliver(db, NOW_MS + 5)
    assert names(db, NOW_MS + 5) == []
    assert outbox.summary(db, now=NOW_MS + 5)["documents"] == 0
    later = NOW_MS + outbox.LOOK_AGAIN_MS
    assert names(db, later) == [name]
    deliver(db, later)
    assert names(db, later + 10 * outbox.LOOK_AGAIN_MS) == []


def test_a_certain_refusal_of_the_request_needs_no_second_look(run: Run, db: apsw.Connection) -> None:
    write(run, FACTS[0])
    batch = waiting(db)
    outbox.mark_sent(db, batch, now=NOW_MS)
    with sqlite.transaction(db):
        outbox.give_back(db, batch)
    deliver(db)
    assert db.execute("SELECT count(*) FROM outbox").get == 0


def test_what_is_refused_waits_a_day_and_is_told(run: Run, db: apsw.Connection) -> None:
    name = write(run, FACTS[0])
    with sqlite.transaction(db):
        outbox.refuse(db, waiting(db)[0], "Field `text` must be a string.", now=NOW_MS)
    assert names(db) == []
    summary = outbox.summary(db, now=NOW_MS)
    assert (summary["documents"], summary["refused"]) == (0, 1)
    assert "must be a string" in summary["refusal"]
    assert names(db, NOW_MS + outbox.REFUSED_MS) == [name]
    run("memory", "write", FACTS[0])  # a change is offered at once
    assert names(db) == [name]
    assert outbox.summary(db, now=NOW_MS)["refused"] == 0


def test_the_version_rises_with_every_edit_whatever_the_clock_says(run: Run, db: apsw.Connection) -> None:
    late, early = {"JOELCLAW_NOW_MS": str(NOW_MS)}, {"JOELCLAW_NOW_MS": str(NOW_MS - 5000)}
    name = run("memory", "write", FACTS[0], env=late).result["id"]
    versions = [_version(db, name)]
    for environment in (early, early, late):
        run("memory", "write", FACTS[0], env=environment)
        versions.append(_version(db, name))
    assert versions == [NOW_MS, NOW_MS + 1, NOW_MS + 2, NOW_MS + 3]
    run("recall", "staging queue drains", env=late)
    assert _version(db, name) == versions[-1], "a count is no edit"
    run("memory", "write", FACTS[0], env={"JOELCLAW_NOW_MS": str(NOW_MS + 60_000)})
    assert _version(db, name) == NOW_MS + 60_000


def test_what_was_deleted_and_comes_again_is_newer(run: Run, db: apsw.Connection) -> None:
    frozen = {"JOELCLAW_NOW_MS": str(NOW_MS)}
    name = run("memory", "write", FACTS[0], env=frozen).result["id"]
    document = documents.by_id(db, name)
    assert document is not None
    with sqlite.transaction(db):
        documents.remove(db, document["rowid"], signatures=False)
    assert [(one["id"], one["gone"]) for one in waiting(db)] == [(name, True)]
    assert outbox.version(db, name, 0) == NOW_MS + 1
    with sqlite.transaction(db):
        documents.insert(db, document, b"", signatures=False)
    assert [(one["id"], one["gone"]) for one in waiting(db)] == [(name, False)]
    assert _version(db, name) == NOW_MS + 2


def _version(db: apsw.Connection, name: str) -> int:
    found = documents.by_id(db, name)
    assert found is not None
    return outbox.version(db, name, found["updated_at"])


def test_the_wait_after_a_failure_grows_and_is_kept(db: apsw.Connection) -> None:
    waits = [outbox.failed(db, "no answer", now=NOW_MS) - NOW_MS for _ in range(14)]
    assert waits[:4] == [1000, 2000, 4000, 8000]
    assert waits[-1] == 300_000
    summary = outbox.summary(db, now=NOW_MS)
    assert (summary["tries"], summary["error"], summary["next_try"]) == (14, "no answer", NOW_MS + 300_000)
    outbox.succeeded(db, now=NOW_MS)
    summary = outbox.summary(db, now=NOW_MS)
    assert (summary["tries"], summary["error"], summary["next_try"]) == (0, "", None)
    assert summary["synced_at"] == NOW_MS


def test_a_copied_home_is_a_machine_of_its_own(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = write(run, FACTS[0])
    run("recall", "staging queue drains")
    with opened(home, monkeypatch) as db:
        outbox.enable(db)
        mine = outbox.origin(db)
    other = tmp_path / "other"
    shutil.copytree(home, other)
    with opened(other, monkeypatch) as db:
        assert outbox.enable(db) is True
        assert outbox.origin(db) not in (mine, "")
        assert {machine: share[1] for machine, share in outbox.shares(db, name).items()} == {mine: 1}
    with opened(home, monkeypatch) as db:
        assert outbox.enable(db) is False
        assert outbox.origin(db) == mine


def test_going_back_to_one_machine_leaves_nothing(run: Run, home: Path, db: apsw.Connection) -> None:
    write(run, FACTS[0])
    outbox.disable(db)
    write(run, FACTS[1])
    assert names(db) == []
    assert outbox.enabled(db) is False
    assert not os.path.exists(home / outbox.LOCK)
