"""A hook leaves the recall for a task, and its memory in the hot zone, to a process of its own."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import faults
import pytest
from conftest import JOELCLAW, NOW_MS, PATIENCE_S, Run, clean_environment

from core.process import background_process

MEMORY = "The buoyline importer decodes a whole day at once; read it in batches of 1,500 rows instead"
TASK = "Fix the memory use of the buoyline importer"


def at(seconds: int) -> dict[str, str]:
    return {"JOELCLAW_NOW_MS": str(NOW_MS + 1000 * seconds)}


def lock_of(home: Path, session: str = "s1") -> Path:
    return home / "sessions" / ".work" / "task" / session


def known(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / "sessions" / "s1.json").read_text())
    return found


def turn_ends(run: Run, home: Path, percent: float, seconds: int = 1) -> None:
    payload = {"session_id": "s1", "cwd": "/srv/tides", "percent": percent, "messages": [TASK]}
    run("hook", "pi", "turn_end", stdin=json.dumps(payload), env=at(seconds))


def settled(home: Path) -> dict[str, Any]:
    assert background_process.wait(str(lock_of(home)), PATIENCE_S)
    return known(home)


@pytest.fixture
def stocked(run: Run) -> None:
    run("memory", "write", MEMORY, env=at(0))


@pytest.mark.usefixtures("stocked")
def test_in_the_warm_zone_it_recalls(run: Run, home: Path) -> None:
    turn_ends(run, home, 45)
    after = settled(home)
    assert after["checkpoint"]["recallHits"] == [MEMORY]
    assert after["recalledHash"] == after["taskHash"]
    assert after["writtenHash"] == ""
    assert lock_of(home).stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("stocked")
def test_in_the_hot_zone_the_task_becomes_a_memory(run: Run, home: Path) -> None:
    turn_ends(run, home, 65)
    after = settled(home)
    assert len(after["taskMemoryIds"]) == 1
    assert after["writtenHash"] == after["taskHash"]
    (hit,) = run("recall", "Task " + TASK, "--session", "s1", env=at(2)).result["hits"]
    assert (hit["id"], hit["observation"]) == (after["taskMemoryIds"][0], f"Task: {TASK}")
    events = run("otel", "search", "compaction.extract", "--hours", "1", env=at(2)).result["events"]
    assert {event["action"] for event in events} == {"compaction.extract.warm", "compaction.extract.hot"}


@pytest.mark.usefixtures("stocked")
def test_it_is_done_once_and_counts_as_no_turn(run: Run, home: Path) -> None:
    turn_ends(run, home, 65)
    after = settled(home)
    assert (after["counts"]["saves"], after["counts"]["recalls"], after["counts"]["writes"]) == (1, 1, 1)
    result = run("background", "task", "s1", env=at(600)).result
    assert (result["recallReason"], result["writeReason"]) == ("unchanged", "unchanged")
    assert known(home) == after


def test_below_the_warm_zone_no_process_is_started(run: Run, home: Path) -> None:
    turn_ends(run, home, 30)
    assert not lock_of(home).exists()


@pytest.mark.usefixtures("stocked")
def test_there_is_one_at_a_time(run: Run, home: Path) -> None:
    lock = lock_of(home)
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        turn_ends(run, home, 45)
        assert known(home)["recallCache"] == []  # the one that holds the lock is at it
    turn_ends(run, home, 46, seconds=2)
    assert settled(home)["checkpoint"]["recallHits"] == [MEMORY]


def test_a_session_that_is_not_known_stays_so(run: Run, home: Path) -> None:
    done = run("background", "task", "nobody", ok=False)
    assert done.json["error"]["code"] == "SESSION_NOT_FOUND"
    assert not (home / "sessions" / "nobody.json").exists()


@pytest.mark.usefixtures("stocked")
def test_what_it_could_not_do_becomes_an_event(run: Run, home: Path) -> None:
    turn_ends(run, home, 30)
    state = known(home)
    state["checkpoint"]["contextPercentAtCapture"] = 65
    (home / "sessions" / "s1.json").write_text(json.dumps(state))
    with faults.write_lock(home):
        result = run("background", "task", "s1", env=at(2)).result
        assert (result["written"], result["writeError"]["code"]) == (False, "STORE_BUSY")
    turn_ends(run, home, 30, seconds=3)  # takes in what waits
    (event,) = run("otel", "search", "checkpoint.degraded", "--hours", "1", env=at(4)).result["events"]
    assert (event["level"], event["sessionId"]) == ("warn", "s1")
    assert event["metadata"]["code"] == "STORE_BUSY"


def test_it_is_stopped_whatever_it_hangs_on(home: Path) -> None:
    (home / "sessions").mkdir(parents=True, mode=0o700)
    os.mkfifo(home / "sessions" / "x.json")
    with subprocess.Popen(
        [JOELCLAW, "background", "task", "x"],
        env=clean_environment(home, **{background_process.LIMIT: "1"}),
    ) as process:
        assert process.wait(timeout=PATIENCE_S) == -signal.SIGALRM
