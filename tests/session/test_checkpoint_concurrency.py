"""Hooks of one session at the same moment lose nothing of each other's, and do nothing twice."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import faults
import pytest
from conftest import JOELCLAW, NOW_MS, PATIENCE_S, Run, clean_environment

pytestmark = pytest.mark.spawned

NOW = {"JOELCLAW_NOW_MS": str(NOW_MS)}
TASK = "Fix the memory use of the buoyline importer"


def together(home: Path, *calls: tuple[str, ...]) -> list[dict[str, Any]]:
    """Spawn all calls before waiting for any; their results."""
    environment = clean_environment(home, **NOW, **faults.patient(home))
    spawned = [
        subprocess.Popen([JOELCLAW, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment)
        for words in calls
    ]
    results = []
    for process in spawned:
        out, _ = process.communicate(timeout=PATIENCE_S)
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
    assert {result["writeReason"] for result in results} == {"new-task", "unchanged"}
    assert state["counts"] == {
        "saves": 6, "flushes": 0, "recalls": 1, "writes": 1, "injections": 0, "userMessages": 1,
    }  # fmt: skip
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
    assert {result["reason"] for result in results} == {"injected", "already-injected"}
