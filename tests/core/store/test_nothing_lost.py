"""Every acknowledged write is stored once, whatever runs at the same time or is killed."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import PATIENCE_S, Attempt, attempt, begin
from faults import SLOWEST_S, patient, paused, stopped

from core.store import sqlite
from core.store.sqlite import COLLECTION_SHIFT
from memory import transfer

WORKERS = 30
PATIENT = {"JOELCLAW_STORE_BUSY_MS": "100000"}
SUBJECTS = (
    "The {n}th build agent uploads artefacts to bucket-{n} before it signs them",
    "Ticket OPS-{n} was closed because shard {n} no longer drops connections",
    "packages/worker-{n}/src/index.ts must not import the scheduler of region {n}",
    "Service svc-{n} listens on port {p} and reports its health at /healthz/{n}",
)


def fact(number: int) -> str:
    """A text that differs from every other in its identifiers and numbers."""
    return SUBJECTS[number % len(SUBJECTS)].format(n=number, p=10_000 + number)


def all_at_once(tasks: Iterable[Callable[[], None]]) -> None:
    """Run each in a thread of its own, started together; the first exception is raised."""
    errors: list[BaseException] = []
    go = threading.Event()

    def wrapped(task: Callable[[], None]) -> None:
        go.wait()
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=wrapped, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def exported(home: Path) -> list[dict[str, Any]]:
    done = attempt(home, "memory", "export")
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.splitlines()]


def assert_whole(home: Path) -> None:
    """The store file, both indexes and the documents agree with each other."""
    db = apsw.Connection(str(home / "store.db"))
    assert sqlite.has_vectors(db)
    assert [row[0] for row in db.execute("PRAGMA integrity_check")] == ["ok"]
    db.execute("INSERT INTO lexicon (lexicon) VALUES ('integrity-check')")  # raises CorruptError where it is not whole
    documents = {row[0] for row in db.execute("SELECT rowid FROM document WHERE forgotten_at IS NULL")}
    assert {row[0] for row in db.execute("SELECT id FROM lexicon_docsize")} == documents
    vectors = {row[0] for row in db.execute("SELECT document FROM vector")}
    assert vectors <= documents
    # A text has a vector unless the table knows none of its words; every text of these tests has known words.
    assert vectors == documents
    if documents:
        signatures = {row[0]: row[1] for row in db.execute("SELECT rowid, collection FROM signature")}
        assert signatures == {rowid: rowid >> COLLECTION_SHIFT for rowid in documents}
    db.close()


@pytest.mark.parametrize("writes", [1, pytest.param(40, marks=pytest.mark.thorough)])
def test_many_processes_write_at_once(home: Path, writes: int) -> None:
    failed: list[Attempt] = []
    acknowledged: list[str] = []

    def worker(number: int) -> None:
        for turn in range(writes):
            text = fact(number * writes + turn)
            done = attempt(home, "memory", "write", text, timeout=600, env=PATIENT)
            if done.code != 0 or "locked" in done.out + done.err or done.err:
                failed.append(done)
            else:
                acknowledged.append(done.result["id"])

    all_at_once(lambda number=number: worker(number) for number in range(WORKERS))  # type: ignore[misc]
    assert (len(failed), failed[:1]) == (0, [])
    memories = exported(home)
    assert len(memories) == len(set(acknowledged)) == WORKERS * writes
    assert {memory["id"] for memory in memories} == set(acknowledged)
    assert {memory["text"] for memory in memories} == {fact(number) for number in range(WORKERS * writes)}
    assert_whole(home)


def test_the_same_text_twice_at_once_becomes_one_memory(home: Path) -> None:
    for round_ in range(2):
        results: list[dict[str, Any]] = []
        text = fact(round_)
        all_at_once([lambda r=results, t=text: r.append(attempt(home, "memory", "write", t, env=PATIENT).result)] * 6)
        assert len({result["id"] for result in results}) == 1
        assert sorted(result["merged"] for result in results) == [False] + [True] * 5
    memories = exported(home)
    assert Counter(memory["text"] for memory in memories) == {fact(round_): 1 for round_ in range(2)}
    assert {memory["merged_count"] for memory in memories} == {5}
    assert_whole(home)


def test_parallel_first_writes_on_a_fresh_machine(home: Path) -> None:
    """The store is made by whoever comes first; nobody sees it half made."""
    commands = (
        ("memory", "write", fact(1)), ("otel", "emit", "a.b"), ("recall", "anything"), ("memory", "write", fact(2)),
        ("otel", "emit", "c.d"), ("inject", "memory", "--session", "s"),
        ("checkpoint", "save", "--session", "s", "--percent", "70", "--message", "set up the build agents of region 4"),
        ("memory", "stats"),
    )  # fmt: skip
    done: list[Attempt] = []
    env = {**PATIENT, **patient(home)}
    all_at_once(lambda words=words: done.append(attempt(home, *words, env=env)) for words in commands * 2)  # type: ignore[misc]
    assert [attempt for attempt in done if attempt.code != 0 or attempt.err] == []
    assert {fact(1), fact(2)} <= {memory["text"] for memory in exported(home)}
    assert_whole(home)


@pytest.mark.spawned
@pytest.mark.parametrize("writes", [100, pytest.param(400, marks=pytest.mark.thorough)])
def test_an_acknowledged_write_survives_a_kill(home: Path, writes: int) -> None:
    """Many writes, four at a time, each killed somewhere between its first instruction and its end."""
    draw = random.Random(20_260_921)
    began = time.monotonic()
    attempt(home, "memory", "write", fact(100_000)).assert_done()
    longest = 1.6 * (time.monotonic() - began)  # adapts, so that about half of the writes get through on any machine
    numbers = iter(range(writes))
    acknowledged: dict[str, str] = {}
    killed = 0
    lock = threading.Lock()

    def worker() -> None:
        nonlocal killed, longest
        while True:
            with lock:
                number = next(numbers, None)
                after_s = draw.uniform(0.0, longest)
            if number is None:
                return
            process = begin(home, "memory", "write", fact(number), cwd=Path("/"))
            time.sleep(after_s)
            process.kill()
            try:
                envelope = json.loads(process.communicate()[0])
            except ValueError:
                with lock:
                    killed += 1
                    longest *= 1.03
                continue
            assert envelope["ok"] is True, envelope
            with lock:
                acknowledged[envelope["result"]["id"]] = fact(number)
                longest *= 0.97

    all_at_once([worker] * 4)
    assert killed and acknowledged, "the moments were badly drawn"
    assert_whole(home)
    stored = {memory["id"]: memory["text"] for memory in exported(home)}
    assert {identifier: stored.get(identifier) for identifier in acknowledged} == acknowledged
    # What was not acknowledged is there whole, or not at all.
    assert set(stored.values()) <= {fact(number) for number in (*range(writes), 100_000)}
    assert len(set(stored.values())) == len(stored)
    text = next(iter(acknowledged.values()))
    assert text in [hit["observation"] for hit in attempt(home, "recall", text).result["hits"]]


def test_an_import_that_is_killed_is_completed_by_running_it_again(home: Path) -> None:
    count = 2000
    lines = [
        json.dumps({"id": f"k{n}", "text": fact(n), "tags": [f"t{n}"], "created_at": 1_780_000_000_000 + n})
        for n in range(count)
    ]
    data = "\n".join(lines).encode()
    (path := home.parent / "memories.jsonl").write_bytes(data)
    sizes = []
    for commit in (2, 4, 3):
        stopped(paused(home, "memory", "import", str(path), commit=commit))
        memories = exported(home)
        assert len({memory["id"] for memory in memories}) == len(memories)
        sizes.append(len(memories))
    assert sizes == sorted(sizes)
    assert 0 < sizes[-1] < count and sizes[-1] % transfer.LINES_PER_COMMIT == 0
    report = attempt(home, "memory", "import", "-", stdin=data, timeout=PATIENCE_S).result
    assert report["failed"] == report["updated"] == 0
    assert report["added"] + report["unchanged"] == report["lines"] == count
    assert {memory["id"]: memory["text"] for memory in exported(home)} == {f"k{n}": fact(n) for n in range(count)}
    assert_whole(home)
    again = attempt(home, "memory", "import", "-", stdin=data, timeout=PATIENCE_S).result
    assert (again["added"], again["updated"], again["unchanged"]) == (0, 0, count)


def test_a_write_during_an_import_is_not_lost(home: Path) -> None:
    data = "\n".join(json.dumps({"id": f"i{n}", "text": fact(n)}) for n in range(1500)).encode()
    written: list[str] = []

    def write(number: int) -> None:
        written.append(attempt(home, "memory", "write", fact(number), env=PATIENT).result["id"])

    all_at_once(
        [
            lambda: attempt(home, "memory", "import", "-", stdin=data, env=PATIENT).assert_done(),
            *(lambda n=n: write(n) for n in range(5000, 5012)),  # type: ignore[misc]
        ]
    )
    stored = {memory["id"] for memory in exported(home)}
    assert set(written) | {f"i{n}" for n in range(1500)} == stored
    assert_whole(home)


def test_checkpoints_killed_at_every_step(home: Path) -> None:
    """Acknowledged files are in the state; the state is always readable, and no lock outlives its holder."""
    acknowledged: set[str] = set()
    for number in range(1, 100):
        words = ("checkpoint", "save", "--session", "k", "--percent", str(number % 90), "--file", f"src/g{number}.ts")
        process = paused(home, *words, step=number)
        ended = process.poll() is not None
        if ended:
            out, _ = process.communicate()
            assert json.loads(out)["ok"] is True
            acknowledged.add(f"src/g{number}.ts")
        else:
            stopped(process)
        state = home / "sessions" / "k.json"
        if state.exists():
            assert json.loads(state.read_text())["sessionId"] == "k"
        if number % 3 == 0:
            attempt(home, *words[:-1], f"src/h{number}.ts").assert_done()
            acknowledged.add(f"src/h{number}.ts")
        if ended:
            break
    assert ended and number > 3, number
    done = attempt(home, "checkpoint", "save", "--session", "k", "--percent", "5", "--file", "last.ts")
    assert done.took_s < SLOWEST_S
    assert acknowledged | {"last.ts"} <= set(done.result["filesModified"])
    assert [path.name for path in (home / "sessions").iterdir() if ".damaged-" in path.name] == []
