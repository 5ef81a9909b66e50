"""Hooks of one session at the same moment lose nothing of each other's, and do nothing twice."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import JOELCLAW, NOW_MS, Run, clean_environment

pytestmark = pytest.mark.spawned

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
TASK = "Fix the memory use of the buoyline importer"


def together(home: Path, *calls: tuple[str, ...]) -> list[dict[str, Any]]:
    """Spawn all calls before waiting for any; their results."""
    environment = clean_environment(home, **NOW)
    spawned = [
        subprocess.Popen([JOELCLAW, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment)
        for words in calls
    ]
    results = []
    for process in spawned:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0, out
        results.append(json.loads(out)["result"])
    return results


def test_no_file_is_lost(run: Run, home: Path) -> None:
    calls = [
        ("checkpoint", "save", "--session", "s1", "--percent", "10", "--file", f"f{number}") for number in range(10)
    ]
    together(home, *calls)
    state = run("checkpoint", "show", "s1").result
    assert sorted(state["files"]) == [f"f{number}" for number in range(10)]
    assert state["counts"]["saves"] == 10


def test_in_the_hot_zone_nothing_is_lost_and_the_task_is_written_once(run: Run, home: Path) -> None:
    run("memory", "write", "The buoyline importer decodes a whole day at once", env=NOW)
    save = ("checkpoint", "save", "--session", "s1", "--percent", "70", "--message", TASK)
    results = together(home, *((*save, "--file", f"f{number}") for number in range(6)))
    state = run("checkpoint", "show", "s1").result
    assert sorted(state["files"]) == [f"f{number}" for number in range(6)]
    assert [result["written"] for result in results].count(True) == 1
    assert [result["recalled"] for result in results].count(True) == 1
    assert {result["writeReason"] for result in results} <= {"new-task", "in-flight", "unchanged"}
    assert state["counts"] == {
        "saves": 6, "flushes": 0, "recalls": 1, "writes": 1, "injections": 0, "userMessages": 1,
    }  # fmt: skip
    assert state["recallInFlight"] is None
    assert len(state["taskMemoryIds"]) == 1


def test_a_compaction_is_answered_once(run: Run, home: Path) -> None:
    run("checkpoint", "save", "--session", "s1", "--percent", "10", "-m", TASK, env=NOW)
    results = together(home, *[("inject", "recovery", "--session", "s1")] * 4)
    assert sorted(result["injected"] for result in results) == [False, False, False, True]
    assert run("checkpoint", "show", "s1").result["checkpoint"]["compactionCount"] == 4


def test_a_session_gets_its_memories_once(run: Run, home: Path) -> None:
    run("memory", "write", "Operational context: the importer is the active work and has unresolved failures", env=NOW)
    words = ("inject", "memory", "--session", "s1", "--query", "importer unresolved failures")
    results = together(home, *[words] * 4)
    assert sorted(result["injected"] for result in results) == [False, False, False, True]
    assert {result["reason"] for result in results} <= {"injected", "in-flight", "already-injected"}


def mark(home: Path, name: str, pid: int, started: int) -> None:
    path = home / "sessions" / "s1.json"
    state = json.loads(path.read_bytes())
    state[name] = {"hash": "x", "pid": pid, "startedAt": started}
    path.write_text(json.dumps(state))


def test_a_mark_counts_only_while_it_is_fresh_and_its_process_lives(run: Run, home: Path) -> None:
    def save() -> dict[str, Any]:
        words = ("checkpoint", "save", "--session", "s1", "--percent", "45", "-m", TASK)
        result: dict[str, Any] = run(*words, env=NOW).result
        return result

    run("checkpoint", "save", "--session", "s1", "--percent", "10", "-m", TASK, env=NOW)
    mark(home, "recallInFlight", os.getpid(), NOW_MS - 14_000)
    assert save()["recallReason"] == "in-flight"
    mark(home, "recallInFlight", os.getpid(), NOW_MS - 15_000)
    assert save()["recalled"]
    run("checkpoint", "save", "--session", "s1", "--percent", "10", "-m", "another task by now", env=NOW)
    gone = subprocess.Popen(["true"])
    gone.wait()
    mark(home, "recallInFlight", gone.pid, NOW_MS - 1_000)
    words = ("checkpoint", "save", "--session", "s1", "--percent", "46")
    assert run(*words, env=NOW).result["recalled"]


def test_a_session_cleared_during_a_recall_stays_cleared(home: Path) -> None:
    from session import checkpoint, shape, zones

    state = shape.blank("never-on-disk", "interactive", NOW_MS)
    outcome: zones.Outcome = {"hash": "h", "query": "q", "hits": [], "memoryId": None, "pid": 1}
    os.environ["JOELCLAW_HOME"] = str(home)
    try:
        checkpoint._merge(state, outcome, NOW_MS)
    finally:
        del os.environ["JOELCLAW_HOME"]
    assert not list(home.rglob("*.json"))
